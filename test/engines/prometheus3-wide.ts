// Random queries with what prometheus3-random.ts leaves out: aggregations with a parameter, one-to-many matching, fill,
// anchored and smoothed ranges, durations that are calculated, labels, dates and sorting; the same for the same seed.

import { randomOf, randomSamples } from "./prometheus3-random.ts";

type Random = () => number;

function pick<Item>(random: Random, items: readonly Item[]): Item {
  const item = items[Math.floor(random() * items.length)];
  if (item === undefined) throw new Error("BUG: nothing to pick from");
  return item;
}

const natives = ["latency_seconds", "size_bytes", "depth", "odd_seconds"];
const floats = ["work_total", "power_watts", "odd_total"];
const metrics = [...natives, ...floats, "wait_seconds_bucket"];

const points = 40;
const oddNumbers =
  "0 1 NaN Inf -Inf 1e308 1.7e308 -1.7e308 5e-324 -1e-300 0.1 1e15 4503599627370497.5 3 3 3".split(
    " ",
  );

/** Ordinary series, and some with values at the edges of what a number holds, and with unusual histograms. */
export function wideSamples(seed: number): string {
  const random = randomOf(seed ^ 0x0dd);
  const lines = [randomSamples(seed)];
  for (const [at, job] of ["a", "b", "c"].entries()) {
    const numbers = Array.from({ length: points }, () =>
      pick(random, at === 0 ? ["1.7e308", "1e308"] : oddNumbers),
    );
    lines.push(`odd_total{job="${job}",gpu="${at % 2}"} ${numbers.join(" ")}`);
    const histograms = Array.from({ length: points }, () => oddHistogram(random, at === 0));
    lines.push(`odd_seconds{job="${job}",gpu="${at % 2}"} ${histograms.join(" ")}`);
  }
  return lines.join("\n");
}

/** @param isSame true for the same buckets in all */
function oddHistogram(random: Random, isSame: boolean): string {
  const chance = isSame ? 0.5 : random();
  if (chance < 0.05) return "_";
  if (chance < 0.08) return "stale";
  if (chance < 0.12) return pick(random, oddNumbers);
  const counts: number[] = [];
  const count = (): number => {
    const one = Number(pick(random, ["0", "0", "1", "2.5", "7", "0.1", "1e15", "1e300"]));
    counts.push(one);
    return one;
  };
  const buckets = Array.from({ length: 1 + Math.floor(random() * 4) }, count).join(" ");
  const hint =
    random() < 0.7 ? "" : ` counter_reset_hint:${pick(random, ["gauge", "reset", "not_reset"])}`;
  let layout: string;
  if (chance > 0.8) {
    const bounds = pick(random, ["0.5 1 2 5", "-1 0 1 2", "1 5 10 20", "0.5 2 5 7 9"]);
    layout = `schema:-53 custom_values:[${bounds}] buckets:[${buckets}]`;
  } else {
    const schema = isSame ? 0 : pick(random, [-4, -1, 0, 1, 3, 8]);
    layout = `schema:${schema} offset:${isSame ? 0 : pick(random, [-9, -1, 0, 2, 40])} buckets:[${buckets}]`;
    if (random() < 0.4)
      layout += ` n_offset:${pick(random, [-3, 0, 1])} n_buckets:[${count()} ${count()}]`;
    if (random() < 0.5)
      layout += ` z_bucket:${count()} z_bucket_w:${pick(random, ["0.001", "0.7", "3"])}`;
  }
  const sum = pick(random, ["0", "3", "-3", "NaN", "Inf", "-Inf", "1e308", "0.1"]);
  const total = counts.reduce((all, one) => all + one, 0);
  return `{{${layout} count:${total} sum:${sum}${hint}}}`;
}

