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
  readonly counts: number[] = [];
  #last = 0;

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
    eachVarint(reader, (value) => pushBounded(this.counts, (this.#last += value)));
  }

  readCounts(reader: ProtoReader): void {
    eachDouble(reader, (value) => pushBounded(this.counts, value));
  }
}

/** Stores one value more than the limit, so that the check can refuse the histogram. */
function pushBounded(list: number[], value: number): void {
  if (list.length <= maxHistogramBuckets) list.push(value);
}

function eachVarint(reader: ProtoReader, take: (value: number) => void): void {
  if (reader.wireType === 0) return take(reader.sint64());
  if (reader.wireType !== 2) return void reader.skip();
  const packed = reader.message();
  while (packed.hasMore) take(packed.sint64());
}

function eachDouble(reader: ProtoReader, take: (value: number) => void): void {
  if (reader.wireType === 1) return take(reader.double());
  if (reader.wireType !== 2) return void reader.skip();
  const packed = reader.message();
  while (packed.hasMore) take(packed.double());
}
