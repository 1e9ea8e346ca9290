import { expect, test } from "vitest";
import { nextTableSort, sortedRows, tableSortCodec } from "./table-sort.ts";

const rows: readonly { name: string; watts?: number }[] = [
  { name: "gpu10", watts: 5 },
  { name: "gpu2" },
  { name: "gpu1", watts: 9 },
];
const names = (
  by: (row: (typeof rows)[number]) => number | string | undefined,
  descending: boolean,
) => sortedRows(rows, by, { key: "x", descending }).map(({ name }) => name);

test("numbers by size, names as people count, and what is absent last both ways", () => {
  expect(names(({ watts }) => watts, false)).toEqual(["gpu10", "gpu1", "gpu2"]);
  expect(names(({ watts }) => watts, true)).toEqual(["gpu1", "gpu10", "gpu2"]);
  expect(names(({ name }) => name, false)).toEqual(["gpu1", "gpu2", "gpu10"]);
});

test("a head starts with most first for numbers and turns round when pressed again", () => {
  const first = nextTableSort(undefined, "watts", true);
  expect(first).toEqual({ key: "watts", descending: true });
  expect(nextTableSort(first, "watts", true).descending).toBe(false);
});

test("the order comes back from the address, and the first is left out of it", () => {
  const codec = tableSortCodec({ key: "name", descending: false });
  expect(codec.write({ key: "name", descending: false })).toBe(undefined);
  expect(codec.read(codec.write({ key: "watts", descending: true }) ?? null)).toEqual({
    key: "watts",
    descending: true,
  });
});
