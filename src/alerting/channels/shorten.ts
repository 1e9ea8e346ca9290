/** Shortens texts to a service's limit, counted in characters (code points) and never cut inside one. */

export function shorten(text: string, longest: number): string {
  const characters = Array.from(text);
  return characters.length <= longest ? text : `${characters.slice(0, longest - 1).join("")}…`;
}

/** Cuts at the end of a line, so that markup within a line stays complete. */
export function shortenLines(text: string, longest: number): string {
  if (Array.from(text).length <= longest) return text;
  const cut = Array.from(text)
    .slice(0, longest - 2)
    .join("");
  const end = cut.lastIndexOf("\n");
  return end > longest / 2 ? `${cut.slice(0, end)}\n…` : shorten(text, longest);
}

/** Counts bytes of UTF-8 and never cuts inside a character. */
export function shortenBytes(text: string, maxBytes: number): string {
  if (Buffer.byteLength(text) <= maxBytes) return text;
  const ellipsis = "…";
  const cut = Buffer.from(text).subarray(0, maxBytes - Buffer.byteLength(ellipsis));
  // The last character may be cut in two, which decodes to U+FFFD.
  return `${cut.toString("utf8").replace(/\uFFFD$/, "")}${ellipsis}`;
}
