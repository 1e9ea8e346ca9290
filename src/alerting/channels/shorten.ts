/** Texts no longer than a service takes. Counted in characters as people see them cut, never inside one. */

export function shorten(text: string, longest: number): string {
  const characters = Array.from(text);
  return characters.length <= longest ? text : `${characters.slice(0, longest - 1).join("")}…`;
}

/** Cuts at the end of a line, so that mark-up which ends with its line stays whole. */
export function shortenLines(text: string, longest: number): string {
  if (Array.from(text).length <= longest) return text;
  const cut = Array.from(text)
    .slice(0, longest - 2)
    .join("");
  const end = cut.lastIndexOf("\n");
  return end > longest / 2 ? `${cut.slice(0, end)}\n…` : shorten(text, longest);
}

/** Counted in bytes of UTF-8, never inside a character. */
export function shortenBytes(text: string, maxBytes: number): string {
  if (Buffer.byteLength(text) <= maxBytes) return text;
  const ellipsis = "…";
  const cut = Buffer.from(text).subarray(0, maxBytes - Buffer.byteLength(ellipsis));
  // The last character may have been cut in two; a text has no U+FFFD at its end otherwise.
  return `${cut.toString("utf8").replace(/\uFFFD$/, "")}${ellipsis}`;
}
