/** Addition, subtraction and multiplication of native histograms, and detection of counter resets between two of them. */
import {
  type Buckets,
  boundOf,
  type Histogram,
  compact,
  equalNumbers,
  isCustom,
  negativeBuckets,
  noBuckets,
  positiveBuckets,
  type ResetHint,
  toSchema,
} from "./histogram.ts";

export interface CombinedHistogram {
  readonly histogram: Histogram;
  /** True if one histogram has the hint `reset` and the other `no-reset`. */
  readonly resetCollision: boolean;
  /** True if the custom bounds differed; the result has the bounds that both have in common. */
  readonly boundsReconciled: boolean;
}

export const add = (a: Histogram, b: Histogram): CombinedHistogram | undefined => combine(a, b, 1);
export const subtract = (a: Histogram, b: Histogram): CombinedHistogram | undefined =>
  combine(a, b, -1);

/** Returns undefined for an exponential and a custom histogram, which have no common buckets. */
function combine(a: Histogram, b: Histogram, sign: 1 | -1): CombinedHistogram | undefined {
  if (isCustom(a) !== isCustom(b)) return undefined;
  const { hint, collision } = combinedHint(a.resetHint, b.resetHint);
  const totals = {
    resetHint: hint,
    count: a.count + sign * b.count,
    sum: a.sum + sign * b.sum,
  };
  if (isCustom(a)) {
    const same = equalNumbers(a.bounds, b.bounds);
    const bounds = same ? a.bounds : a.bounds.filter((bound) => b.bounds.includes(bound));
    const of = ({ positive, bounds: own }: Histogram): Buckets =>
      same ? positive : rebounded(positive, own, bounds);
    return {
      histogram: { ...a, ...totals, bounds, positive: mergeBuckets(of(a), of(b), sign) },
      resetCollision: collision,
      boundsReconciled: !same,
    };
  }
  const [left, right] = withSameZeroBucket(a, b);
  const schema = Math.min(left.schema, right.schema);
  // As in Prometheus, buckets of the second are merged before those within the zero bucket are left out.
  const { zeroThreshold, zeroCount } = right;
  const other = { ...toSchema(b, schema), zeroThreshold, zeroCount };
  const [l, r] = [toSchema(left, schema), outsideZero(other)];
  return {
    histogram: {
      ...l,
      ...totals,
      zeroCount: l.zeroCount + sign * r.zeroCount,
      positive: mergeBuckets(l.positive, r.positive, sign),
      negative: mergeBuckets(l.negative, r.negative, sign),
    },
    resetCollision: collision,
    boundsReconciled: false,
  };
}

export function combinedHint(a: ResetHint, b: ResetHint): { hint: ResetHint; collision: boolean } {
  if (a === b) return { hint: a, collision: false };
  if (a === "gauge" || b === "gauge") return { hint: "gauge", collision: false };
  return { hint: "unknown", collision: a !== "unknown" && b !== "unknown" };
}

function mergeBuckets(a: Buckets, b: Buckets, sign: 1 | -1): Buckets {
  if (sign === 1 && b.indexes.length === 0) return a;
  if (a.indexes === b.indexes || equalNumbers(a.indexes, b.indexes)) {
    const counts = a.counts.slice();
    for (let at = 0; at < counts.length; at++)
      counts[at] = (counts[at] as number) + sign * (b.counts[at] as number);
    return { indexes: a.indexes, counts };
  }
  const indexes = new Int32Array(a.indexes.length + b.indexes.length);
  const counts = new Float64Array(indexes.length);
  let [i, j, length] = [0, 0, 0];
  while (i < a.indexes.length || j < b.indexes.length) {
    const left = a.indexes[i] ?? Infinity;
    const right = b.indexes[j] ?? Infinity;
    indexes[length] = Math.min(left, right);
    let count = 0;
    if (left <= right) count += a.counts[i++] ?? 0;
    if (right <= left) count += sign * (b.counts[j++] ?? 0);
    counts[length++] = count;
  }
  return { indexes: indexes.slice(0, length), counts: counts.slice(0, length) };
}

