/** Columns joined as whole numbers, and rollups of them, against the same columns decoded as plain numbers. */
import path from "node:path";
import { afterAll, expect, test } from "vitest";
import { Folders } from "../../../test/store/folder.ts";
import { Block } from "./blocks/block.ts";
import { PageCache } from "./blocks/page-cache.ts";
import { BlockWriter } from "./blocks/writer.ts";
import { encodedBound, encodeWholes, notWhole, powersOfTen } from "./codec/encode.ts";
import { decodeColumn } from "./codec/decode.ts";
import { SeriesPieces } from "./column-source.ts";
import { ColumnBuffer, concatValues } from "./merge.ts";
import {
  bucketBounds,
  RollupEntries,
  summarizeSamples,
  summarizeWholes,
} from "./rollups/summarize.ts";
import { concatWholes } from "./wholes.ts";

const folders = new Folders();
afterAll(() => folders.remove());

/** One block per list of values, each with the same series at consecutive times, 15 s apart. */
function piecesOf(lists: readonly (readonly number[])[]): SeriesPieces {
  const dir = folders.make();
  const pieces = new SeriesPieces();
  let timeMs = 1_000;
  lists.forEach((values, i) => {
    const file = path.join(dir, `${i}.block`);
    const writer = new BlockWriter(file);
    const column = new ColumnBuffer(values.length);
    values.forEach((value, k) => {
      column.values[k] = value;
      column.times[k] = timeMs += 15_000;
    });
    column.n = values.length;
    writer.column(1, writer.timebase(column.times, column.n), column);
    writer.finish(i, 0);
    const onUnreadable = (): void => expect.unreachable();
    new Block(file, { cache: new PageCache(1e6), onUnreadable }).collect(1, 0, Infinity, pieces);
  });
  return pieces;
}

function plain(pieces: SeriesPieces): ColumnBuffer {
  const column = new ColumnBuffer();
  concatValues(pieces, column);
  let n = 0;
  for (let i = 0; i < pieces.length; i++) {
    const count = pieces.counts[i] as number;
    pieces.sources[i]?.times(pieces.timebases[i] as number, count, column.times, n);
    n += count;
  }
  return column;
}

const series = (n: number, value: (i: number) => number): number[] =>
  Array.from({ length: n }, (_, i) => value(i));

test.each<[string, readonly (readonly number[])[], number]>([
  ["whole numbers", [series(300, (i) => i % 7), series(200, (i) => i * 3)], 0],
  ["decimals of different length", [series(90, (i) => i / 10), series(80, (i) => i / 1000)], 3],
  ["a constant among others", [series(50, () => 0.25), series(50, (i) => 7 - i)], 2],
  ["negative numbers and large units", [series(99, (i) => (i - 50) * 1048576)], 0],
  ["a constant that is no decimal", [series(50, () => Math.PI), series(50, (i) => i)], notWhole],
  ["fractions", [series(50, (i) => Math.sqrt(i))], notWhole],
  ["a NaN", [series(50, (i) => (i === 7 ? Number.NaN : i))], notWhole],
  ["a zero of the other sign", [series(50, (i) => (i === 7 ? -0 : i))], notWhole],
  [
    "too large with more digits",
    [series(50, (i) => 2 ** 49 + i), series(50, (i) => i / 1000)],
    notWhole,
  ],
])("%s", (_name, lists, exponent) => {
  const pieces = piecesOf(lists);
  const [column, wholes] = [plain(pieces), new ColumnBuffer()];
  expect(concatWholes(pieces, wholes)).toBe(exponent);
  if (exponent === notWhole) return;
  const power = powersOfTen[exponent] as number;
  const values = [...wholes.values.subarray(0, wholes.n)].map((value) => value / power);
  expect(values).toEqual([...column.values.subarray(0, column.n)]);

  const [from, end] = [10, column.n - 10];
  const part = new ColumnBuffer();
  concatWholes(pieces, part, from, end);
  expect(part.values.subarray(from, end)).toEqual(wholes.values.subarray(from, end));

  const out = new Uint8Array(encodedBound(column.n));
  const back = new Float64Array(column.n);
  encodeWholes(wholes.values, exponent, column.n, out, 0, false);
  decodeColumn(out, 0, column.n, back, new Uint32Array(back.buffer), 0);
  expect([...back]).toEqual([...column.values.subarray(0, column.n)]);

  const bounds = bucketBounds(column.times, 0, column.n, 300_000);
  const [samples, entries] = [new RollupEntries(), new RollupEntries()];
  summarizeSamples(column, 0, bounds, samples);
  expect(summarizeWholes(column.times, wholes.values, 0, bounds, exponent, entries)).toBe(true);
  for (const name of ["first", "last", "sum", "min", "max", "resets", "count"] as const) {
    const divisor = name === "count" ? 1 : power;
    const found = [...entries[name].values.subarray(0, entries.n)].map((one) => one / divisor);
    expect(found, name).toEqual([...samples[name].values.subarray(0, samples.n)]);
  }
});

test("sums that may exceed what is exact are left to floating-point numbers", () => {
  const pieces = piecesOf([series(40, (i) => 2 ** 47 + i)]);
  const column = plain(pieces);
  const wholes = new ColumnBuffer();
  expect(concatWholes(pieces, wholes)).toBe(0);
  const bounds = bucketBounds(column.times, 0, column.n, 300_000);
  const entries = new RollupEntries();
  expect(summarizeWholes(column.times, wholes.values, 0, bounds, 0, entries)).toBe(false);
});
