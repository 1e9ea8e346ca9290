/** The width of text in a terminal, and text made safe for one: external text must never contain an escape sequence. */

/** Characters without a glyph: control characters, and those that change the direction of text or hide it. */
const unsafe = /[\p{Cc}\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/gu;
const plain = /^[\u0020-\u007e]*$/;

export function clean(text: string): string {
  return plain.test(text) ? text : text.replace(unsafe, "?");
}

/** Ranges that take two columns (East Asian Width W and F, and emoji), from and to. */
const wide: readonly (readonly [number, number])[] = [
  [0x1100, 0x115f],
  [0x231a, 0x231b],
  [0x2329, 0x232a],
  [0x23e9, 0x23ec],
  [0x25fd, 0x25fe],
  [0x2614, 0x2615],
  [0x2648, 0x2653],
  [0x26a1, 0x26a1],
  [0x2705, 0x2705],
  [0x274c, 0x274c],
  [0x2753, 0x2757],
  [0x2795, 0x2797],
  [0x2b1b, 0x2b1c],
  [0x2e80, 0x303e],
  [0x3041, 0xa4cf],
  [0xa960, 0xa97f],
  [0xac00, 0xd7a3],
  [0xf900, 0xfaff],
  [0xfe10, 0xfe19],
  [0xfe30, 0xfe6f],
  [0xff00, 0xff60],
  [0xffe0, 0xffe6],
  [0x16fe0, 0x18aff],
  [0x1b000, 0x1b2ff],
  [0x1f004, 0x1f004],
  [0x1f0cf, 0x1f0cf],
  [0x1f18e, 0x1f18e],
  [0x1f191, 0x1f19a],
  [0x1f200, 0x1f320],
  [0x1f32d, 0x1f64f],
  [0x1f680, 0x1f6ff],
  [0x1f7e0, 0x1f7eb],
  [0x1f90c, 0x1f9ff],
  [0x1fa70, 0x1faff],
  [0x20000, 0x3fffd],
];
const combining = /^[\p{Mn}\p{Me}\p{Cf}]$/u;

export function charWidth(character: string): 0 | 1 | 2 {
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x300) return 1;
  // Box drawing, blocks and braille, which this program draws with.
  if (code >= 0x2500 && code <= 0x25a1) return 1;
  if (code >= 0x2800 && code <= 0x28ff) return 1;
  if (combining.test(character)) return 0;
  return wide.some(([from, to]) => code >= from && code <= to) ? 2 : 1;
}

export function textWidth(text: string): number {
  if (plain.test(text)) return text.length;
  let width = 0;
  for (const character of text) width += charWidth(character);
  return width;
}

/** Cuts the text to the width; a cut text ends with the mark. */
export function cut(text: string, width: number, mark = "…"): string {
  if (width <= 0) return "";
  if (textWidth(text) <= width) return text;
  let kept = "";
  let used = 0;
  const room = width - textWidth(mark);
  for (const character of text) {
    const next = charWidth(character);
    if (used + next > room) break;
    kept += character;
    used += next;
  }
  return cutTo(kept + mark, width);
}

function cutTo(text: string, width: number): string {
  return textWidth(text) <= width ? text : text.slice(0, width);
}

/** Cuts or pads the text to exactly this width. */
export function fit(text: string, width: number, align: "left" | "right" = "left"): string {
  const kept = cut(text, width);
  const blank = " ".repeat(Math.max(0, width - textWidth(kept)));
  return align === "left" ? kept + blank : blank + kept;
}
