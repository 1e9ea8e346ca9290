import { Reader, crc32c, jsCRC32C, readRecordsBatch } from "@platformatic/kafka";
import { expect, test } from "vitest";
import { encodeBatch, encodeRecords } from "./record-batch.ts";

const options = {
  timeMs: 1_780_000_000_123,
  attributes: 0,
  producerId: 4_711n,
  producerEpoch: 3,
  firstSequence: 42,
  crc32c,
};

const record = (
  key: string,
  value: string,
  headers: readonly (readonly [string, string])[] = [],
) => ({
  key: Buffer.from(key),
  value: Buffer.from(value),
  headers: new Map(headers.map(([name, text]) => [Buffer.from(name), Buffer.from(text)])),
});

test("the client reads a batch as it was written", () => {
  // Lengths on both sides of one, two and three bytes of a varint.
  const lengths = [0, 1, 63, 64, 8_191, 8_192, 1_048_575, 1_048_576];
  const records = lengths.map((length, at) =>
    record(
      `GPU-ü-${at}`,
      "x".repeat(length),
      at % 2 === 0
        ? []
        : [
            ["tags", "a,b"],
            ["empty", ""],
          ],
    ),
  );
  const batch = readRecordsBatch(
    Reader.from(encodeBatch(encodeRecords(records), records.length, options)),
  );
  expect(batch).toMatchObject({
    firstOffset: 0n,
    magic: 2,
    attributes: 0,
    lastOffsetDelta: records.length - 1,
    firstTimestamp: 1_780_000_000_123n,
    maxTimestamp: 1_780_000_000_123n,
    producerId: 4_711n,
    producerEpoch: 3,
    firstSequence: 42,
  });
  expect(batch.records.map(({ offsetDelta }) => offsetDelta)).toEqual(records.map((_, at) => at));
  for (const [at, read] of batch.records.entries()) {
    expect(read.key).toEqual(records[at]?.key);
    expect(read.value?.equals(records[at]?.value ?? Buffer.alloc(0))).toBe(true);
    expect(read.headers).toEqual([...(records[at]?.headers ?? [])]);
  }
});

test("ten thousand small records keep their order and offsets", () => {
  const records = Array.from({ length: 10_000 }, (_, at) => record("k", String(at)));
  const read = readRecordsBatch(
    Reader.from(encodeBatch(encodeRecords(records), records.length, options)),
  );
  expect(read.records.map(({ value }) => Number(value?.toString()))).toEqual(
    records.map((_, at) => at),
  );
  expect(read.records.at(-1)?.offsetDelta).toBe(9_999);
});

test("the length and the checksum cover what Kafka expects", () => {
  const batch = encodeBatch(encodeRecords([record("k", "v")]), 1, options);
  expect(batch.readInt32BE(8)).toBe(batch.length - 12);
  expect(batch.readUInt32BE(17)).toBe(jsCRC32C(batch.subarray(21)));
});

test.each([
  [2 ** 31 - 1, 2 ** 31 - 1],
  [2 ** 31, 0],
  [2 ** 32 + 5, 5],
])("sequence %d is written as %d", (firstSequence, written) => {
  const batch = encodeBatch(encodeRecords([record("k", "v")]), 1, { ...options, firstSequence });
  expect(batch.readInt32BE(53)).toBe(written);
});
