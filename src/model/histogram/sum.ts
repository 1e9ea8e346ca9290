/** Sum and mean of many native histograms, without the rounding errors of plain addition (Neumaier's variant of Kahan summation). */
import {
  combinedHint,
  divide,
  multiply,
  outsideZero,
  reachableThreshold,
  rebounded,
  withZeroBucket,
} from "./arithmetic.ts";
import { type Buckets, equalNumbers, type Histogram, isCustom, toSchema } from "./histogram.ts";

export class HistogramSum {
  #total: Histogram;
  /** The accumulated rounding errors, in the same buckets as the total. */
  #lost: Histogram;
  #terms = 1;
  /** True if the total is a mean, because the sum would overflow. */
  #isMean = false;
  readonly #hints = new Set<Histogram["resetHint"]>();
  /** True if the custom bounds differed; the result has the bounds that all have in common. */
  boundsReconciled = false;

  constructor(first: Histogram) {
    this.#total = first;
    this.#lost = eachNumber(first, first, () => 0);
    this.#hints.add(first.resetHint);
  }

  /** True if one term has the hint `reset` and another `no-reset`. */
  get resetCollision(): boolean {
    return this.#hints.has("reset") && this.#hints.has("no-reset");
  }

  /** Returns false if the buckets are incompatible: some custom, others exponential. */
  add(term: Histogram): boolean {
    return this.#add(term, (total, lost) => {
      this.#total = total;
      this.#lost = lost;
    });
  }

  /** Adds a term to a mean, which must not overflow if the sum does. */
  addToMean(term: Histogram): boolean {
    if (!this.#isMean) {
      let overflows = false;
      const isAdded = this.#add(term, (total, lost) => {
        overflows = hasOverflow(total);
        if (overflows) return;
        this.#total = total;
        this.#lost = lost;
      });
      if (!isAdded || !overflows) return isAdded;
      this.#terms--;
      this.#isMean = true;
      this.#total = divide(this.#total, this.#terms);
      this.#lost = divide(this.#lost, this.#terms);
    }
    const share = this.#terms / (this.#terms + 1);
    this.#total = multiply(this.#total, share);
    this.#lost = multiply(this.#lost, share);
    return this.add(divide(term, this.#terms + 1));
  }

  total(): Histogram {
    return eachNumber(this.#total, this.#lost, (total, lost) => total + lost);
  }

  mean(): Histogram {
    const terms = this.#isMean ? 1 : this.#terms;
    return eachNumber(this.#total, this.#lost, (total, lost) => total / terms + lost / terms);
  }

  #add(term: Histogram, put: (total: Histogram, lost: Histogram) => void): boolean {
    if (isCustom(term) !== isCustom(this.#total)) return false;
    this.#terms++;
    this.#hints.add(term.resetHint);
    const [total, lost, other] = isCustom(term) ? this.#sameBounds(term) : this.#sameSchema(term);
    const [before, rest, added] = withSameBuckets(total, lost, other);
    const resetHint = combinedHint(before.resetHint, term.resetHint).hint;
    const sum = eachNumber(before, added, (a, b) => a + b);
    put({ ...sum, resetHint }, lostIn(before, added, sum, rest));
    return true;
  }

  #sameBounds(term: Histogram): HistogramTriple {
    const { bounds: own } = this.#total;
    if (equalNumbers(own, term.bounds)) return [this.#total, this.#lost, term];
    this.boundsReconciled = true;
    const bounds = own.filter((bound) => term.bounds.includes(bound));
    const fit = (one: Histogram): Histogram => ({
      ...one,
      bounds,
      positive: rebounded(one.positive, one.bounds, bounds),
    });
    return [fit(this.#total), fit(this.#lost), fit(term)];
  }

  #sameSchema(term: Histogram): HistogramTriple {
    let threshold = Math.max(this.#total.zeroThreshold, term.zeroThreshold);
    for (let before = -1; before !== threshold;) {
      before = threshold;
      for (const one of [this.#total, term])
        if (one.zeroThreshold < threshold) threshold = reachableThreshold(one, threshold);
    }
    const schema = Math.min(this.#total.schema, term.schema);
    const fit = (one: Histogram): Histogram => toSchema(withZeroBucket(one, threshold), schema);
    // As in Prometheus, buckets of the term are merged before those within the zero bucket are left out.
    const { zeroCount } = withZeroBucket(term, threshold);
    const other = { ...toSchema(term, schema), zeroThreshold: threshold, zeroCount };
    return [fit(this.#total), fit(this.#lost), outsideZero(other)];
  }
}

type HistogramTriple = readonly [Histogram, Histogram, Histogram];

/** Gives all three a bucket for every index that one of them has. */
function withSameBuckets(...all: HistogramTriple): HistogramTriple {
  const union = (side: "positive" | "negative"): Int32Array => {
    const [a, b, c] = all.map((one) => one[side].indexes) as [Int32Array, Int32Array, Int32Array];
    return unionOf(unionOf(a, b), c);
  };
  const positive = union("positive");
  const negative = union("negative");
  const fit = (one: Histogram): Histogram => ({
    ...one,
    positive: inBuckets(one.positive, positive),
    negative: inBuckets(one.negative, negative),
  });
  return [fit(all[0]), fit(all[1]), fit(all[2])];
}

/** Both inputs and the result are in ascending order. */
function unionOf(a: Int32Array, b: Int32Array): Int32Array {
  if (a === b || equalNumbers(a, b)) return a;
  const union = new Int32Array(a.length + b.length);
  let [i, j, length] = [0, 0, 0];
  while (i < a.length || j < b.length) {
    const left = i < a.length ? (a[i] as number) : Infinity;
    const right = j < b.length ? (b[j] as number) : Infinity;
    if (left <= right) i++;
    if (right <= left) j++;
    union[length++] = left < right ? left : right;
  }
  return length === a.length ? a : union.slice(0, length);
}

function inBuckets(buckets: Buckets, indexes: Int32Array): Buckets {
  if (buckets.indexes === indexes || buckets.indexes.length === indexes.length)
    return { indexes, counts: buckets.counts };
  const counts = new Float64Array(indexes.length);
  let at = 0;
  for (let place = 0; place < indexes.length; place++)
    if (buckets.indexes[at] === indexes[place]) counts[place] = buckets.counts[at++] ?? 0;
  return { indexes, counts };
}

/** Combines every count and the sum of two histograms with the same buckets. */
function eachNumber(
  a: Histogram,
  b: Histogram,
  combine: (a: number, b: number) => number,
): Histogram {
  const buckets = ({ indexes, counts: left }: Buckets, { counts: right }: Buckets): Buckets => {
    const counts = new Float64Array(left.length);
    for (let at = 0; at < counts.length; at++)
      counts[at] = combine(left[at] as number, right[at] as number);
    return { indexes, counts };
  };
  return {
    ...a,
    count: combine(a.count, b.count),
    sum: combine(a.sum, b.sum),
    zeroCount: combine(a.zeroCount, b.zeroCount),
    positive: buckets(a.positive, b.positive),
    negative: buckets(a.negative, b.negative),
  };
}

function lostIn(before: Histogram, added: Histogram, sum: Histogram, lost: Histogram): Histogram {
  const larger = eachNumber(before, added, (a, b) => (Math.abs(a) >= Math.abs(b) ? a : b));
  const smaller = eachNumber(before, added, (a, b) => (Math.abs(a) >= Math.abs(b) ? b : a));
  const rest = eachNumber(
    eachNumber(larger, sum, (a, b) => a - b),
    smaller,
    // An infinite sum has no rounding error that could be added again.
    (a, b) => (Number.isFinite(a + b) ? a + b : 0),
  );
  return eachNumber(lost, rest, (a, b) => a + b);
}

function hasOverflow({ count, sum, zeroCount, positive, negative }: Histogram): boolean {
  const numbers = [count, sum, zeroCount, ...positive.counts, ...negative.counts];
  return numbers.some((value) => Math.abs(value) === Infinity);
}
