/** Counts the objects and lists in a JSON text before parsing: a parser takes 9 s for 15 MB of `{},`. */

const quote = 0x22;
const backslash = 0x5c;
const openBrace = 0x7b;
const openBracket = 0x5b;

/** Stops counting past `max`. */
export function countOpenings(text: Uint8Array, max: number): number {
  let count = 0;
  let inString = false;
  for (let at = 0; at < text.length && count <= max; at++) {
    const byte = text[at];
    if (inString) {
      if (byte === backslash) at++;
      else if (byte === quote) inString = false;
    } else if (byte === quote) inString = true;
    else if (byte === openBrace || byte === openBracket) count++;
  }
  return count;
}
