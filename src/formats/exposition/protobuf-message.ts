/**
 * The values inside a Metric of the protobuf exposition (io.prometheus.client).
 *
 *   Exemplar  { LabelPair label = 1; double value = 2; Timestamp timestamp = 3; }
 *   Timestamp { int64 seconds = 1; int32 nanos = 2; }        LabelPair { string name = 1; string value = 2; }
 *   Bucket    { uint64 cumulative_count = 1; double upper_bound = 2; Exemplar exemplar = 3; double cumulative_count_float = 4; }
 *   Histogram { uint64 sample_count = 1; double sample_sum = 2; Bucket bucket = 3; double sample_count_float = 4;
 *               sint32 schema = 5; double zero_threshold = 6; uint64 zero_count = 7; double zero_count_float = 8;
 *               BucketSpan negative_span = 9; sint64 negative_delta = 10; double negative_count = 11;
 *               BucketSpan positive_span = 12; sint64 positive_delta = 13; double positive_count = 14;
 *               Timestamp created_timestamp = 15; Exemplar exemplars = 16; }
 */
import type { Label } from "../../model/labels.ts";
import { HistogramPartsReader } from "../protobuf/histogram-parts.ts";
import type { ProtoReader } from "../protobuf/reader.ts";
import { BatchTooLargeError } from "../samples/labels.ts";
import type { PageExemplar } from "./visit.ts";

export interface ClassicBucket {
  readonly upperBound: number;
  readonly count: number;
  readonly exemplar: PageExemplar | undefined;
}

/** More than any client exposes; bounds the objects allocated for one message. */
const maxParts = 2 ** 16;

export class ExposedHistogram extends HistogramPartsReader {
  startMs = 0;
  readonly buckets: ClassicBucket[] = [];
  readonly exemplars: PageExemplar[] = [];

  read(reader: ProtoReader, view: DataView): this {
    while (reader.next()) this.#field(reader, view);
    return this;
  }

  /** A histogram with only classic buckets sets none of these fields. */
  get isNative(): boolean {
    return (
      this.zeroThreshold > 0 ||
      this.zeroCount > 0 ||
      this.positive.spans.length > 0 ||
      this.negative.spans.length > 0 ||
      this.positive.counts.length > 0 ||
      this.negative.counts.length > 0
    );
  }

  #field(reader: ProtoReader, view: DataView): void {
    switch (reader.field * 8 + reader.wireType) {
      case 1 * 8:
        if (this.isInteger) this.count = reader.uint64();
        else reader.skip();
        break;
      case 2 * 8 + 1:
        this.readSum(reader, view);
        break;
      case 3 * 8 + 2:
        bounded(this.buckets).push(readBucket(reader.message()));
        break;
      case 4 * 8 + 1:
        this.#countFloat(reader.double());
        break;
      case 5 * 8:
        this.schema = reader.sint64();
        break;
      case 6 * 8 + 1:
        this.zeroThreshold = reader.double();
        break;
      case 7 * 8:
        this.zeroCount ||= reader.uint64();
        break;
      case 8 * 8 + 1:
        this.zeroCount = reader.double() || this.zeroCount;
        break;
      case 9 * 8 + 2:
        this.negative.readSpan(reader.message());
        break;
      case 12 * 8 + 2:
        this.positive.readSpan(reader.message());
        break;
      case 15 * 8 + 2:
        this.startMs = readTimestamp(reader.message());
        break;
      case 16 * 8 + 2:
        bounded(this.exemplars).push(readPageExemplar(reader.message()));
        break;
      default:
        this.#repeated(reader);
    }
  }

  /** A float of 0 is an unset field. */
  #countFloat(count: number): void {
    if (count === 0) return;
    this.count = count;
    this.isInteger = false;
  }

  /** Reads repeated fields, packed or not. */
  #repeated(reader: ProtoReader): void {
    if (reader.field === 10) this.negative.readDeltas(reader);
    else if (reader.field === 11) this.negative.readCounts(reader);
    else if (reader.field === 13) this.positive.readDeltas(reader);
    else if (reader.field === 14) this.positive.readCounts(reader);
    else reader.skip();
  }
}

