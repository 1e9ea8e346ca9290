/** Numbers in sentences: thousands separated, nouns in the right number, sizes with units. */

/** `1,234`. */
export const formatCount = (count: number): string => count.toLocaleString("en-US");

/** `1 GPU`, `2 GPUs`, `1,234 samples`; a noun with another plural than -s names it. */
export const countOf = (count: number, noun: string, plural = `${noun}s`): string =>
  `${formatCount(count)} ${count === 1 ? noun : plural}`;

const units = ["bytes", "kB", "MB", "GB", "TB"];

/** `999 bytes`, `1.5 MB`: decimal, as disks are sold. */
export function formatBytes(bytes: number): string {
  const power = Math.min(
    units.length - 1,
    Math.max(0, Math.floor(Math.log10(Math.max(1, bytes)) / 3)),
  );
  if (power === 0) return countOf(Math.round(bytes), "byte");
  return `${(bytes / 1_000 ** power).toFixed(1)} ${units[power] ?? ""}`;
}
