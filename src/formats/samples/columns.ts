/** The growing columns of a batch. Values are written as words: a signalling NaN does not survive a conversion to a number. */

import { BatchTooLargeError, maxBatchSamples } from "./labels.ts";

export class BatchColumns {
  count = 0;
  series: Uint32Array;
  times: Float64Array;
  values: Float64Array;
  words: Uint32Array;

  /** @param expected an estimate of the number of samples: growing costs more than some unused capacity */
  constructor(expected = 256) {
    this.series = new Uint32Array(expected);
    this.times = new Float64Array(expected);
    this.values = new Float64Array(expected);
    this.words = new Uint32Array(this.values.buffer);
  }

  /** Adds a sample, whose value is 0 until its words are set, and returns its index. */
  add(series: number, timeMs: number): number {
    const index = this.count++;
    if (index === this.times.length) this.#grow();
    this.series[index] = series;
    this.times[index] = timeMs;
    return index;
  }

  /** Adds a sample of each of the first `count` series to empty columns; their values are to be set. */
  addRow(count: number, timeMs: number): void {
    if (this.count > 0) throw new Error("BUG: a row is added to columns that have samples");
    while (this.times.length < count) this.#grow();
    for (let at = 0; at < count; at++) this.series[at] = at;
    this.times.fill(timeMs, 0, count);
    this.count = count;
  }

  finish(): { sampleSeries: Uint32Array; times: Float64Array; values: Float64Array } {
    return {
      sampleSeries: this.series.subarray(0, this.count),
      times: this.times.subarray(0, this.count),
      values: this.values.subarray(0, this.count),
    };
  }

  #grow(): void {
    if (this.times.length >= maxBatchSamples)
      throw new BatchTooLargeError(`${maxBatchSamples} samples`);
    const length = Math.max(16, this.times.length * 2);
    this.series = copyInto(this.series, new Uint32Array(length));
    this.times = copyInto(this.times, new Float64Array(length));
    const values = new Float64Array(length);
    const words = new Uint32Array(values.buffer);
    words.set(this.words);
    this.values = values;
    this.words = words;
  }
}

export function copyInto<Column extends Uint32Array | Float64Array | Uint8Array>(
  from: Column,
  into: Column,
): Column {
  into.set(from);
  return into;
}