function bounded<Part>(parts: Part[]): Part[] {
  if (parts.length >= maxParts)
    throw new BatchTooLargeError(`${maxParts} buckets or exemplars in one metric`);
  return parts;
}

function readBucket(reader: ProtoReader): ClassicBucket {
  let [upperBound, count] = [0, 0];
  let exemplar: PageExemplar | undefined;
  while (reader.next()) {
    const { field, wireType } = reader;
    if (field === 1 && wireType === 0) count ||= reader.uint64();
    else if (field === 2 && wireType === 1) upperBound = reader.double();
    else if (field === 3 && wireType === 2) exemplar = readPageExemplar(reader.message());
    else if (field === 4 && wireType === 1) count = reader.double() || count;
    else reader.skip();
  }
  return { upperBound, count, exemplar };
}

/** A counter has a value, an exemplar and a start time; gauges and untyped metrics have only the value. */
export interface ExposedNumber {
  value: number;
  startMs: number;
  exemplar: PageExemplar | undefined;
}

/** `Counter { double value = 1; Exemplar exemplar = 2; Timestamp created_timestamp = 3; }`, and `Gauge` and `Untyped` of its first field. */
export function readNumber(reader: ProtoReader): ExposedNumber {
  const number: ExposedNumber = { value: 0, startMs: 0, exemplar: undefined };
  while (reader.next()) {
    const { field, wireType } = reader;
    if (field === 1 && wireType === 1) number.value = reader.double();
    else if (field === 2 && wireType === 2) number.exemplar = readPageExemplar(reader.message());
    else if (field === 3 && wireType === 2) number.startMs = readTimestamp(reader.message());
    else reader.skip();
  }
  return number;
}

export interface ExposedSummary {
  count: number;
  sum: number;
  startMs: number;
  readonly quantiles: (readonly [quantile: number, value: number])[];
}

/** `Summary { uint64 sample_count = 1; double sample_sum = 2; Quantile quantile = 3; Timestamp created_timestamp = 4; }` */
export function readSummary(reader: ProtoReader): ExposedSummary {
  const summary: ExposedSummary = { count: 0, sum: 0, startMs: 0, quantiles: [] };
  while (reader.next()) {
    const { field, wireType } = reader;
    if (field === 1 && wireType === 0) summary.count = reader.uint64();
    else if (field === 2 && wireType === 1) summary.sum = reader.double();
    else if (field === 3 && wireType === 2)
      bounded(summary.quantiles).push(readQuantile(reader.message()));
    else if (field === 4 && wireType === 2) summary.startMs = readTimestamp(reader.message());
    else reader.skip();
  }
  return summary;
}

/** `Quantile { double quantile = 1; double value = 2; }` */
function readQuantile(reader: ProtoReader): readonly [number, number] {
  let [quantile, value] = [0, 0];
  while (reader.next()) {
    if (reader.field === 1 && reader.wireType === 1) quantile = reader.double();
    else if (reader.field === 2 && reader.wireType === 1) value = reader.double();
    else reader.skip();
  }
  return [quantile, value];
}

function readPageExemplar(reader: ProtoReader): PageExemplar {
  const labels: Label[] = [];
  let value = 0;
  let timeMs: number | undefined;
  while (reader.next()) {
    const { field, wireType } = reader;
    if (field === 1 && wireType === 2) bounded(labels).push(readPair(reader.message()));
    else if (field === 2 && wireType === 1) value = reader.double();
    else if (field === 3 && wireType === 2) timeMs = readTimestamp(reader.message());
    else reader.skip();
  }
  return { labels, value, timeMs };
}

export function readPair(reader: ProtoReader): Label {
  let [name, value] = ["", ""];
  while (reader.next()) {
    if (reader.field === 1 && reader.wireType === 2) name = reader.text();
    else if (reader.field === 2 && reader.wireType === 2) value = reader.text();
    else reader.skip();
  }
  return [name, value];
}

function readTimestamp(reader: ProtoReader): number {
  let [seconds, nanos] = [0, 0];
  while (reader.next()) {
    if (reader.field === 1 && reader.wireType === 0) seconds = reader.int64();
    else if (reader.field === 2 && reader.wireType === 0) nanos = reader.int64();
    else reader.skip();
  }
  return seconds * 1_000 + Math.floor(nanos / 1_000_000);
}