/** Maps custom buckets to fewer bounds: each bucket goes to the first bound that is not below its own. */
export function rebounded(buckets: Buckets, own: Float64Array, bounds: Float64Array): Buckets {
  const counts = new Float64Array(bounds.length + 1);
  for (let at = 0; at < buckets.indexes.length; at++) {
    const upper = own[buckets.indexes[at] ?? 0] ?? Infinity;
    const found = bounds.findIndex((bound) => bound >= upper);
    const target = found < 0 ? bounds.length : found;
    counts[target] = (counts[target] ?? 0) + (buckets.counts[at] ?? 0);
  }
  return { indexes: Int32Array.from(counts, (_, index) => index), counts };
}

/** Gives both histograms the smallest zero bucket that covers both zero buckets and cuts no populated bucket of either. */
function withSameZeroBucket(a: Histogram, b: Histogram): [Histogram, Histogram] {
  let [left, right] = [a, b];
  while (left.zeroThreshold !== right.zeroThreshold) {
    if (left.zeroThreshold > right.zeroThreshold) right = widenZero(right, left.zeroThreshold);
    else left = widenZero(left, right.zeroThreshold);
  }
  return [left, right];
}

/**
 * Removes the buckets that lie entirely in the histogram's own zero bucket, which a well-formed histogram does not have. Prometheus
 * leaves such buckets in place, and neither adds nor compares those of another histogram.
 */
export function outsideZero(histogram: Histogram): Histogram {
  const { schema, zeroThreshold, bounds } = histogram;
  const outside = (buckets: Buckets): Buckets => {
    const { indexes, counts } = buckets;
    let first = 0;
    while (
      first < indexes.length &&
      boundOf(indexes[first] as number, schema, bounds) <= zeroThreshold
    )
      first++;
    return first === 0 ? buckets : { indexes: indexes.slice(first), counts: counts.slice(first) };
  };
  const [positive, negative] = [outside(histogram.positive), outside(histogram.negative)];
  return positive === histogram.positive && negative === histogram.negative
    ? histogram
    : { ...histogram, positive, negative };
}

/** Moves the threshold further up if it would lie inside a populated bucket. */
function widenZero(histogram: Histogram, atLeast: number): Histogram {
  return withZeroBucket(histogram, reachableThreshold(histogram, atLeast));
}

export function reachableThreshold(histogram: Histogram, atLeast: number): number {
  let threshold = atLeast;
  for (let before = -1; before !== threshold;) {
    before = threshold;
    for (const { lower, upper, count } of positiveBuckets(histogram))
      if (count !== 0 && lower < threshold && upper > threshold) threshold = upper;
    for (const { lower, upper, count } of negativeBuckets(histogram))
      if (count !== 0 && upper > -threshold && lower < -threshold) threshold = -lower;
  }
  return threshold;
}

/** Counts the observations below the threshold in the zero bucket. */
export function withZeroBucket(histogram: Histogram, threshold: number): Histogram {
  if (threshold === histogram.zeroThreshold) return histogram;
  const { schema, bounds } = histogram;
  let zeroCount = histogram.zeroCount;
  const outside = (buckets: Buckets): Buckets => {
    const first = buckets.indexes.findIndex(
      (index) => boundOf(index - 1, schema, bounds) >= threshold,
    );
    const cut = first < 0 ? buckets.indexes.length : first;
    for (const count of buckets.counts.subarray(0, cut)) zeroCount += count;
    return { indexes: buckets.indexes.slice(cut), counts: buckets.counts.slice(cut) };
  };
  const positive = outside(histogram.positive);
  const negative = outside(histogram.negative);
  return compact({ ...histogram, zeroThreshold: threshold, zeroCount, positive, negative });
}

export const multiply = (histogram: Histogram, factor: number): Histogram =>
  eachCount(histogram, factor < 0, (count) => count * factor);

