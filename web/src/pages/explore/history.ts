/** Previous queries, newest first, without duplicates. Pure. */
const MOST = 50;

export function readHistory(stored: string | null): readonly string[] {
  try {
    const read: unknown = JSON.parse(stored ?? "[]");
    return Array.isArray(read)
      ? read.filter((one): one is string => typeof one === "string").slice(0, MOST)
      : [];
  } catch {
    return [];
  }
}

export const addToHistory = (before: readonly string[], query: string): readonly string[] =>
  [query, ...before.filter((one) => one !== query)].slice(0, MOST);
