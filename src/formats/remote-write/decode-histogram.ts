/**
 * The messages besides samples that remote-write 1.0 and 2.0 share.
 *
 *   Histogram { uint64 count_int = 1; double count_float = 2; double sum = 3; sint32 schema = 4; double zero_threshold = 5;
 *               uint64 zero_count_int = 6; double zero_count_float = 7;
 *               BucketSpan negative_spans = 8; sint64 negative_deltas = 9; double negative_counts = 10;
 *               BucketSpan positive_spans = 11; sint64 positive_deltas = 12; double positive_counts = 13;
 *               ResetHint reset_hint = 14; int64 timestamp = 15; double custom_values = 16; int64 start_timestamp = 17 (2.0) }
 *   Exemplar  { labels = 1; double value = 2; int64 timestamp = 3; }
 */
import { HistogramPartsReader, resetHints } from "../protobuf/histogram-parts.ts";
import type { ProtoReader } from "../protobuf/reader.ts";

export class RemoteWriteHistogram extends HistogramPartsReader {
  timeMs = 0;
  startMs = 0;

  read(reader: ProtoReader, view: DataView): this {
    while (reader.next()) this.#field(reader, view);
    return this;
  }

  #field(reader: ProtoReader, view: DataView): void {
    switch (reader.field * 8 + reader.wireType) {
      case 1 * 8:
        this.count = reader.uint64();
        break;
      case 2 * 8 + 1:
        this.count = reader.double();
        this.isInteger = false;
        break;
      case 3 * 8 + 1:
        this.readSum(reader, view);
        break;
      case 4 * 8:
        this.schema = reader.sint64();
        break;
      case 5 * 8 + 1:
        this.zeroThreshold = reader.double();
        break;
      case 6 * 8:
        this.zeroCount = reader.uint64();
        break;
      case 7 * 8 + 1:
        this.zeroCount = reader.double();
        break;
      case 8 * 8 + 2:
        this.negative.readSpan(reader.message());
        break;
      case 11 * 8 + 2:
        this.positive.readSpan(reader.message());
        break;
      case 14 * 8:
        this.resetHint = resetHints[reader.int64()] ?? "unknown";
        break;
      case 15 * 8:
        this.timeMs = reader.int64();
        break;
      case 17 * 8:
        this.startMs = reader.int64();
        break;
      default:
        this.#repeated(reader);
    }
  }

  /** Reads repeated fields, packed or not. */
  #repeated(reader: ProtoReader): void {
    if (reader.field === 9) this.negative.readDeltas(reader);
    else if (reader.field === 10) this.negative.readCounts(reader);
    else if (reader.field === 12) this.positive.readDeltas(reader);
    else if (reader.field === 13) this.positive.readCounts(reader);
    else if (reader.field === 16) this.readBounds(reader);
    else reader.skip();
  }
}

export interface ExemplarParts {
  value: number;
  timeMs: number;
}

/** Reads an exemplar without its labels, which 1.0 contains and 2.0 references. */
export function readExemplar(
  reader: ProtoReader,
  readLabels: (reader: ProtoReader) => void,
): ExemplarParts {
  const parts: ExemplarParts = { value: 0, timeMs: 0 };
  while (reader.next()) {
    if (reader.field === 1) readLabels(reader);
    else if (reader.field === 2 && reader.wireType === 1) parts.value = reader.double();
    else if (reader.field === 3 && reader.wireType === 0) parts.timeMs = reader.int64();
    else reader.skip();
  }
  return parts;
}
