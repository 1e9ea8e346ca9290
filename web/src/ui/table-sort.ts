/** The sort order of a table. Absent values are last in both directions, because they are neither large nor small. Pure. */
import type { Codec } from "../view-state/param.ts";

export interface TableSort {
  readonly key: string;
  readonly descending: boolean;
}

/** The same column again reverses the order; a new column starts descending for numbers and ascending for names. */
export function nextTableSort(
  now: TableSort | undefined,
  key: string,
  numeric: boolean,
): TableSort {
  return now?.key === key ? { key, descending: !now.descending } : { key, descending: numeric };
}

export function sortedRows<Row>(
  rows: readonly Row[],
  by: ((row: Row) => number | string | undefined) | undefined,
  sort: TableSort | undefined,
): readonly Row[] {
  if (by === undefined || sort === undefined) return rows;
  const sign = sort.descending ? -1 : 1;
  return rows
    .map((row) => ({ row, value: by(row) }))
    .sort((one, other) => {
      const [a, b] = [one.value, other.value];
      if (isAbsent(a) || isAbsent(b)) return Number(isAbsent(a)) - Number(isAbsent(b));
      if (typeof a === "number" && typeof b === "number") return sign * (a - b);
      return sign * String(a).localeCompare(String(b), "en", { numeric: true });
    })
    .map(({ row }) => row);
}

const isAbsent = (value: number | string | undefined): value is undefined =>
  value === undefined || Number.isNaN(value);

/** Encoded in the address as `-power`; the default order `first` is omitted. */
export const tableSortCodec = (first: TableSort | undefined): Codec<TableSort | undefined> => ({
  read: (given) => {
    if (given === null || given === "") return first;
    const descending = given.startsWith("-");
    return { key: descending ? given.slice(1) : given, descending };
  },
  write: (sort) => {
    if (sort === undefined || (sort.key === first?.key && sort.descending === first.descending))
      return undefined;
    return `${sort.descending ? "-" : ""}${sort.key}`;
  },
});