const scalars = ["0", "1", "-1", "2.5", "0.3", "1e3", "NaN", "Inf", "-Inf", "time() % 7"];
const shifts = [
  " offset 1m",
  " offset -30s",
  " offset -(15s * 3)",
  " offset step()",
  " offset max_of(step(), 1m)",
  " @ end()",
  " @ start() offset -1m",
  " @ end() offset 2m",
];
const ranges = [
  "30s",
  "1m",
  "2m",
  "4m",
  "47s",
  "15s",
  "1m + 20s",
  "2 * 45s",
  "step() + 1m",
  "max_of(step(), 70s)",
  "min_of(90s, range() + 60s)",
  "2m ^ 1",
  "(3m - 1m) / 2",
  "5m % 2m",
];

const maybe = (random: Random, chance: number, text: () => string): string =>
  random() < chance ? text() : "";

function selector(random: Random): string {
  const name = pick(random, metrics);
  return name + maybe(random, 0.35, () => `{job=~"${pick(random, ["a", "b", "a|c", ".+"])}"}`);
}

const series = (random: Random): string =>
  selector(random) + maybe(random, 0.15, () => pick(random, shifts));

/** Functions of a range that accept `anchored` or `smoothed`. */
const anchored = ["rate", "increase", "delta", "changes", "resets"];
const smoothed = ["rate", "increase", "delta"];
const overRanges =
  "mad_over_time ts_of_first_over_time ts_of_last_over_time ts_of_max_over_time ts_of_min_over_time absent_over_time " +
  "first_over_time last_over_time avg_over_time sum_over_time deriv irate idelta rate increase delta stddev_over_time";

function overRange(random: Random): string {
  const chance = random();
  const range = pick(random, ranges);
  const shift = maybe(random, 0.15, () => pick(random, shifts));
  if (chance < 0.18)
    return `${pick(random, anchored)}(${selector(random)}[${range}] anchored${shift})`;
  if (chance < 0.32)
    return `${pick(random, smoothed)}(${selector(random)}[${range}] smoothed${shift})`;
  const window =
    random() < 0.2
      ? `(${vector(random, 1)})[${range}:${pick(random, ["15s", "20s", "step() / 2 + 10s", "7s"])}]${shift}`
      : `${selector(random)}[${range}]${shift}`;
  if (chance < 0.4) return `predict_linear(${window}, ${pick(random, ["60", "-30", "0"])})`;
  if (chance < 0.47)
    return `double_exponential_smoothing(${window}, 0.4, ${pick(random, ["0.3", "0.9"])})`;
  if (chance < 0.55)
    return `quantile_over_time(${pick(random, ["0.5", "1.5", "-1", "NaN", "0"])}, ${window})`;
  return `${pick(random, overRanges.split(" "))}(${window})`;
}

const grouping = (random: Random): string =>
  pick(random, ["", " by (job)", " without (gpu)", " by (gpu)", " without (job, le)", " by (le)"]);

function aggregation(random: Random, depth: number): string {
  const by = grouping(random);
  const of = vector(random, depth - 1);
  switch (Math.floor(random() * 8)) {
    // Of equal values either may be selected.
    case 0:
      return `count (topk${by} (${pick(random, ["1", "2", "5", "0"])}, ${of}))`;
    case 1:
      return `bottomk${by} (${pick(random, ["1", "2", "5", "-1"])}, work_total)`;
    case 2:
      return `quantile${by} (${pick(random, ["0.3", "0", "1", "1.2", "-3", "NaN"])}, ${of})`;
    case 3:
      return `count_values${by} ("value", ${of})`;
    case 4:
      return `limit_ratio${by} (${pick(random, ["0.5", "-0.4", "1", "-1", "1.5", "-7", "0"])}, ${of})`;
    case 5:
      return `count${by} (limitk${by} (${pick(random, ["1", "2", "0"])}, ${of}))`;
    default:
      return `${pick(random, ["sum", "avg", "min", "max", "stddev", "stdvar", "group", "count"])}${by} (${of})`;
  }
}

const operators = [
  "+",
  "-",
  "*",
  "/",
  "%",
  "^",
  "atan2",
  "==",
  "!=",
  "<",
  ">",
  "<=",
  ">=",
  "</",
  ">/",
];

