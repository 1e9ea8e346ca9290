import { expect, test } from "vitest";
import { isReset } from "../../../model/histogram/arithmetic.ts";
import { type Buckets, customSchema, type Histogram } from "../../../model/histogram/histogram.ts";
import { histogramHigh } from "../../../model/histogram/word.ts";
import { putStale } from "../../../model/stale.ts";
import { Bytes } from "../slab/bytes.ts";
import { maxStoredBuckets, readHistogram, resetHints, writeHistogram } from "./histogram-bytes.ts";
import { decodeSamples } from "./histogram-decode.ts";
import { encodeHistograms } from "./histogram-encode.ts";

function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

const buckets = (indexes: readonly number[], counts: readonly number[]): Buckets => ({
  indexes: Int32Array.from(indexes),
  counts: Float64Array.from(counts),
});

const base: Histogram = {
  resetHint: "unknown",
  schema: 3,
  zeroThreshold: 1e-128,
  zeroCount: 2,
  count: 13,
  sum: 18.4,
  positive: buckets([-3, -2, 4, 9], [1, 2, 3, 5]),
  negative: buckets([], []),
  bounds: new Float64Array(0),
};

const plain = (histogram: Histogram | undefined): unknown =>
  histogram && {
    ...histogram,
    positive: [[...histogram.positive.indexes], [...histogram.positive.counts]],
    negative: [[...histogram.negative.indexes], [...histogram.negative.counts]],
    bounds: [...histogram.bounds],
  };

type Sample = Histogram | number | "stale";

interface EncodedColumn {
  readonly bytes: Uint8Array;
  readonly n: number;
}

function encode(samples: readonly Sample[], thorough = true): EncodedColumn {
  const histograms: Histogram[] = [];
  const values = new Float64Array(samples.length + 3);
  const words = new Uint32Array(values.buffer);
  samples.forEach((sample, i) => {
    const at = i + 3;
    if (sample === "stale") putStale(words, at);
    else if (typeof sample === "number") values[at] = sample;
    else {
      words[at * 2] = histograms.push(sample) - 1;
      words[at * 2 + 1] = histogramHigh;
    }
  });
  const out = new Bytes();
  out.byte(99);
  encodeHistograms(words, 3, samples.length, histograms, out, thorough);
  return { bytes: out.used.slice(), n: samples.length };
}

function decode(
  { bytes, n }: EncodedColumn,
  hints: "sent" | "checked" = "sent",
  from = 0,
  end = n,
): readonly Sample[] {
  const values = new Float64Array(end - from + 1);
  const words = new Uint32Array(values.buffer);
  const histograms: Histogram[] = [base];
  decodeSamples(bytes, 1, n, values, words, 1, histograms, hints, from, end);
  return Array.from({ length: end - from }, (_, i) => {
    const at = i + 1;
    if (words[at * 2 + 1] === histogramHigh) return histograms[words[at * 2] ?? 0] ?? 0;
    return words[at * 2] === 2 && words[at * 2 + 1] === 0x7ff00000
      ? "stale"
      : (values[at] as number);
  });
}

const shown = (samples: readonly Sample[]): unknown[] =>
  samples.map((sample) => (typeof sample === "object" ? plain(sample) : sample));

/** Counters and gauges with changing buckets, mixed with floats and staleness markers. */
function randomColumn(seed: number, n: number): Sample[] {
  const next = random(seed);
  let current = base;
  return Array.from({ length: n }, (): Sample => {
    const dice = next();
    if (dice < 0.05) return "stale";
    if (dice < 0.1) return Math.round(next() * 1000) / 7;
    if (dice < 0.15) current = { ...base, schema: Math.floor(next() * 12) - 4 };
    if (dice > 0.97)
      current = {
        ...base,
        schema: customSchema,
        bounds: Float64Array.of(0.5, 1, 2.5),
        positive: buckets([0, 3], [1, 4]),
      };
    const grow = (side: Buckets): Buckets => {
      const counts = new Map(
        [...side.indexes].map((index, at) => [
          index,
          (side.counts[at] ?? 0) + Math.floor(next() * 5),
        ]),
      );
      if (next() < 0.3) counts.set(Math.floor(next() * 40) - 20, dice < 0.5 ? 1 : next());
      if (next() < 0.1) counts.delete([...counts.keys()][0] ?? 0);
      const sorted = [...counts].sort(([a], [b]) => a - b);
      return buckets(
        sorted.map(([index]) => index),
        sorted.map(([, count]) => count),
      );
    };
    const hint = resetHints[next() < 0.8 ? 0 : Math.floor(next() * 4)] ?? "unknown";
    current = {
      ...current,
      resetHint: hint,
      count: next() < 0.5 ? current.count + 3 : next() * 100,
      sum: next() * 1e6 - 5e5,
      positive: grow(current.positive),
      negative: next() < 0.5 ? current.negative : grow(current.negative),
    };
    return current;
  });
}

