/**
 * Data points of OTLP from protobuf.
 *
 *   Number    { attributes = 7; time_unix_nano = 3; double = 4; sfixed64 = 6; exemplars = 5; flags = 8 }
 *   Histogram { attributes = 9; time_unix_nano = 3; fixed64 count = 4; double sum = 5; fixed64 bucket_counts = 6;
 *               double explicit_bounds = 7; exemplars = 8; flags = 10 }
 *   Exponential { attributes = 1; time_unix_nano = 3; fixed64 count = 4; double sum = 5; sint32 scale = 6; fixed64 zero_count = 7;
 *               Buckets positive = 8; Buckets negative = 9; flags = 10; exemplars = 11; double zero_threshold = 14 }
 *   Buckets   { sint32 offset = 1; uint64 bucket_counts = 2 }
 *   Exemplar  { time_unix_nano = 2; double = 3; bytes span_id = 4; bytes trace_id = 5; sfixed64 = 6; attributes = 7 }
 *   every point: fixed64 start_time_unix_nano = 2
 *   Summary   { attributes = 7; time_unix_nano = 3; fixed64 count = 4; double sum = 5; quantile_values = 6; flags = 8 }
 *   ValueAtQuantile { double quantile = 1; double value = 2 }
 */
import { ProtoReader } from "../../protobuf/reader.ts";
import { BatchTooLargeError, maxBatchSeries } from "../../samples/labels.ts";
import type { Exemplar } from "../../../model/exemplar.ts";
import { maxHistogramBuckets } from "../../../model/histogram/check.ts";
import { readAttribute } from "./attributes.ts";
import { exemplarLabels } from "./exemplar.ts";
import {
  type Attributes,
  emptyPoint,
  type ExponentialBuckets,
  type ExponentialPoint,
  maxAttributes,
  OtlpError,
  type OtlpKind,
  type OtlpPoint,
  sortAttributes,
} from "./model.ts";
import type { OtlpCache } from "./cache.ts";

type Mutable<Part> = { -readonly [Key in keyof Part]: Part[Key] };
type MutablePoint = Mutable<Omit<OtlpPoint, "exponential">> & {
  bucketCounts: number[];
  bounds: number[];
  quantiles: (readonly [number, number])[];
  exemplars: Exemplar[];
  exponential: Mutable<ExponentialPoint> | undefined;
};

const emptyList: number[] = [];
const emptyQuantiles: (readonly [number, number])[] = [];
const noExemplars: Exemplar[] = [];
const noBuckets: ExponentialBuckets = { offset: 0, counts: [] };

export class PointReader {
  readonly #bytes: Buffer;
  readonly #view: DataView;
  readonly #cache: OtlpCache;
  /** Start and end of each attribute of the current point. */
  readonly #ranges: number[] = [];
  #count = 0;
  #exemplarCount = 0;

