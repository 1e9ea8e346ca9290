/** Compares the store with a plain map: random operations, then every series is read and compared bit by bit. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, expect, test } from "vitest";
import { labelKey, type LabelSet, labelSet } from "../../model/labels.ts";
import { silentLog } from "../../base/log.ts";
import { isStale, staleHigh, staleLow } from "../../model/stale.ts";
import {
  customSchema,
  type Histogram,
  noBounds,
  noBuckets,
} from "../../model/histogram/histogram.ts";
import { histogramHigh } from "../../model/histogram/word.ts";
import { resetHints } from "./codec/histogram-bytes.ts";
import { openStore, type Store } from "./store.ts";

const folders: string[] = [];
afterEach(() => {
  for (const dir of folders.splice(0)) rmSync(dir, { recursive: true, force: true });
});

function random(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9) >>> 0;
    return Math.floor(((state ^ (state >>> 13)) >>> 0) / (2 ** 32 / below));
  };
}

const dayMs = 86_400_000;
const nowMs = 1_790_000_000_000;

function open(dir: string): Promise<Store> {
  return openStore({
    dir,
    retentionMs: 100 * 365 * dayMs,
    memoryBytes: 1_000_000,
    durability: "process",
    log: silentLog,
    nowMs: () => nowMs,
    workerFile: false,
    manual: true,
    segmentBytes: 65_536,
  });
}

/**
 * The bits as text, so that NaNs compare equal. With the high word of a histogram, the low word is the histogram's
 * number.
 */
type Bits = `${number}:${number}`;

/** Histograms with close numbers are similar: buckets grow, and sometimes one disappears or the schema changes. */
function histogramNumbered(number: number): Histogram {
  const alike = Math.floor(number / 64);
  const indexes = Int32Array.from(
    { length: 1 + (number % 9) },
    (_, at) => alike + at * 2 + (at % 2),
  );
  return {
    resetHint: resetHints[alike % 5] ?? "unknown",
    schema: alike % 7 === 0 ? customSchema : alike % 4,
    zeroThreshold: 0.001 * (alike % 3),
    zeroCount: number % 5,
    count: number * 3,
    sum: number / 3,
    positive: { indexes, counts: Float64Array.from(indexes, (_, at) => number * at) },
    negative:
      number % 11 === 0
        ? { indexes: Int32Array.of(-2, 3), counts: Float64Array.of(0.5, number) }
        : noBuckets,
    bounds: alike % 7 === 0 ? Float64Array.of(1, 2.5, 10) : noBounds,
  };
}

function textOf(histogram: Histogram): string {
  const { positive, negative, bounds, ...rest } = histogram;
  const arrays = [positive.indexes, positive.counts, negative.indexes, negative.counts, bounds];
  return JSON.stringify([
    rest.schema,
    rest.zeroThreshold,
    rest.zeroCount,
    rest.count,
    rest.sum,
    ...arrays.map((one) => [...one]),
  ]);
}

/** Only a gauge keeps the hint that was sent; for others, what the store knows of the samples counts. */
function hintFits(sent: Histogram, read: Histogram): boolean {
  if (sent.resetHint === "gauge") return read.resetHint === "gauge";
  return read.resetHint === "unknown" || read.resetHint === "no-reset";
}

class Plain {
  readonly series = new Map<string, { labels: LabelSet; samples: Map<number, Bits> }>();
  stored = 0;
  duplicates = 0;
  conflicts = 0;

  add(labels: LabelSet, timeMs: number, bits: Bits): void {
    const key = labelKey(labels);
    let series = this.series.get(key);
    if (series === undefined) this.series.set(key, (series = { labels, samples: new Map() }));
    const there = series.samples.get(timeMs);
    if (there === undefined) {
      series.samples.set(timeMs, bits);
      this.stored++;
    } else if (there === bits) this.duplicates++;
    else this.conflicts++;
  }
}

async function compare(store: Store, plain: Plain, fromMs: number, toMs: number): Promise<void> {
  const selected = await store.select([{ name: "__name__", op: "!=", value: "" }], fromMs, toMs);
  const got = new Map(selected.map((one) => [labelKey(one.labels), one]));
  expect(got.size).toBe(selected.length);
  let expected = 0;
  for (const [key, { samples }] of plain.series) {
    const want = [...samples].filter(([t]) => t >= fromMs && t <= toMs).sort(([a], [b]) => a - b);
    if (want.length === 0) {
      expect(got.has(key)).toBe(false);
      continue;
    }
    expected++;
    const column = got.get(key)?.column;
    expect(column && [...column.times]).toEqual(want.map(([t]) => t));
    if (column === undefined) continue;
    const words = new Uint32Array(
      column.values.buffer,
      column.values.byteOffset,
      column.values.length * 2,
    );
    const wanted = want.map(([, bits]) => {
      const [low, high] = bits.split(":").map(Number) as [number, number];
      return high === histogramHigh ? histogramNumbered(low) : bits;
    });
    expect(
      want.map((_, i) => {
        const histogram = column.histograms?.[i];
        return histogram === undefined ? `${words[i * 2]}:${words[i * 2 + 1]}` : textOf(histogram);
      }),
    ).toEqual(wanted.map((one) => (typeof one === "string" ? one : textOf(one))));
    wanted.forEach((one, i) => {
      const histogram = column.histograms?.[i];
      if (typeof one !== "string" && histogram !== undefined)
        expect(hintFits(one, histogram)).toBe(true);
    });
    expect(want.map((_, i) => column.stale?.[i] === 1)).toEqual(
      want.map((_, i) => isStale(words, i)),
    );
  }
  expect(got.size).toBe(expected);
}

