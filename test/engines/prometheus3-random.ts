// Random floats and native histograms, and random queries over them; the same for the same seed.

import type { StartTimes } from "./prometheus3-samples.ts";

type Random = () => number;

/** Mulberry32: uniform in [0, 1). */
export function randomOf(seed: number): Random {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const below = (random: Random, count: number): number => Math.floor(random() * count);

function pick<Item>(random: Random, items: readonly Item[]): Item {
  const item = items[below(random, items.length)];
  if (item === undefined) throw new Error("BUG: nothing to pick from");
  return item;
}

const points = 40;
const jobs = ["a", "b", "c"];
const names = [
  "latency_seconds",
  "size_bytes",
  "depth",
  "work_total",
  "power_watts",
  "wait_seconds_bucket",
];

/** Series in script notation, 15 s between samples. */
export function randomSamples(seed: number): string {
  const random = randomOf(seed);
  const lines: string[] = [];
  for (const name of names)
    for (const job of jobs) {
      const bounds = name.endsWith("_bucket") ? [`0.5`, `2`, `8`, `+Inf`] : [undefined];
      for (const le of bounds)
        lines.push(
          `${name}{job="${job}",gpu="${below(random, 2)}"${le === undefined ? "" : `,le="${le}"`}} ${sequence(random, name)}`,
        );
    }
  lines.push(
    ...jobs.map(
      (job) => `target_info{job="${job}",instance="i",version="${below(random, 3)}"} 1x${points}`,
    ),
  );
  return lines.join("\n");
}

function sequence(random: Random, name: string): string {
  const isNative = /seconds$|bytes$|depth$/.test(name);
  const parts: string[] = [];
  for (let left = points; left > 0;) {
    const length = Math.min(left, 1 + below(random, 30));
    left -= length;
    const chance = random();
    if (chance < 0.08) parts.push(`_x${length}`);
    else if (chance < 0.12) parts.push("stale");
    else if (isNative !== chance < 0.2) parts.push(histograms(random, name === "depth", length));
    else {
      const step = below(random, 9) - (random() < 0.2 ? 4 : 0);
      parts.push(`${below(random, 20)}${step < 0 ? "" : "+"}${step}x${length}`);
    }
  }
  return parts.join(" ");
}

/** A histogram that grows, or one that stays constant. */
function histograms(random: Random, isGauge: boolean, length: number): string {
  const hint = isGauge && random() < 0.9 ? " counter_reset_hint:gauge" : "";
  const isGrowing = random() < 0.8;
  const layout = randomLayout(random, isGrowing);
  const first = `{{${layout(1 + below(random, 4))}${hint}}}`;
  return isGrowing ? `${first}+{{${layout(1)}${hint}}}x${length}` : `${first}x${length}`;
}

/** Well-formed histograms have no bucket within the zero bucket; only they can grow. */
function randomLayout(random: Random, isWellFormed: boolean): (times: number) => string {
  const counts = (most: number): number[] =>
    Array.from({ length: 1 + below(random, most) }, () => below(random, 6));
  const total = (all: readonly number[]): number => all.reduce((sum, one) => sum + one, 0);
  const scaled = (all: readonly number[], times: number): string =>
    all.map((count) => count * times).join(" ");
  const sum = below(random, 50) - (random() < 0.3 ? 25 : 0);
  if (random() < 0.3) {
    const bounds = [0.5, 1, 2, 5, 10, 20].filter(() => random() < 0.6);
    const buckets = Array.from({ length: bounds.length + 1 }, () => below(random, 6));
    if (bounds.length > 0)
      return (times) =>
        `schema:-53 count:${total(buckets) * times} sum:${sum * times} custom_values:[${bounds.join(" ")}] buckets:[${scaled(buckets, times)}]`;
  }
  const schema = below(random, 7) - 2;
  const positive = counts(5);
  const negative = random() < 0.3 ? counts(3) : [];
  const zero = random() < 0.5 ? below(random, 5) : 0;
  const [offset, negativeOffset] = [below(random, 7) - 3, below(random, 5) - 2];
  const isAboveHalf = schema >= 0 && offset >= 0 && negativeOffset >= 0;
  const width = pick(random, isWellFormed && !isAboveHalf ? [1e-6, 1e-5] : [0.001, 0.01, 0.5]);
  return (times) =>
    `schema:${schema} count:${(total(positive) + total(negative) + zero) * times} sum:${sum * times}` +
    (zero === 0 ? "" : ` z_bucket:${zero * times} z_bucket_w:${width}`) +
    (negative.length === 0
      ? ""
      : ` n_offset:${negativeOffset} n_buckets:[${scaled(negative, times)}]`) +
    ` offset:${offset} buckets:[${scaled(positive, times)}]`;
}

/**
 * Valid and invalid start times: none, one for all samples, an occasional restart, delta style, one that overlaps the
 * previous sample, one that is not before its own sample.
 */
export function randomStarts(seed: number, startMs: number, gapMs: number): StartTimes {
  const random = randomOf(seed ^ 0x57a7);
  const known = new Map<number, readonly number[]>();
  return (series, index) => {
    let starts = known.get(series);
    if (starts === undefined) {
      const kind = random();
      let current = startMs - 30_000 + below(random, 60_000);
      starts = Array.from({ length: points + 1 }, (_, at) => {
        const timeMs = startMs + at * gapMs;
        const chance = random();
        if (kind < 0.15) return 0;
        if (kind < 0.3) return timeMs - gapMs;
        if (chance < 0.05) return timeMs;
        if (chance < 0.08) return timeMs + 1_000;
        if (chance < 0.12) return 0;
        if (chance < 0.18 && kind > 0.7) return timeMs - gapMs - 5_000;
        if (chance < 0.28) current = timeMs - 1_000 - below(random, gapMs);
        return current;
      });
      known.set(series, starts);
    }
    return starts[index] ?? 0;
  };
}

export function randomQueries(seed: number, count: number): readonly string[] {
  const random = randomOf(seed);
  return Array.from({ length: count }, () => vector(random, 3));
}

function selector(random: Random): string {
  const name = pick(random, names);
  const chance = random();
  if (chance < 0.6) return name;
  if (chance < 0.85) return `${name}{job="${pick(random, jobs)}"}`;
  if (chance < 0.95) return `${name}{job=~"a|b"}`;
  return `{__name__=~"${name}|${pick(random, names)}"}`;
}

/** Functions that start times can affect, and similar ones that they must not. */
export const startTimeQueries: readonly string[] = [
  ...names,
  ...names.map((name) => `${name}_total`),
].flatMap((name) => [
  ...["rate", "increase", "irate", "resets", "delta", "changes"].flatMap((call) =>
    ["16s", "47s", "2m", "4m", "20m"].map((long) => `${call}(${name}[${long}])`),
  ),
  `start_timestamp(${name})`,
  `start_timestamp(${name} offset 1m)`,
  `start_timestamp((${name}))`,
  `start_timestamp(${name} + 1)`,
  `timestamp(${name}) - start_timestamp(${name})`,
  `rate(${name}[2m] offset 30s)`,
  `increase(${name}[2m] @ end())`,
  `resets(${name}[2m] anchored)`,
  `increase(${name}[2m] anchored)`,
  `rate(${name}[2m] smoothed)`,
  `sum by (job) (rate(${name}[1m]))`,
  `increase((${name})[2m:15s])`,
  `max_over_time(rate(${name}[1m])[3m:15s])`,
]);

const shift = (random: Random): string =>
  random() < 0.85 ? "" : pick(random, [" offset 1m", " offset -30s", " @ end()", " @ start()"]);

function range(random: Random, depth: number): string {
  const long = pick(random, ["30s", "1m", "2m", "4m", "47s"]);
  return depth > 1 && random() < 0.15
    ? `(${vector(random, depth - 1)})[${long}:${pick(random, ["15s", "20s"])}]${shift(random)}`
    : `${selector(random)}[${long}]${shift(random)}`;
}

const overRanges = (
  "avg_over_time changes count_over_time delta deriv first_over_time idelta increase irate last_over_time " +
  "max_over_time min_over_time present_over_time rate resets stddev_over_time stdvar_over_time sum_over_time"
).split(" ");
const overVectors =
  "abs ceil exp floor histogram_avg histogram_count histogram_stddev histogram_stdvar histogram_sum sgn sqrt timestamp".split(
    " ",
  );
const aggregations = "sum avg count group min max stddev stdvar".split(" ");
const arithmetic = "+ - * / % ^".split(" ");
const comparisons = "== != < > <= >=".split(" ");
const trims = ["</", ">/"];
const numbers = ["0", "1", "2.5", "-1", "0.3"];

function vector(random: Random, depth: number): string {
  const inner = (): string => vector(random, depth - 1);
  if (depth === 0) return selector(random) + shift(random);
  const chance = random();
  if (chance < 0.08) return selector(random) + shift(random);
  if (chance < 0.36) return `${pick(random, overRanges)}(${range(random, depth)})`;
  if (chance < 0.4)
    return `quantile_over_time(${pick(random, ["0.3", "0.9"])}, ${range(random, depth)})`;
  if (chance < 0.5) return `${pick(random, overVectors)}(${inner()})`;
  if (chance < 0.57)
    return `histogram_quantile(${pick(random, ["0", "0.2", "0.5", "0.9", "1", "1.2"])}, ${inner()})`;
  if (chance < 0.61)
    return `histogram_fraction(${pick(random, ["-Inf", "-1", "0"])}, ${pick(random, ["0.7", "3", "Inf"])}, ${inner()})`;
  if (chance < 0.76) {
    const grouping = pick(random, [
      "",
      " by (job)",
      " without (gpu)",
      " by (gpu)",
      " by (job, le)",
    ]);
    return `${pick(random, aggregations)}${grouping} (${inner()})`;
  }
  if (chance < 0.8) return `${inner()} ${pick(random, trims)} ${pick(random, numbers)}`;
  if (chance < 0.86)
    return `(${inner()}) ${pick(random, [...arithmetic, ...comparisons])} ${pick(random, numbers)}`;
  if (chance < 0.95) {
    const isComparison = random() < 0.3;
    const operator = pick(random, isComparison ? comparisons : arithmetic);
    const bool = isComparison && random() < 0.4 ? " bool" : "";
    return `sum by (job) (${inner()}) ${operator}${bool} on (job) sum by (job) (${inner()})`;
  }
  if (chance < 0.965) return `sum by (job) (${inner()}) or sum by (job) (${inner()})`;
  if (chance < 0.98) return `(${inner()}) ${pick(random, ["and", "unless"])} on (job) (${inner()})`;
  return `-(${inner()})`;
}
