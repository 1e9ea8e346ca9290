/** Small notations of kernel files. Pure. */

/** `0-3,8,10-11`: every number in it; a range that is no range gives none. */
export function parseCpuList(text: string): number[] {
  const numbers: number[] = [];
  for (const part of text.trim().split(",")) {
    const match = /^(\d{1,6})(?:-(\d{1,6}))?$/.exec(part.trim());
    if (match === null) continue;
    const first = Number(match[1]);
    const last = Number(match[2] ?? match[1]);
    for (let number = first; number <= last && numbers.length < 65_536; number++)
      numbers.push(number);
  }
  return numbers;
}

/** `48K`, `2048K`, `32M`: bytes. */
export function parseSize(text: string): number | undefined {
  const match = /^(\d{1,12})([KMG]?)$/.exec(text);
  if (match === null) return undefined;
  const unit = { "": 1, K: 2 ** 10, M: 2 ** 20, G: 2 ** 30 }[match[2] ?? ""] ?? 1;
  return Number(match[1]) * unit;
}

/** The word in brackets of `always [madvise] never`. */
export const parseBracketed = (text: string): string | undefined =>
  /\[(\w{1,40})\]/.exec(text)?.[1];
