/**
 * The parts of a native histogram that remote-write and the protobuf exposition share, with different field numbers:
 *
 *   BucketSpan { sint32 offset = 1; uint32 length = 2; }, bucket counts as doubles, or as differences to the previous bucket
 */
import {
  type HistogramParts,
  maxHistogramBuckets,
  type SpannedCounts,
} from "../../model/histogram/check.ts";
import { newCounts } from "../../model/histogram/counts.ts";
import type { ResetHint } from "../../model/histogram/histogram.ts";
import { staleHigh, staleLow } from "../../model/stale.ts";
import type { ProtoReader } from "./reader.ts";

export const resetHints: readonly ResetHint[] = ["unknown", "reset", "no-reset", "gauge"];

export class HistogramPartsReader implements HistogramParts {
  resetHint: ResetHint = "unknown";
  schema = 0;
  zeroThreshold = 0;
  zeroCount = 0;
  count = 0;
  sum = 0;
  /** True if the sum is the staleness marker: the series ends. */
  isStale = false;
  /** False once a count is a double. */
  isInteger = true;
  readonly positive = new BucketsReader();
  readonly negative = new BucketsReader();
  readonly bounds: number[] = [];

  readBounds(reader: ProtoReader): void {
    eachDouble(reader, (bound) => pushBounded(this.bounds, bound));
  }

  readSum(reader: ProtoReader, view: DataView): void {
    const at = reader.fixed64();
    this.isStale =
      view.getUint32(at, true) === staleLow && view.getUint32(at + 4, true) === staleHigh;
    this.sum = view.getFloat64(at, true);
  }
}

export class BucketsReader implements SpannedCounts {
  readonly spans: number[] = [];
  #counts: Float64Array = noCounts;
  #length = 0;
  /** The previous absolute count, to which a difference is added. */
  #last = 0;

  get counts(): Float64Array {
    if (this.#length < this.#counts.length) this.#counts = this.#counts.slice(0, this.#length);
    return this.#counts;
  }

  readSpan(reader: ProtoReader): void {
    let [offset, length] = [0, 0];
    while (reader.next()) {
      if (reader.field === 1 && reader.wireType === 0) offset = reader.sint64();
      else if (reader.field === 2 && reader.wireType === 0) length = reader.uint64();
      else reader.skip();
    }
    if (this.spans.length <= 2 * maxHistogramBuckets) this.spans.push(offset, length);
  }

  readDeltas(reader: ProtoReader): void {
    if (reader.wireType === 0) this.#put((this.#last += reader.sint64()));
    else if (reader.wireType === 2) {
      const packed = reader.message();
      this.#reserve(packed.countVarints());
      while (packed.hasMore) this.#put((this.#last += packed.sint64()));
    } else reader.skip();
  }

  readCounts(reader: ProtoReader): void {
    if (reader.wireType === 1) this.#put(reader.double());
    else if (reader.wireType === 2) {
      const packed = reader.message();
      this.#reserve(packed.countDoubles());
      while (packed.hasMore) this.#put(packed.double());
    } else reader.skip();
  }

  /** Stores one value more than the limit, so that the check can refuse the histogram. */
  #put(count: number): void {
    if (this.#length > maxHistogramBuckets) return;
    if (this.#length === this.#counts.length) this.#reserve(1);
    this.#counts[this.#length++] = count;
  }

  /** Nearly always there is one packed field, whose array needs no other. */
  #reserve(more: number): void {
    const before = this.#counts;
    const length = Math.min(this.#length + more, maxHistogramBuckets + 1);
    if (length <= before.length) return;
    this.#counts = newCounts(Math.max(length, 2 * before.length));
    if (before.length > 0) this.#counts.set(before);
  }
}

const noCounts = new Float64Array(0);

/** Stores one value more than the limit, so that the check can refuse the histogram. */
function pushBounded(list: number[], value: number): void {
  if (list.length <= maxHistogramBuckets) list.push(value);
}

function eachDouble(reader: ProtoReader, take: (value: number) => void): void {
  if (reader.wireType === 1) return take(reader.double());
  if (reader.wireType !== 2) return void reader.skip();
  const packed = reader.message();
  while (packed.hasMore) take(packed.double());
}