function binary(random: Random, depth: number): string {
  const operator = pick(random, operators);
  const isComparison = /^[=!<>]=?$/.test(operator);
  const bool = isComparison && random() < 0.4 ? " bool" : "";
  const [left, right] = [vector(random, depth - 1), vector(random, depth - 1)];
  const fill = (): string =>
    maybe(random, 0.35, () =>
      pick(random, [
        " fill(0)",
        " fill_left(2)",
        " fill_right(-1.5)",
        " fill_left(1) fill_right(3)",
        " fill(NaN)",
      ]),
    );
  const chance = random();
  if (chance < 0.3)
    return `sum by (job) (${left}) ${operator}${bool} on (job)${fill()} sum by (job) (${right})`;
  if (chance < 0.45)
    return `sum by (job, gpu) (${left}) ${operator}${bool} on (job) group_left${fill()} max by (job) (${right})`;
  if (chance < 0.6)
    return `sum by (job) (${left}) ${operator}${bool} ignoring (gpu) group_right${pick(random, ["", " ()", " (gpu)"])}${fill()} sum by (job, gpu) (${right})`;
  if (chance < 0.7) return `${pick(random, scalars)} ${operator}${bool} (${right})`;
  if (chance < 0.85) return `(${left}) ${operator}${bool} ${pick(random, scalars)}`;
  if (chance < 0.95)
    return `(${left}) ${pick(random, ["and", "or", "unless"])}${pick(random, ["", " on (job)", " ignoring (gpu)"])} (${right})`;
  return `(${left}) ${operator}${bool} (${right})`;
}

function vector(random: Random, depth: number): string {
  if (depth <= 0) return series(random);
  const inner = (): string => vector(random, depth - 1);
  const chance = random();
  if (chance < 0.07) return series(random);
  if (chance < 0.1) return `${selector(random)} smoothed`;
  if (chance < 0.13) return `${selector(random)} anchored`;
  if (chance < 0.36) return overRange(random);
  if (chance < 0.58) return aggregation(random, depth);
  if (chance < 0.78) return binary(random, depth);
  switch (Math.floor(random() * 14)) {
    case 0:
      return `clamp(${inner()}, ${pick(random, scalars)}, ${pick(random, scalars)})`;
    case 1:
      return `round(${inner()}, ${pick(random, ["0.5", "3", "0.1", "-2"])})`;
    case 2:
      return `label_replace(${inner()}, "${pick(random, ["job", "gpu", "role"])}", "$1x", "job", "(.*)")`;
    case 3:
      return `label_join(${inner()}, "${pick(random, ["job", "role"])}", "-", "gpu", "job")`;
    case 4:
      return `vector(scalar(${inner()}))`;
    case 5:
      return `absent(${inner()})`;
    case 6:
      return `${pick(random, ["hour", "day_of_week", "minute", "days_in_month", "timestamp"])}(${inner()})`;
    case 7:
      return `histogram_quantiles(${inner()}, "q", 0.1, ${pick(random, ["0.5", "NaN", "1.5", "-1"])}, 0.99)`;
    case 8:
      return `histogram_fraction(${pick(random, scalars)}, ${pick(random, scalars)}, ${inner()})`;
    case 9:
      return `histogram_quantile(${pick(random, scalars)}, ${inner()})`;
    case 10:
      return `info(${inner()}, {version=~".+"})`;
    case 11:
      return `${pick(random, ["sort", "sort_desc"])}(${inner()})`;
    case 12:
      return `sort_by_label(${inner()}, "gpu", "job")`;
    default:
      return `${pick(random, ["abs", "-", "+", "sgn", "ln", "log2", "sin", "tanh", "deg", "histogram_stddev", "histogram_sum"])}(${inner()})`;
  }
}

export function wideQueries(seed: number, count: number): readonly string[] {
  const random = randomOf(seed ^ 0x71de);
  // Samples as they are stored, now and then.
  return Array.from({ length: count }, () =>
    random() < 0.03
      ? `${selector(random)}[${pick(random, ranges)}]${maybe(random, 0.3, () => pick(random, shifts))}`
      : vector(random, 3),
  );
}
