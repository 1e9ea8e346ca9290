/**
 * The native histograms of a batch in two arrays, to send them between threads: as objects, each with buffers of its own, they took
 * half of the processor time of a large request.
 *
 *   numbers: per histogram 9 (index of the hint, schema, zero threshold, zero count, count, sum, number of bounds, of positive and
 *            of negative buckets), its bounds, and the counts of its positive and of its negative buckets
 *   indexes: the indexes of positive and of negative buckets, left out if they are those of the previous histogram; the number of
 *            buckets is then stored as -1 - number
 */
import {
  type Buckets,
  type Histogram,
  noBounds,
  noBuckets,
} from "../../../model/histogram/histogram.ts";

export interface PackedHistograms {
  readonly numbers: Float64Array<ArrayBuffer>;
  readonly indexes: Int32Array<ArrayBuffer>;
}

const hints = ["unknown", "reset", "no-reset", "gauge"] as const;
const headerNumbers = 9;

export function packHistograms(histograms: readonly Histogram[]): PackedHistograms {
  let [numberCount, indexCount] = [0, 0];
  for (const { bounds, positive, negative } of histograms) {
    const buckets = positive.counts.length + negative.counts.length;
    numberCount += headerNumbers + bounds.length + buckets;
    indexCount += buckets;
  }
  const numbers = new Float64Array(numberCount);
  const indexes = new Int32Array(indexCount);
  let [at, place] = [0, 0];
  const sizeOf = (own: Int32Array, before: Int32Array | undefined): number => {
    if (own === before) return -1 - own.length;
    indexes.set(own, place);
    place += own.length;
    return own.length;
  };
  let before: Histogram | undefined;
  for (const histogram of histograms) {
    const { bounds, positive, negative } = histogram;
    numbers[at] = hints.indexOf(histogram.resetHint);
    numbers[at + 1] = histogram.schema;
    numbers[at + 2] = histogram.zeroThreshold;
    numbers[at + 3] = histogram.zeroCount;
    numbers[at + 4] = histogram.count;
    numbers[at + 5] = histogram.sum;
    numbers[at + 6] = bounds.length;
    numbers[at + 7] = sizeOf(positive.indexes, before?.positive.indexes);
    numbers[at + 8] = sizeOf(negative.indexes, before?.negative.indexes);
    at += headerNumbers;
    for (const part of [bounds, positive.counts, negative.counts]) {
      numbers.set(part, at);
      at += part.length;
    }
    before = histogram;
  }
  return { numbers, indexes: indexes.slice(0, place) };
}

/** The histograms are views on the arrays. */
export function unpackHistograms({ numbers, indexes }: PackedHistograms): readonly Histogram[] {
  const histograms: Histogram[] = [];
  let [at, place] = [0, 0];
  const take = (length: number): Float64Array => numbers.subarray(at, (at += length));
  const indexesOf = (size: number, before: Int32Array | undefined): Int32Array =>
    size < 0 && before !== undefined ? before : indexes.subarray(place, (place += size));
  let before: Histogram | undefined;
  while (at < numbers.length) {
    const head = at;
    at += headerNumbers;
    const number = (offset: number): number => numbers[head + offset] as number;
    const boundCount = number(6);
    const positive = indexesOf(number(7), before?.positive.indexes);
    const negative = indexesOf(number(8), before?.negative.indexes);
    const bounds = boundCount === 0 ? noBounds : take(boundCount);
    const bucketsOf = (own: Int32Array): Buckets =>
      own.length === 0 ? noBuckets : { indexes: own, counts: take(own.length) };
    before = {
      resetHint: hints[number(0)] ?? "unknown",
      schema: number(1),
      zeroThreshold: number(2),
      zeroCount: number(3),
      count: number(4),
      sum: number(5),
      positive: bucketsOf(positive),
      negative: bucketsOf(negative),
      bounds,
    };
    histograms.push(before);
  }
  return histograms;
}