  constructor(bytes: Uint8Array, cache: OtlpCache) {
    this.#cache = cache;
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  read(reader: ProtoReader, kind: OtlpKind): OtlpPoint {
    const point: MutablePoint = {
      attributes: emptyPoint.attributes,
      timeMs: 0,
      noRecordedValue: false,
      startMs: 0,
      exemplars: noExemplars,
      value: undefined,
      count: 0,
      sum: undefined,
      // Gauges and sums have no lists, and share the empty ones.
      bucketCounts: kind === "histogram" ? [] : emptyList,
      bounds: kind === "histogram" ? [] : emptyList,
      quantiles: kind === "summary" ? [] : emptyQuantiles,
      exponential:
        kind === "exponential"
          ? { scale: 0, zeroCount: 0, zeroThreshold: 0, positive: noBuckets, negative: noBuckets }
          : undefined,
    };
    this.#ranges.length = 0;
    if (++this.#count > maxBatchSeries) throw new BatchTooLargeError(`${maxBatchSeries} points`);
    while (reader.next()) {
      const taken =
        (reader.field <= 3 && reader.wireType === 1 && this.#time(reader, point)) ||
        (kind === "gauge" || kind === "sum"
          ? this.#number(reader, point)
          : kind === "histogram"
            ? this.#histogram(reader, point)
            : kind === "summary"
              ? this.#summary(reader, point)
              : this.#exponential(reader, point));
      if (!taken) reader.skip();
    }
    if (this.#ranges.length > 0) point.attributes = this.#readAttributes();
    return point;
  }

  #readAttributes(): Attributes {
    const ranges = this.#ranges;
    const [first, last] = [ranges[0] as number, ranges.at(-1) as number];
    let length = 0;
    for (let i = 0; i < ranges.length; i += 2)
      length += (ranges[i + 1] as number) - (ranges[i] as number);
    // All known senders write attributes contiguously; if they are not, the bytes in between belong to other fields.
    if (length !== last - first) return this.#decodeAttributes();
    // Points of one GPU have the same attributes in every metric, and get the same object.
    const key = this.#bytes.toString("latin1", first, last);
    const known = this.#cache.attributes(key);
    if (known !== undefined) return known;
    const made = this.#decodeAttributes();
    this.#cache.keepAttributes(key, made);
    return made;
  }

  #decodeAttributes(): Attributes {
    const found: (readonly [string, string])[] = [];
    for (let i = 0; i < this.#ranges.length; i += 2) {
      const [from, to] = [this.#ranges[i] as number, this.#ranges[i + 1] as number];
      const reader = new ProtoReader(this.#bytes, from, to);
      reader.next();
      found.push(readAttribute(reader.message()));
    }
    return sortAttributes(found);
  }

  #time(reader: ProtoReader, point: MutablePoint): boolean {
    if (reader.field === 3) point.timeMs = this.#milliseconds(reader);
    else if (reader.field === 2) point.startMs = this.#milliseconds(reader);
    else return false;
    return true;
  }

  #milliseconds(reader: ProtoReader): number {
    const at = reader.fixed64();
    return nanosecondsToMs(this.#view.getUint32(at, true), this.#view.getUint32(at + 4, true));
  }

  #number(reader: ProtoReader, point: MutablePoint): boolean {
    const { field, wireType } = reader;
    if (field === 4 && wireType === 1) point.value = reader.double();
    else if (field === 6 && wireType === 1) point.value = this.#signed(reader);
    else if (field === 5 && wireType === 2) return this.#exemplar(reader, point);
    else return this.#common(reader, point, 7, 8);
    return true;
  }

  #histogram(reader: ProtoReader, point: MutablePoint): boolean {
    const { field, wireType } = reader;
    if (field === 4 && wireType === 1) point.count = this.#unsigned(reader);
    else if (field === 5 && wireType === 1) point.sum = reader.double();
    else if (field === 6 && (wireType === 1 || wireType === 2))
      this.#packed(reader, (each) => point.bucketCounts.push(this.#unsigned(each)));
    else if (field === 7 && (wireType === 1 || wireType === 2))
      this.#packed(reader, (each) => point.bounds.push(each.double()));
    else if (field === 8 && wireType === 2) return this.#exemplar(reader, point);
    else return this.#common(reader, point, 9, 10);
    return true;
  }

  #exponential(reader: ProtoReader, point: MutablePoint): boolean {
    const { field, wireType } = reader;
    const { exponential } = point;
    if (exponential === undefined) return false;
    if (field === 4 && wireType === 1) point.count = this.#unsigned(reader);
    else if (field === 5 && wireType === 1) point.sum = reader.double();
    else if (field === 6 && wireType === 0) exponential.scale = reader.sint64();
    else if (field === 7 && wireType === 1) exponential.zeroCount = this.#unsigned(reader);
    else if (field === 8 && wireType === 2) exponential.positive = readBuckets(reader.message());
    else if (field === 9 && wireType === 2) exponential.negative = readBuckets(reader.message());
    else if (field === 11 && wireType === 2) return this.#exemplar(reader, point);
    else if (field === 14 && wireType === 1) exponential.zeroThreshold = reader.double();
    else return this.#common(reader, point, 1, 10);
    return true;
  }

  #summary(reader: ProtoReader, point: MutablePoint): boolean {
    const { field, wireType } = reader;
    if (field === 4 && wireType === 1) point.count = this.#unsigned(reader);
    else if (field === 5 && wireType === 1) point.sum = reader.double();
    else if (field === 6 && wireType === 2) point.quantiles.push(readQuantile(reader.message()));
    else return this.#common(reader, point, 7, 8);
    return true;
  }