const scratch = new Float64Array(1);
const scratchWords = new Uint32Array(scratch.buffer);

function randomBits(next: (below: number) => number): Bits {
  const kind = next(22);
  if (kind > 19) return `${next(2000)}:${histogramHigh}`;
  if (kind === 0) return `${staleLow}:${staleHigh}`;
  if (kind === 1) return `${next(2 ** 31)}:${0x7ff80000 + next(1000)}`;
  if (kind === 2) return `${next(2 ** 31)}:${0xfff00001 + next(1000)}`;
  if (kind === 3) scratch[0] = [Infinity, -Infinity, -0, 0][next(4)] as number;
  else if (kind < 6) scratch[0] = next(2 ** 31) / 7;
  else if (kind < 12) scratch[0] = next(100);
  else scratch[0] = next(100_000) / 100;
  return `${scratchWords[0] as number}:${scratchWords[1] as number}`;
}

/** Two of five metrics are histograms that mostly count up. */
const nextHistogram = (series: number, step: number): Bits =>
  `${(series * 100 + step * 3) % 2000}:${histogramHigh}`;

test.each([1, 2, 3, 4, 5, 6])(
  "random operations, seed %i: the store and a plain map agree",
  async (seed) => {
    const next = random(seed);
    const dir = mkdtempSync(path.join(tmpdir(), "gpulse-store-"));
    folders.push(dir);
    let store = await open(dir);
    const plain = new Plain();
    let clockMs = nowMs - 5 * dayMs;
    const labels = Array.from({ length: 30 }, (_, i) =>
      labelSet({
        __name__: `metric_${i % 5}`,
        instance: `host-${i % 3}`,
        gpu: String(i),
        ...(i % 4 === 0 ? { extra: "é\n" } : {}),
      }),
    );
    const counted = { stored: 0, duplicates: 0, conflicts: 0 };
    for (let step = 0; step < 220; step++) {
      const kind = next(40);
      if (kind < 30) {
        const appender = store.appender();
        clockMs += kind === 0 ? next(3_600_000) : 5000;
        const put = (index: number, timeMs: number, bits: Bits): void => {
          const set = labels[index] as LabelSet;
          plain.add(set, timeMs, bits);
          const [low, high] = bits.split(":").map(Number) as [number, number];
          const ref = appender.ref(set);
          if (high === histogramHigh) appender.addHistogram(ref, timeMs, histogramNumbered(low));
          else appender.addBits(ref, timeMs, low, high);
        };
        for (let i = 0; i < labels.length; i++) {
          if (next(12) === 0) continue;
          const bits = i % 5 < 2 && next(10) > 0 ? nextHistogram(i, step) : randomBits(next);
          put(i, clockMs + (i % 7 === 6 ? next(50) : 0), bits);
        }
        for (let extra = next(6); extra > 0; extra--) {
          const i = next(labels.length);
          const samples = [...(plain.series.get(labelKey(labels[i] as LabelSet))?.samples ?? [])];
          const known = samples[next(samples.length + 1)];
          const choice = known === undefined ? 2 : next(4);
          if (known !== undefined && choice === 0) put(i, known[0], known[1]);
          else if (known !== undefined && choice === 1) put(i, known[0], randomBits(next));
          else {
            const timeMs = next(3) === 0 ? next(1_000_000) : Math.max(0, clockMs - next(dayMs));
            put(i, timeMs, randomBits(next));
          }
        }
        const result = appender.commit();
        counted.stored += result.stored;
        counted.duplicates += result.duplicates;
        counted.conflicts += result.refusedConflicts;
      } else if (kind < 32) await store.seal();
      else if (kind < 34) await store.maintain();
      else if (kind < 36) {
        await store.close();
        store = await open(dir);
        expect(store.stats().lost).toEqual([]);
      } else if (kind === 36) {
        const metric = `metric_${next(5)}`;
        const [fromMs, toMs] =
          next(2) === 0 ? [0, Infinity] : [clockMs - 900_000, clockMs - 300_000];
        await store.delete([[{ name: "__name__", op: "=", value: metric }]], fromMs, toMs);
        for (const { labels: set, samples } of plain.series.values())
          if (set.some(([name, value]) => name === "__name__" && value === metric))
            for (const time of samples.keys())
              if (time >= fromMs && time <= toMs) samples.delete(time);
      } else {
        const fromMs = clockMs - next(dayMs);
        await compare(store, plain, fromMs, fromMs + next(dayMs));
      }
    }
    await compare(store, plain, 0, Infinity);
    expect(counted).toEqual({
      stored: plain.stored,
      duplicates: plain.duplicates,
      conflicts: plain.conflicts,
    });
    await store.seal();
    await store.maintain();
    await compare(store, plain, 0, Infinity);
    await store.close();
    store = await open(dir);
    await compare(store, plain, 0, Infinity);
    await store.close();
  },
  60_000,
);
