/** Sort order of lists on the page and in the terminal: numbers in names by value, absent values last in both directions. */
import type { Gpu } from "./gpu.ts";

const collator = new Intl.Collator("en", { numeric: true });

/** `node2` before `node10`. Neighbours often have the same name, and the collator is slow. */
export const compareNames = (left: string, right: string): number =>
  left === right ? 0 : collator.compare(left, right);

/** By host, then by index. */
export const compareGpus = ({ device: left }: Gpu, { device: right }: Gpu): number =>
  compareNames(left.host, right.host) || left.index - right.index;

export type SortValue = number | string | undefined;

/** Computes each value once, not once per comparison. */
export function sortBy<Item>(
  items: readonly Item[],
  valueOf: (item: Item) => SortValue,
  isDescending: boolean,
  breakTie: (left: Item, right: Item) => number,
): Item[] {
  const sign = isDescending ? -1 : 1;
  return items
    .map((item) => ({ item, by: valueOf(item) }))
    .sort((left, right) => {
      const absent = Number(left.by === undefined) - Number(right.by === undefined);
      return absent || sign * compare(left.by, right.by) || breakTie(left.item, right.item);
    })
    .map(({ item }) => item);
}

function compare(left: SortValue, right: SortValue): number {
  if (typeof left === "number" && typeof right === "number") return left - right;
  return compareNames(String(left ?? ""), String(right ?? ""));
}