test("a histogram alone comes back as it was", () => {
  for (const one of randomColumn(7, 200)) {
    if (typeof one !== "object") continue;
    const out = new Bytes();
    writeHistogram(out, one);
    const cursor = { at: 0 };
    expect(plain(readHistogram(out.used, cursor))).toEqual(plain(one));
    expect(cursor.at).toBe(out.length);
  }
});

test("a column of histograms, floats and stale markers comes back as it was, in whole and in parts", () => {
  for (let seed = 1; seed < 60; seed++) {
    const samples = [base, ...randomColumn(seed, seed * 3)];
    const column = encode(samples, seed % 2 === 0);
    expect(shown(decode(column))).toEqual(shown(samples));
    for (const [from, end] of [
      [0, 1],
      [1, 2],
      [Math.floor(seed / 2), seed * 2],
      [seed, seed],
    ] as const)
      expect(shown(decode(column, "sent", from, end))).toEqual(shown(samples.slice(from, end)));
  }
});

test("infinite, negative and missing numbers come back", () => {
  const odd = {
    ...base,
    sum: Number.NaN,
    count: -3.5,
    zeroCount: -0,
    positive: buckets([1, 2 ** 30], [Infinity, -7]),
    negative: buckets([-5], [0]),
  };
  expect(shown(decode(encode([odd, base, odd])))).toEqual(shown([odd, base, odd]));
});

test("an unknown reset hint becomes no reset where the histogram before is in the column and counted no more", () => {
  const grown = { ...base, count: 15, positive: buckets([-3, -2, 4, 9], [1, 4, 3, 5]) };
  const samples = [
    base,
    grown,
    base,
    grown,
    "stale",
    grown,
    { ...grown, resetHint: "gauge" },
  ] as const;
  const hints = decode(encode(samples), "checked").map((sample) =>
    typeof sample === "object" ? sample.resetHint : sample,
  );
  expect(hints).toEqual([
    "unknown",
    "no-reset",
    "unknown",
    "no-reset",
    "stale",
    "unknown",
    "gauge",
  ]);
  expect(shown(decode(encode(samples)))).toEqual(shown(samples));
});

test("no histogram that followed a reset is said to follow none", () => {
  for (let seed = 100; seed < 130; seed++) {
    const samples = randomColumn(seed, 100);
    if (!samples.some((one) => typeof one === "object")) continue;
    decode(encode(samples), "checked").forEach((sample, at) => {
      const [sent, before] = [samples[at], samples[at - 1]];
      if (typeof sample !== "object" || typeof sent !== "object") return;
      if (sent.resetHint !== "unknown") expect(sample.resetHint).toBe(sent.resetHint);
      else if (sample.resetHint === "no-reset")
        expect(typeof before === "object" && !isReset(sent, before)).toBe(true);
    });
  }
});

test("histograms that grow steadily take a few bytes each", () => {
  const next = random(3);
  let current = { ...base, positive: buckets([...Array(30).keys()], Array<number>(30).fill(9)) };
  const samples = Array.from({ length: 480 }, () => {
    const counts = current.positive.counts.map((count) => count + Math.floor(next() * 3));
    const count = counts.reduce((sum, one) => sum + one, current.zeroCount);
    current = { ...current, count, sum: count * 2, positive: { ...current.positive, counts } };
    return current;
  });
  expect(encode(samples).bytes.length / samples.length).toBeLessThan(35);
});

test("the largest histograms fit into a chunk of the head", () => {
  const next = random(5);
  const samples = Array.from({ length: 32 }, () => {
    const indexes = Array.from(
      { length: maxStoredBuckets },
      (_, at) => at * 3 + Math.floor(next() * 3),
    );
    return {
      ...base,
      positive: buckets(
        indexes,
        indexes.map(() => next()),
      ),
    };
  });
  const column = encode(samples, false);
  expect(column.bytes.length).toBeLessThan(4 * 2 ** 20 - 1024);
  expect(shown(decode(column).slice(30))).toEqual(shown(samples.slice(30)));
});

test("bytes that are cut or flipped give an error or other histograms, and never run on", () => {
  const { bytes, n } = encode([base, ...randomColumn(11, 60)]);
  const next = random(1);
  for (let round = 0; round < 3000; round++) {
    const damaged = bytes.slice(0, 1 + Math.floor(next() * (bytes.length - 1)));
    const whole = round % 2 === 0 ? damaged : bytes.slice();
    const at = Math.floor(next() * whole.length);
    whole[at] = (whole[at] ?? 0) ^ (1 << Math.floor(next() * 8));
    if (whole[1] !== 5) continue;
    try {
      decode({ bytes: whole, n });
    } catch (thrown) {
      expect(thrown).toBeInstanceOf(RangeError);
    }
  }
});
