/**
 * Decodes Prometheus remote-write 1.0 into columns: one pass, no object per sample, every read bounds-checked.
 *
 *   WriteRequest { repeated TimeSeries timeseries = 1; repeated MetricMetadata metadata = 3; }
 *   TimeSeries   { repeated Label labels = 1; repeated Sample samples = 2; repeated Exemplar exemplars = 3; repeated Histogram histograms = 4; }
 *   Label        { string name = 1; string value = 2; }
 *   Sample       { double value = 1; int64 timestamp = 2; }
 *   Exemplar     { repeated Label labels = 1; double value = 2; int64 timestamp = 3; }; Histogram: decode-histogram.ts
 *   MetricMetadata { MetricType type = 1; string metric_family_name = 2; string help = 4; string unit = 5; }
 */
import type { Exemplar } from "../../model/exemplar.ts";
import { checkHistogram, isFault } from "../../model/histogram/check.ts";
import type { Histogram } from "../../model/histogram/histogram.ts";
import { histogramHigh } from "../../model/histogram/word.ts";
import type { Label } from "../../model/labels.ts";
import { putStale } from "../../model/stale.ts";
import { ProtoReader } from "../protobuf/reader.ts";
import { BatchAttachments } from "../samples/attachments.ts";
import type { Metadata, SampleBatch } from "../samples/batch.ts";
import { copyInto, BatchColumns } from "../samples/columns.ts";
import {
  BatchTooLargeError,
  maxBatchMetadata,
  maxBatchSeries,
  readLabel,
} from "../samples/labels.ts";
import { readExemplar, RemoteWriteHistogram } from "./decode-histogram.ts";
import {
  isPlainSample,
  metricTypes,
  plainTimeMs,
  plainSampleBytes,
  readSample,
} from "./decode-parts.ts";

/**
 * @param bucketLimit limit of buckets of a native histogram, 0 for none
 * @throws ProtoError if the bytes are not a WriteRequest.
 */
export function decodeWriteRequest(bytes: Uint8Array, bucketLimit = 0): SampleBatch {
  const columns = new Columns(bytes, bucketLimit);
  const metadata: Metadata[] = [];
  const reader = new ProtoReader(bytes, 0, bytes.length);
  while (reader.next()) {
    if (reader.field === 1 && reader.wireType === 2) {
      const end = reader.payloadEnd();
      readSeries(bytes, reader.position, end, columns);
      reader.passTo(end);
    } else if (reader.field === 3 && reader.wireType === 2 && metadata.length < maxBatchMetadata)
      metadata.push(readMetadata(reader.message()));
    else reader.skip();
  }
  return columns.finish(metadata);
}

/** Tag of a label. Nearly every label has fewer than 128 bytes. */
const labelTag = 0x0a;
const sampleTag = 0x12;

/** Such labels and plain samples are read in place, everything else by the general reader: this halves the cost of a request. */
function readSeries(bytes: Uint8Array, start: number, end: number, columns: Columns): void {
  const series = columns.openSeries();
  let [labelsFrom, labelsTo] = [-1, -1];
  for (let at = start; at < end;) {
    const tag = bytes[at] as number;
    const length = bytes[at + 1] as number;
    const next = at + 2 + length;
    if (tag === labelTag && length < 0x80 && next <= end) {
      if (labelsTo !== at) {
        if (labelsTo >= 0) columns.label(labelsFrom, labelsTo);
        labelsFrom = at;
      }
      at = labelsTo = next;
    } else if (tag === sampleTag && isPlainSample(bytes, at, end)) {
      columns.sample(series, plainTimeMs(bytes, at + 12), at + 3);
      at += plainSampleBytes;
    } else {
      if (labelsTo >= 0) columns.label(labelsFrom, labelsTo);
      labelsTo = -1;
      at = readField(new ProtoReader(bytes, at, end), series, columns);
    }
  }
  if (labelsTo >= 0) columns.label(labelsFrom, labelsTo);
  columns.closeSeries();
}

/** Returns the end of the field. */
function readField(reader: ProtoReader, series: number, columns: Columns): number {
  reader.next();
  if (reader.wireType !== 2) return reader.skip();
  if (reader.field === 1) {
    const from = reader.fieldStart;
    const to = reader.skip();
    columns.label(from, to);
    return to;
  }
  if (reader.field === 2) {
    const { timeMs, valueAt } = readSample(reader.message());
    columns.sample(series, timeMs, valueAt);
    return reader.position;
  }
  if (reader.field === 3) columns.exemplar(series, reader.message());
  else if (reader.field === 4) columns.histogram(series, reader.message());
  else return reader.skip();
  return reader.position;
}

function readLabeledExemplar(reader: ProtoReader): Exemplar {
  const labels: Label[] = [];
  const parts = readExemplar(reader, (field) => {
    if (field.wireType === 2) labels.push(readLabel(field.message()));
    else field.skip();
  });
  return { labels, ...parts };
}

