/**
 * Upper and lower case as Go has it: letter by letter, each becoming one letter. JavaScript's own turns `ß` into `SS` and
 * minds where in a word a sigma stands.
 */

/** Greek letters with iota below have one upper-case letter, which JavaScript spells as two. */
const spelledOut: readonly (readonly [first: number, last: number, shift: number])[] = [
  [0x1f80, 0x1f87, 8],
  [0x1f90, 0x1f97, 8],
  [0x1fa0, 0x1fa7, 8],
  [0x1fb3, 0x1fb3, 9],
  [0x1fc3, 0x1fc3, 9],
  [0x1ff3, 0x1ff3, 9],
];

export function upperCase(text: string): string {
  return isAscii(text) ? text.toUpperCase() : Array.from(text, upperLetter).join("");
}

export function lowerCase(text: string): string {
  return isAscii(text) ? text.toLowerCase() : Array.from(text, lowerLetter).join("");
}

function upperLetter(letter: string): string {
  const upper = letter.toUpperCase();
  if (upper.length <= letter.length) return upper;
  const code = letter.codePointAt(0) ?? 0;
  for (const [first, last, shift] of spelledOut)
    if (code >= first && code <= last) return String.fromCodePoint(code + shift);
  return letter;
}

const lowerLetter = (letter: string): string => (letter === "İ" ? "i" : letter.toLowerCase());

const isAscii = (text: string): boolean => !/[^ -~]/.test(text);
