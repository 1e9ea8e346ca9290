/**
 * Prometheus remote-write 1.0, decoded into columns: one pass, no object per sample, every read within bounds.
 *
 *   WriteRequest { repeated TimeSeries timeseries = 1; repeated MetricMetadata metadata = 3; }
 *   TimeSeries   { repeated Label labels = 1; repeated Sample samples = 2; repeated Exemplar exemplars = 3; repeated Histogram histograms = 4; }
 *   Label        { string name = 1; string value = 2; }
 *   Sample       { double value = 1; int64 timestamp = 2; }
 *   MetricMetadata { MetricType type = 1; string metric_family_name = 2; string help = 4; string unit = 5; }
 */
import { ProtoReader } from "./proto.ts";

export interface Metadata {
  readonly family: string;
  readonly type: string;
  readonly help: string;
  readonly unit: string;
}

/** A request as columns. A series' label block is its encoded labels, in order: equal bytes are the same series. */
export interface WriteBatch {
  readonly bytes: Uint8Array;
  readonly seriesCount: number;
  /** Where in `bytes` each series' label block stands. */
  readonly labelStarts: Uint32Array;
  readonly labelEnds: Uint32Array;
  readonly sampleCount: number;
  /** Which series each sample belongs to. */
  readonly sampleSeries: Uint32Array;
  readonly times: Float64Array;
  /** Copied bit for bit: a stale marker is a NaN whose payload matters. */
  readonly values: Float64Array;
  readonly metadata: readonly Metadata[];
  readonly droppedExemplars: number;
  readonly droppedHistograms: number;
}

const metricTypes = [
  "unknown",
  "counter",
  "gauge",
  "histogram",
  "gaugehistogram",
  "summary",
  "info",
  "stateset",
];

/** @throws ProtoError where the bytes are no WriteRequest. */
export function decodeWriteRequest(bytes: Uint8Array): WriteBatch {
  const columns = new Columns(bytes);
  const metadata: Metadata[] = [];
  const reader = new ProtoReader(bytes, 0, bytes.length);
  while (reader.next()) {
    if (reader.field === 1 && reader.wireType === 2) readSeries(reader.message(), columns);
    else if (reader.field === 3 && reader.wireType === 2)
      metadata.push(readMetadata(reader.message()));
    else reader.skip();
  }
  return columns.finish(metadata);
}

function readSeries(reader: ProtoReader, columns: Columns): void {
  const series = columns.openSeries();
  while (reader.next()) {
    if (reader.wireType !== 2) reader.skip();
    else if (reader.field === 1) columns.label(reader.fieldStart, reader.skip());
    else if (reader.field === 2) readSample(reader.message(), series, columns);
    else {
      if (reader.field === 3) columns.droppedExemplars++;
      if (reader.field === 4) columns.droppedHistograms++;
      reader.skip();
    }
  }
  columns.closeSeries();
}

function readSample(reader: ProtoReader, series: number, columns: Columns): void {
  let valueAt = -1;
  let timeMs = 0;
  while (reader.next()) {
    if (reader.field === 1 && reader.wireType === 1) valueAt = reader.fixed64();
    else if (reader.field === 2 && reader.wireType === 0) timeMs = reader.int64();
    else reader.skip();
  }
  columns.sample(series, timeMs, valueAt);
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

/** Grows by doubling; what is handed out at the end is cut to size. */
class Columns {
  droppedExemplars = 0;
  droppedHistograms = 0;
  #bytes: Uint8Array;
  #labelStarts = new Uint32Array(256);
  #labelEnds = new Uint32Array(256);
  #seriesCount = 0;
  #sampleSeries = new Uint32Array(256);
  #times = new Float64Array(256);
  #values = new Float64Array(256);
  #valueBytes = new Uint8Array(this.#values.buffer);
  #sampleCount = 0;
  #scattered: (readonly [number, number])[] | undefined;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  openSeries(): number {
    if (this.#seriesCount === this.#labelStarts.length) {
      this.#labelStarts = grown(this.#labelStarts, new Uint32Array(this.#seriesCount * 2));
      this.#labelEnds = grown(this.#labelEnds, new Uint32Array(this.#seriesCount * 2));
    }
    this.#scattered = undefined;
    this.#labelStarts[this.#seriesCount] = 0;
    this.#labelEnds[this.#seriesCount] = 0;
    return this.#seriesCount;
  }

  /** Labels follow each other in every writer we know; one that mixes them with samples is gathered at the end. */
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
    const start = this.#bytes.length;
    const parts = this.#scattered.map(([from, to]) => this.#bytes.subarray(from, to));
    this.#bytes = Buffer.concat([this.#bytes, ...parts]);
    this.#labelStarts[index] = start;
    this.#labelEnds[index] = this.#bytes.length;
  }

  sample(series: number, timeMs: number, valueAt: number): void {
    const index = this.#sampleCount++;
    if (index === this.#times.length) {
      this.#sampleSeries = grown(this.#sampleSeries, new Uint32Array(index * 2));
      this.#times = grown(this.#times, new Float64Array(index * 2));
      // Copied as bytes: a signalling NaN does not survive being a number.
      const values = new Float64Array(index * 2);
      const valueBytes = new Uint8Array(values.buffer);
      valueBytes.set(this.#valueBytes);
      this.#values = values;
      this.#valueBytes = valueBytes;
    }
    this.#sampleSeries[index] = series;
    this.#times[index] = timeMs;
    const target = index * 8;
    // A value left out is 0 by protobuf's rule, and the column is zeroed.
    if (valueAt < 0) return;
    for (let byte = 0; byte < 8; byte++)
      this.#valueBytes[target + byte] = this.#bytes[valueAt + byte] ?? 0;
  }

  finish(metadata: readonly Metadata[]): WriteBatch {
    return {
      bytes: this.#bytes,
      seriesCount: this.#seriesCount,
      labelStarts: this.#labelStarts.subarray(0, this.#seriesCount),
      labelEnds: this.#labelEnds.subarray(0, this.#seriesCount),
      sampleCount: this.#sampleCount,
      sampleSeries: this.#sampleSeries.subarray(0, this.#sampleCount),
      times: this.#times.subarray(0, this.#sampleCount),
      values: this.#values.subarray(0, this.#sampleCount),
      metadata,
      droppedExemplars: this.droppedExemplars,
      droppedHistograms: this.droppedHistograms,
    };
  }
}

function grown<Array extends Uint32Array | Float64Array>(from: Array, into: Array): Array {
  into.set(from);
  return into;
}
