/** Builds a batch from label sets and numbers, for every ingestion path whose bytes are not label blocks already. */
import type { Exemplar } from "../../model/exemplar.ts";
import { type HistogramFault, isFault } from "../../model/histogram/check.ts";
import type { Histogram } from "../../model/histogram/histogram.ts";
import { histogramHigh } from "../../model/histogram/word.ts";
import type { LabelSet } from "../../model/labels.ts";
import { staleHigh, staleLow } from "../../model/stale.ts";
import { BatchAttachments } from "./attachments.ts";
import type { BatchStart, Metadata, SampleBatch } from "./batch.ts";
import { copyInto, BatchColumns } from "./columns.ts";
import { BatchTooLargeError } from "./labels.ts";

export class BatchBuilder {
  readonly #maxLabelBytes: number;
  readonly #samples = new BatchColumns();
  readonly #metadata: Metadata[] = [];
  readonly #attached = new BatchAttachments();
  #bytes = Buffer.allocUnsafe(4_096);
  #length = 0;
  #starts = new Uint32Array(64);
  #ends = new Uint32Array(64);
  #seriesCount = 0;

  /** @param maxLabelBytes `maxBatchLabelBytes` for external input: labels sent once may be stored with every series */
  constructor(maxLabelBytes = Infinity) {
    this.#maxLabelBytes = maxLabelBytes;
  }

  get seriesCount(): number {
    return this.#seriesCount;
  }

  get sampleCount(): number {
    return this.#samples.count;
  }

  /** Adds a series to the batch; labels must be sorted by name, include `__name__`, and have no empty values. */
  series(labels: LabelSet): number {
    const index = this.#open();
    for (const [name, value] of labels) this.#label(name, value);
    return this.#close(index);
  }

  /** Like `series`, from an encoded label block. */
  rawSeries(bytes: Uint8Array, start: number, end: number): number {
    const index = this.#open();
    this.#reserve(end - start);
    this.#bytes.set(bytes.subarray(start, end), this.#length);
    this.#length += end - start;
    return this.#close(index);
  }

  /** Use `addBits` for a NaN whose bits matter. */
  add(series: number, timeMs: number, value: number): void {
    // `add` comes first: growing may replace the columns.
    const at = this.#samples.add(series, timeMs);
    this.#samples.values[at] = value;
  }

  addBits(series: number, timeMs: number, low: number, high: number): void {
    const at = this.#samples.add(series, timeMs) * 2;
    this.#samples.words[at] = low;
    this.#samples.words[at + 1] = high;
  }

  /** Ends the series with a staleness marker. */
  addStale(series: number, timeMs: number): void {
    this.addBits(series, timeMs, staleLow, staleHigh);
  }

  addHistogram(series: number, timeMs: number, histogram: Histogram): void {
    this.addBits(series, timeMs, this.#attached.histogram(histogram), histogramHigh);
  }

  /** Adds a histogram from external input; a malformed one is counted as refused. */
  addChecked(series: number, timeMs: number, checked: Histogram | HistogramFault): void {
    if (isFault(checked)) this.#attached.refuse(checked);
    else this.addHistogram(series, timeMs, checked);
  }

  /** An exemplar with more text than Prometheus allows is counted as dropped. */
  addExemplar(series: number, exemplar: Exemplar): void {
    this.readExemplar(series, () => exemplar);
  }

  /** Like `addExemplar`, for an exemplar whose decoding may throw a ProtoError. */
  readExemplar(series: number, read: () => Exemplar): void {
    this.#attached.exemplar(series, read);
  }

  addStart(start: BatchStart): void {
    this.#attached.start(start);
  }

  learn(metadata: Metadata): void {
    this.#metadata.push(metadata);
  }

  finish(): SampleBatch {
    return {
      bytes: this.#bytes.subarray(0, this.#length),
      seriesCount: this.#seriesCount,
      labelStarts: this.#starts.subarray(0, this.#seriesCount),
      labelEnds: this.#ends.subarray(0, this.#seriesCount),
      sampleCount: this.#samples.count,
      ...this.#samples.finish(),
      ...this.#attached.finish(),
      metadata: this.#metadata,
    };
  }

  #open(): number {
    const index = this.#seriesCount;
    if (index === this.#starts.length) {
      this.#starts = copyInto(this.#starts, new Uint32Array(index * 2));
      this.#ends = copyInto(this.#ends, new Uint32Array(index * 2));
    }
    this.#starts[index] = this.#length;
    return index;
  }

  #close(index: number): number {
    this.#ends[index] = this.#length;
    this.#seriesCount++;
    return index;
  }

  /** `0a` length (`0a` length name, `12` length value): a Label as a field of a TimeSeries. */
  #label(name: string, value: string): void {
    const nameBytes = Buffer.byteLength(name);
    const valueBytes = Buffer.byteLength(value);
    const inner = 2 + varintBytes(nameBytes) + nameBytes + varintBytes(valueBytes) + valueBytes;
    this.#reserve(inner + 6);
    this.#tagged(0x0a, inner);
    this.#tagged(0x0a, nameBytes);
    this.#length += this.#bytes.write(name, this.#length);
    this.#tagged(0x12, valueBytes);
    this.#length += this.#bytes.write(value, this.#length);
  }

  #tagged(tag: number, length: number): void {
    this.#bytes[this.#length++] = tag;
    let rest = length;
    while (rest >= 0x80) {
      this.#bytes[this.#length++] = (rest & 0x7f) | 0x80;
      rest >>>= 7;
    }
    this.#bytes[this.#length++] = rest;
  }

  #reserve(more: number): void {
    if (this.#length + more <= this.#bytes.length) return;
    if (this.#length + more > this.#maxLabelBytes)
      throw new BatchTooLargeError(`${this.#maxLabelBytes / 2 ** 20} MiB of labels`);
    const wider = Buffer.allocUnsafe(
      Math.max(Math.min(this.#bytes.length * 2, this.#maxLabelBytes), this.#length + more),
    );
    this.#bytes.copy(wider, 0, 0, this.#length);
    this.#bytes = wider;
  }
}

const varintBytes = (value: number): number =>
  value < 0x80 ? 1 : value < 0x4000 ? 2 : value < 0x20_0000 ? 3 : value < 0x1000_0000 ? 4 : 5;
