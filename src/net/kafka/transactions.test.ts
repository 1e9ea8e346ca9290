import { expect, test } from "vitest";
import { findAborted, type TransactionBatch } from "./transactions.ts";

const batch = (firstOffset: number, producer: number, attributes = 16): TransactionBatch => ({
  firstOffset: BigInt(firstOffset),
  producerId: BigInt(producer),
  attributes,
  records: [{ key: null }],
});
const marker = (firstOffset: number, producer: number, type: "abort" | "commit") => ({
  ...batch(firstOffset, producer, 16 | 32),
  records: [{ key: Buffer.from([0, 0, 0, type === "abort" ? 0 : 1]) }],
});
const aborted = (firstOffset: number, producer: number) => ({
  firstOffset: BigInt(firstOffset),
  producerId: BigInt(producer),
});
const offsets = (found: ReadonlySet<TransactionBatch>): number[] =>
  [...found].map(({ firstOffset }) => Number(firstOffset));

test("every aborted transaction of a producer is left out, and its committed ones are not", () => {
  const batches = [
    batch(0, 1),
    marker(10, 1, "abort"),
    batch(11, 1),
    marker(20, 1, "commit"),
    batch(21, 1),
    batch(25, 1),
    marker(30, 1, "abort"),
    batch(31, 1),
  ];
  expect(offsets(findAborted(batches, [aborted(0, 1), aborted(21, 1)]))).toEqual([0, 21, 25]);
});

test("an aborted transaction whose marker is in a later response is left out as well", () => {
  expect(offsets(findAborted([batch(0, 1), batch(5, 1)], [aborted(0, 1)]))).toEqual([0, 5]);
});

test("producers are distinguished, and messages without a transaction stay", () => {
  const batches = [batch(0, 1), batch(5, 2), batch(9, 1, 0), marker(12, 1, "abort"), batch(13, 2)];
  expect(offsets(findAborted(batches, [aborted(0, 1)]))).toEqual([0]);
});

test("a marker of a transaction that is not listed changes nothing", () => {
  const batches = [marker(0, 7, "abort"), batch(1, 7), batch(5, 1), marker(8, 1, "abort")];
  expect(offsets(findAborted(batches, [aborted(5, 1)]))).toEqual([5]);
});