function readMetadata(reader: ProtoReader): Metadata {
  const found = { type: "unknown", family: "", help: "", unit: "" };
  while (reader.next()) {
    if (reader.field === 1 && reader.wireType === 0)
      found.type = metricTypes[reader.int64()] ?? "unknown";
    else if (reader.field === 2 && reader.wireType === 2) found.family = reader.text();
    else if (reader.field === 4 && reader.wireType === 2) found.help = reader.text();
    else if (reader.field === 5 && reader.wireType === 2) found.unit = reader.text();
    else reader.skip();
  }
  return found;
}

/** A series with its labels and one sample is rarely smaller: determines the initial capacity for a request. */
const usualSeriesBytes = 128;

/** Grows by doubling; `finish` trims the columns to size. */
class Columns {
  readonly #bucketLimit: number;
  readonly #attached = new BatchAttachments();
  #bytes: Uint8Array;
  #length: number;
  readonly #view: DataView;
  readonly #samples: BatchColumns;
  #labelStarts: Uint32Array;
  #labelEnds: Uint32Array;
  #seriesCount = 0;
  #scattered: (readonly [number, number])[] | undefined;
  /** The previous histogram, often of the same series with the same buckets. */
  #lastHistogram: Histogram | undefined;

  constructor(bytes: Uint8Array, bucketLimit: number) {
    this.#bucketLimit = bucketLimit;
    this.#bytes = bytes;
    this.#length = bytes.length;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const expected = Math.ceil(bytes.length / usualSeriesBytes) + 8;
    this.#samples = new BatchColumns(expected);
    this.#labelStarts = new Uint32Array(expected);
    this.#labelEnds = new Uint32Array(expected);
  }

  openSeries(): number {
    if (this.#seriesCount >= maxBatchSeries) throw new BatchTooLargeError();
    if (this.#seriesCount === this.#labelStarts.length) {
      this.#labelStarts = copyInto(this.#labelStarts, new Uint32Array(this.#seriesCount * 2));
      this.#labelEnds = copyInto(this.#labelEnds, new Uint32Array(this.#seriesCount * 2));
    }
    this.#scattered = undefined;
    this.#labelStarts[this.#seriesCount] = 0;
    this.#labelEnds[this.#seriesCount] = 0;
    return this.#seriesCount;
  }

  /** All known writers send labels contiguously; labels mixed with samples are collected at the end. */
  label(start: number, end: number): void {
    const index = this.#seriesCount;
    const blockEnd = this.#labelEnds[index] ?? 0;
    if (this.#scattered !== undefined) this.#scattered.push([start, end]);
    else if (blockEnd === 0) this.#labelStarts[index] = start;
    else if (blockEnd !== start)
      this.#scattered = [
        [this.#labelStarts[index] ?? 0, blockEnd],
        [start, end],
      ];
    this.#labelEnds[index] = end;
  }

  closeSeries(): void {
    const index = this.#seriesCount++;
    if (this.#scattered === undefined) return;
    this.#labelStarts[index] = this.#length;
    for (const [from, to] of this.#scattered) {
      this.#reserve(to - from);
      this.#bytes.copyWithin(this.#length, from, to);
      this.#length += to - from;
    }
    this.#labelEnds[index] = this.#length;
  }

  sample(series: number, timeMs: number, valueAt: number): void {
    const target = this.#samples.add(series, timeMs) * 2;
    // In protobuf a missing value is 0, and the column is zeroed.
    if (valueAt < 0) return;
    this.#samples.words[target] = this.#view.getUint32(valueAt, true);
    this.#samples.words[target + 1] = this.#view.getUint32(valueAt + 4, true);
  }

  histogram(series: number, reader: ProtoReader): void {
    const read = new RemoteWriteHistogram().read(reader, this.#view);
    if (read.isStale) {
      putStale(this.#samples.words, this.#samples.add(series, read.timeMs));
      return;
    }
    const checked = checkHistogram(read, this.#bucketLimit, this.#lastHistogram);
    if (isFault(checked)) return this.#attached.refuse(checked);
    this.#lastHistogram = checked;
    const target = this.#samples.add(series, read.timeMs) * 2;
    this.#samples.words[target] = this.#attached.histogram(checked);
    this.#samples.words[target + 1] = histogramHigh;
  }

  exemplar(series: number, reader: ProtoReader): void {
    this.#attached.exemplar(series, () => readLabeledExemplar(reader));
  }

  /** Copies are appended after the request's own bytes, which are the sender's and must not be overwritten. */
  #reserve(more: number): void {
    if (this.#length + more <= this.#bytes.length) return;
    this.#bytes = copyInto(this.#bytes, new Uint8Array((this.#length + more) * 2));
  }

  finish(metadata: readonly Metadata[]): SampleBatch {
    return {
      bytes: this.#bytes,
      seriesCount: this.#seriesCount,
      labelStarts: this.#labelStarts.subarray(0, this.#seriesCount),
      labelEnds: this.#labelEnds.subarray(0, this.#seriesCount),
      sampleCount: this.#samples.count,
      ...this.#samples.finish(),
      ...this.#attached.finish(),
      metadata,
    };
  }
}