/** A division by 0 leaves no buckets. */
export const divide = (histogram: Histogram, divisor: number): Histogram =>
  eachCount(
    divisor === 0 ? { ...histogram, positive: noBuckets, negative: noBuckets } : histogram,
    divisor < 0,
    (count) => count / divisor,
  );

function eachCount(
  histogram: Histogram,
  isNegative: boolean,
  change: (count: number) => number,
): Histogram {
  // A loop: `map` of a typed array takes several times as long.
  const changed = ({ indexes, counts: before }: Buckets): Buckets => {
    const counts = new Float64Array(before.length);
    for (let at = 0; at < counts.length; at++) counts[at] = change(before[at] as number);
    return { indexes, counts };
  };
  return {
    ...histogram,
    resetHint: isNegative ? "gauge" : histogram.resetHint,
    zeroCount: change(histogram.zeroCount),
    count: change(histogram.count),
    sum: change(histogram.sum),
    positive: changed(histogram.positive),
    negative: changed(histogram.negative),
  };
}

/** True if the counter was reset: a count is lower than before, or the buckets became finer. */
export function isReset(current: Histogram, previous: Histogram): boolean {
  if (current.resetHint === "reset") return true;
  if (current.resetHint === "no-reset") return false;
  if (current.count < previous.count) return true;
  if (isCustom(current)) {
    if (!isCustom(previous)) return true;
    if (equalNumbers(current.bounds, previous.bounds))
      return isAnyLower(current.positive, previous.positive);
    const bounds = current.bounds.filter((bound) => previous.bounds.includes(bound));
    return isAnyLower(
      rebounded(current.positive, current.bounds, bounds),
      rebounded(previous.positive, previous.bounds, bounds),
    );
  }
  if (current.schema > previous.schema || current.zeroThreshold < previous.zeroThreshold)
    return true;
  const { zeroThreshold } = current;
  let [before, widened] = [previous, previous];
  // Nearly every histogram: with the same buckets, leaving some out cannot make one lower.
  if (
    zeroThreshold === previous.zeroThreshold &&
    current.schema === previous.schema &&
    current.zeroCount >= previous.zeroCount &&
    !isAnyLower(current.positive, previous.positive) &&
    !isAnyLower(current.negative, previous.negative)
  )
    return false;
  if (zeroThreshold !== previous.zeroThreshold) {
    widened = widenZero(previous, zeroThreshold);
    // As in Prometheus, buckets are merged first; only one that is then completely in the zero bucket is left out.
    before = { ...previous, zeroThreshold };
  }
  if (widened.zeroThreshold !== zeroThreshold || current.zeroCount < widened.zeroCount) return true;
  const [now, then] = [outsideZero(current), outsideZero(toSchema(before, current.schema))];
  return isAnyLower(now.positive, then.positive) || isAnyLower(now.negative, then.negative);
}

/** Turns an unknown hint into "no-reset" if the counter was not reset since the previous sample, a histogram too. */
export const withCheckedHint = (current: Histogram, previous: Histogram | undefined): Histogram =>
  current.resetHint !== "unknown" || previous === undefined || isReset(current, previous)
    ? current
    : { ...current, resetHint: "no-reset" };

function isAnyLower(current: Buckets, previous: Buckets): boolean {
  if (current.indexes === previous.indexes) {
    for (let at = 0; at < current.counts.length; at++)
      if ((current.counts[at] as number) < (previous.counts[at] as number)) return true;
    return false;
  }
  let at = 0;
  for (let before = 0; before < previous.indexes.length; before++) {
    const index = previous.indexes[before] ?? 0;
    while (at < current.indexes.length && (current.indexes[at] ?? 0) < index) at++;
    const count = current.indexes[at] === index ? (current.counts[at] ?? 0) : 0;
    if (count < (previous.counts[before] ?? 0)) return true;
  }
  return false;
}

/** A histogram without observations, in the buckets of another one. */
export const emptyLike = (histogram: Histogram): Histogram => ({
  ...histogram,
  resetHint: "unknown",
  zeroThreshold: 0,
  zeroCount: 0,
  count: 0,
  sum: 0,
  positive: noBuckets,
  negative: noBuckets,
});
