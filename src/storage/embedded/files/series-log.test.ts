/** How the series log handles records with a valid checksum and invalid contents: it reports the loss and continues. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, expect, test } from "vitest";
import { framedBytes, frameBytes, sealFrame } from "../../../base/state/record.ts";
import { writeVarint } from "../codec/varint.ts";
import { LabelIndex } from "../index/index.ts";
import type { LabelSet } from "../../../model/labels.ts";
import { openSeriesLog } from "./read-series-log.ts";
import { checkFile } from "./series-log.ts";

const folder = mkdtempSync(path.join(tmpdir(), "gpulse-series-log-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Encodes a record from numbers and plain strings. */
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
  ["a set of labels under two numbers", [2, 1, 4, 1, 0, 1], /two series numbers/],
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

/* Records that share strings and values. */

const first = [2, 0, 1, 0, 0, 1, "a", 0, 0, 3, "b01"] as const;
const second = [2, 1, 1, 0, 2, 1, "2"] as const;

test("a series takes from the one before it what it does not say itself", () => {
  expect(open([6, 2, ...first, ...second])).toEqual({
    lost: [],
    series: [
      [1, [["a", "b01"]]],
      [2, [["a", "b02"]]],
    ],
  });
});

test("series of format version 2 are read as before", () => {
  const record = [4, 2, 2, 1, 0, 1, "a", 0, 1, "b", 2, 1, 1, 0, 1, "c"];
  expect(open(record)).toEqual({
    lost: [],
    series: [
      [1, [["a", "b"]]],
      [2, [["a", "c"]]],
    ],
  });
});

test.each([
  ["a shape that is not there", [6, 1, 4, 2], /names a shape that is not there/],
  ["a text that is not there", [6, 1, 4, 0, 1, 9], /names a text that is not there/],
  ["a text longer than the record", [6, 1, 4, 0, 1, 0, 0, 99, "a"], /runs past the end/],
  ["a name that shares with nothing", [6, 1, 4, 0, 1, 0, 3, 1, "a"], /shares more than/],
  [
    "a value that shares more than it replaces",
    [6, 2, 4, 0, 1, 0, 0, 1, "x", 0, 0, 1, "y", 2, 1, 1, 0, 2, 1, "2"],
    /shares more than/,
  ],
  [
    "a value that shares more than 127 bytes",
    [6, 2, 4, 0, 1, 0, 0, 1, "x", 0, 0, 200, "y".repeat(200), 2, 1, 1, 0, 128, 0],
    /shares more than/,
  ],
  ["labels without an end", [6, 1, 4, 0, 2 ** 40, 0, 0, 1, "a"], /runs past the end/],
  [
    "a record that ends in its values",
    [6, 2, 4, 0, 1, 0, 0, 1, "x", 0, 0, 1, "y", 2, 1],
    /runs past the end/,
  ],
] as const)("%s is reported, and the rest is kept", (_name, record, says) => {
  const { lost, series: kept } = open([6, 1, ...first], record);
  expect(kept[0]).toEqual([1, [["a", "b01"]]]);
  expect(lost.join("\n")).toMatch(says);
});

const storeOptions = { storeId: "0123456789abcdef", number: 7, requireLock: () => undefined };
const many = (total: number): readonly LabelSet[] =>
  Array.from({ length: total }, (_, at): LabelSet => {
    const [gpu, metric] = [Math.floor(at / 40), at % 40];
    return [
      ["__name__", `gpu_${["power", "clock", "größe", ""][metric % 4]}_${metric}`],
      ["gpu", String(gpu % 8)],
      ["host", `node-${String(gpu >> 3).padStart(4, "0")}`],
      ...(metric % 5 === 0 ? [["sensor", `é${"x".repeat(metric)}${gpu % 3}`] as const] : []),
      ["uuid", `GPU-${(gpu * 2_654_435_761).toString(16)}`],
    ];
  });

function writeMany(file: string, sets: readonly LabelSet[]) {
  for (const old of [file, checkFile(file)]) rmSync(old, { force: true });
  const index = new LabelIndex();
  const { log } = openSeriesLog({ file, ...storeOptions }, index, 0);
  log.add(
    index,
    sets.map((labels) => index.add(labels)),
  );
  log.syncNow();
  log.close();
  return { bytes: log.bytes, records: log.syncedRecords };
}

test("ten thousand label sets of every kind come back, at a few bytes each", () => {
  const file = path.join(folder, "series-7.log");
  const sets = many(10_000);
  const { bytes, records } = writeMany(file, sets);
  const index = new LabelIndex();
  const { log, lost } = openSeriesLog({ file, ...storeOptions }, index, records);
  log.close();
  expect(lost).toEqual([]);
  expect([...index.all()].map((ref) => index.labels(ref))).toEqual(sets);
  const plain = sets.reduce((sum, labels) => sum + JSON.stringify(labels).length, 0);
  expect(bytes).toBeLessThan(plain / 5);
});

test("a damaged record loses its own series and no others, wherever it is damaged", () => {
  const file = path.join(folder, "series-7.log");
  const sets = many(8_000);
  const { bytes, records } = writeMany(file, sets);
  expect(records).toBeGreaterThan(4);
  const intact = readFileSync(file);
  for (let at = 64; at < bytes; at += 4_999) {
    const damaged = Buffer.from(intact);
    damaged[at] = (damaged[at] ?? 0) ^ 0x10;
    writeFileSync(file, damaged);
    const index = new LabelIndex();
    const { log, lostSeries } = openSeriesLog({ file, ...storeOptions }, index, records);
    log.close();
    const found = [...index.all()];
    for (const ref of found) expect(index.labels(ref)).toEqual(sets[ref]);
    expect(found.length + lostSeries).toBe(sets.length);
    expect(found.length).toBeGreaterThan(sets.length / 2);
  }
});

test("nothing is written while the manifest is of an older version", () => {
  const file = path.join(folder, "series-8.log");
  const index = new LabelIndex();
  const { log } = openSeriesLog({ file, ...storeOptions, number: 8 }, index, 0);
  log.isHeld = true;
  const ref = index.add([["a", "b"]]);
  expect(() => log.add(index, [ref])).toThrow("older version");
  expect(log.bytes).toBe(0);
  log.isHeld = false;
  log.add(index, [ref]);
  expect(log.bytes).toBeGreaterThan(0);
  log.close();
});
