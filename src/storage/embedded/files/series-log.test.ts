/** What the list of series makes of records whose checksum is right and whose words are not: it says what is lost, and goes on. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, expect, test } from "vitest";
import { framedBytes, frameBytes, sealFrame } from "../../../base/state/record.ts";
import { writeVarint } from "../codec/varint.ts";
import { LabelIndex } from "../index/index.ts";
import { openSeriesLog } from "./read-series-log.ts";

const folder = mkdtempSync(path.join(tmpdir(), "gpulse-series-log-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** A record of these numbers, texts as they stand. */
function payloadOf(parts: readonly (number | string)[]): Buffer {
  const bytes = Buffer.alloc(1_024);
  let end = 0;
  for (const part of parts)
    if (typeof part === "number") end = writeVarint(bytes, end, part);
    else end += bytes.write(part, end);
  return bytes.subarray(0, end);
}

function open(...records: readonly (readonly (number | string)[])[]) {
  const file = path.join(folder, "series-1.log");
  const framed = records.map(payloadOf).map((payload, sequence) => {
    const bytes = Buffer.alloc(framedBytes(payload.length));
    bytes.set(payload, frameBytes);
    sealFrame(bytes, 0, payload.length, sequence);
    return bytes;
  });
  writeFileSync(file, Buffer.concat(framed));
  const index = new LabelIndex();
  const { log, lost } = openSeriesLog(
    { file, storeId: "0123456789abcdef", number: 1, requireLock: () => undefined },
    index,
    0,
  );
  log.close();
  return { lost, series: [...index.all()].map((ref) => [ref, index.labels(ref)] as const) };
}

const symbols = [1, 0, 2, 1, "a", 1, "b"] as const;
const series = [2, 1, 2, 1, 0, 1] as const;
const whole = [[1, [["a", "b"]]]];

test("what was written is read", () => {
  expect(open(symbols, series)).toEqual({ lost: [], series: whole });
});

test.each([
  ["symbols that begin beyond the file", [1, 2 ** 40, 1, 1, "c"], /more labels than the file/],
  ["symbols without an end", [1, 2, 2 ** 40, 1, "c"], /runs past the end/],
  ["a series with a number beyond all", [2, 1, 2 ** 50, 1, 0, 1], /no series has the number/],
  ["a series with a number below all", [2, 1, 3, 1, 0, 1], /no series has the number/],
  ["series without an end", [2, 2 ** 40, 4, 1, 1, 0], /runs past the end/],
  ["labels without an end", [2, 1, 4, 2 ** 40, 0, 1], /runs past the end/],
  ["a set of labels under two numbers", [2, 1, 4, 1, 0, 1], /under two numbers/],
  ["a series of labels that are not there", [2, 1, 4, 1, 7, 8], /lost with their labels/],
] as const)("%s are reported, and the rest is kept", (_name, record, says) => {
  const { lost, series: kept } = open(symbols, series, record);
  expect(kept.slice(0, 1)).toEqual(whole);
  expect(lost.join("\n")).toMatch(says);
});

test("a series that is dropped twice in a record is dropped once", () => {
  expect(open(symbols, series, [3, 2, 2, 0])).toEqual({ lost: [], series: [] });
});

test("a symbol that stands twice, and a label that looks like a lost one, shift no others", () => {
  const [first, second] = [
    open([1, 0, 3, 1, "a", 1, "a", 1, "b"], [2, 1, 2, 1, 0, 2]),
    open([1, 0, 2, 1, "a", 4, "\uFFFF2"], [1, 3, 1, 1, "c"], [2, 2, 2, 1, 0, 1, 2, 1, 0, 3]),
  ];
  expect(first.series).toEqual(whole);
  expect(second.series).toEqual([
    [1, [["a", "\uFFFF2"]]],
    [2, [["a", "c"]]],
  ]);
});