  #common(reader: ProtoReader, point: MutablePoint, attributes: number, flags: number): boolean {
    const { field, wireType } = reader;
    if (field === attributes && wireType === 2) {
      const from = reader.fieldStart;
      const to = reader.skip();
      if (this.#ranges.push(from, to) > maxAttributes * 2)
        throw new OtlpError(`a point has more than ${maxAttributes} attributes`);
      return true;
    }
    if (field !== flags || wireType !== 0) return false;
    point.noRecordedValue = reader.int64() % 2 !== 0;
    return true;
  }

  #exemplar(reader: ProtoReader, point: MutablePoint): boolean {
    if (++this.#exemplarCount > maxBatchSeries)
      throw new BatchTooLargeError(`${maxBatchSeries} exemplars`);
    const exemplar = this.#readExemplar(reader.message());
    if (point.exemplars === noExemplars) point.exemplars = [exemplar];
    else point.exemplars.push(exemplar);
    return true;
  }

  #readExemplar(reader: ProtoReader): Exemplar {
    let [value, timeMs, spanId, traceId] = [0, 0, "", ""];
    const attributes: (readonly [string, string])[] = [];
    while (reader.next()) {
      const { field, wireType } = reader;
      if (field === 2 && wireType === 1) timeMs = this.#milliseconds(reader);
      else if (field === 3 && wireType === 1) value = reader.double();
      else if (field === 6 && wireType === 1) value = this.#signed(reader);
      else if (field === 4 && wireType === 2) spanId = this.#hex(reader);
      else if (field === 5 && wireType === 2) traceId = this.#hex(reader);
      else if (field === 7 && wireType === 2 && attributes.length < maxAttributes)
        attributes.push(readAttribute(reader.message()));
      else reader.skip();
    }
    return { labels: exemplarLabels(traceId, spanId, attributes), value, timeMs };
  }

  #hex(reader: ProtoReader): string {
    const end = reader.payloadEnd();
    const text = this.#bytes.toString("hex", reader.position, end);
    reader.passTo(end);
    return text;
  }

  /** Reads eight-byte values, packed or not. */
  #packed(reader: ProtoReader, take: (reader: ProtoReader) => void): void {
    if (reader.wireType === 1) return take(reader);
    const inner = reader.message();
    while (inner.hasMore) take(inner);
  }

  #unsigned(reader: ProtoReader): number {
    const at = reader.fixed64();
    return this.#view.getUint32(at + 4, true) * 2 ** 32 + this.#view.getUint32(at, true);
  }

  #signed(reader: ProtoReader): number {
    const at = reader.fixed64();
    return this.#view.getInt32(at + 4, true) * 2 ** 32 + this.#view.getUint32(at, true);
  }
}

/** Stores one bucket more than allowed, so that the check can refuse the histogram. */
function readBuckets(reader: ProtoReader): ExponentialBuckets {
  let offset = 0;
  const counts: number[] = [];
  const take = (count: number): void => {
    if (counts.length <= maxHistogramBuckets) counts.push(count);
  };
  while (reader.next()) {
    if (reader.field === 1 && reader.wireType === 0) offset = reader.sint64();
    else if (reader.field === 2 && reader.wireType === 0) take(reader.uint64());
    else if (reader.field === 2 && reader.wireType === 2) {
      const packed = reader.message();
      while (packed.hasMore) take(packed.uint64());
    } else reader.skip();
  }
  return { offset, counts };
}

function readQuantile(reader: ProtoReader): readonly [number, number] {
  let [quantile, value] = [0, 0];
  while (reader.next()) {
    if (reader.field === 1 && reader.wireType === 1) quantile = reader.double();
    else if (reader.field === 2 && reader.wireType === 1) value = reader.double();
    else reader.skip();
  }
  return [quantile, value];
}

const nanosecondsPerMs = 1e6;

/** Nanoseconds do not fit in a double: divided as two words, every step is exact. */
function nanosecondsToMs(low: number, high: number): number {
  const quotient = Math.floor(high / nanosecondsPerMs);
  const rest = high % nanosecondsPerMs;
  return quotient * 2 ** 32 + Math.floor((rest * 2 ** 32 + low) / nanosecondsPerMs);
}
