/**
 * The payloads of the write-ahead log's records.
 *
 *   segment: u8 4, 7 x u8 0, 16 bytes store id (ASCII), f64 segment number, f64 samples logged before it; opens each segment
 *            and carries the sequence number of the record after it
 *   series:  u8 1, varint count, then per series: varint ref, varint labels, per label: varint bytes, name, varint bytes, value
 *   samples: u8 3, u8 timestamps (0: one for all, 1: one each), u16 0, u32 n, f64 samples logged before it,
 *            f64 x (1 or n) timestamps in ms, n x 8 bytes raw values, n x u32 refs
 *            (u8 2: the same without the count, from older versions)
 *   samples with native histograms: u8 5, the same, then varint count, and each histogram (codec/histogram-bytes.ts). A value
 *            with the high word of a histogram (model/histogram/word.ts) refers to the histogram with the index in its low word
 */
import type { Histogram } from "../../../model/histogram/histogram.ts";
import { histogramHigh } from "../../../model/histogram/word.ts";
import type { Label, LabelSet } from "../../../model/labels.ts";
import { readHistogram, writeHistogram } from "../codec/histogram-bytes.ts";
import { readVarint, writeVarint } from "../codec/varint.ts";
import type { Bytes } from "../slab/bytes.ts";

const typeSeries = 1;
const typeUncountedSamples = 2;
const typeSamples = 3;
const typeSegment = 4;
const typeHistograms = 5;
const samplesHeader = 16;
const uncountedHeader = 8;
const storeIdBytes = 16;
export const segmentPayloadBytes = 40;

export interface WalSampleColumns {
  readonly n: number;
  readonly refs: Uint32Array;
  readonly times: Float64Array;
  /** `values` and `words` are the same memory; `words` preserves NaN payloads. */
  readonly values: Float64Array;
  readonly words: Uint32Array;
  /** Native histograms, indexed by the histogram words. */
  readonly histograms: readonly Histogram[];
  /** The encoded histograms, set once they are in the log. */
  encoded: EncodedHistograms;
}

/** Histograms as bytes (codec/histogram-bytes.ts): histogram i is from `starts[i]` to `starts[i + 1]`. */
export interface EncodedHistograms {
  readonly bytes: Uint8Array;
  readonly starts: Uint32Array;
}

export const noHistograms: EncodedHistograms = {
  bytes: new Uint8Array(0),
  starts: new Uint32Array(0),
};

export const samplesBound = (n: number): number => samplesHeader + 8 * n + 8 * n + 4 * n;

export interface SegmentHeader {
  readonly storeId: string;
  readonly segment: number;
  readonly samplesBefore: number;
}

export function writeSegmentHeader(bytes: Buffer, at: number, header: SegmentHeader): number {
  bytes.fill(0, at, at + segmentPayloadBytes);
  bytes[at] = typeSegment;
  bytes.write(header.storeId, at + 8, storeIdBytes, "latin1");
  bytes.writeDoubleLE(header.segment, at + 24);
  bytes.writeDoubleLE(header.samplesBefore, at + 32);
  return segmentPayloadBytes;
}

/** Returns undefined for a record of another kind. */
export function readSegmentHeader(payload: Buffer): SegmentHeader | undefined {
  if (payload[0] !== typeSegment || payload.length !== segmentPayloadBytes) return undefined;
  return {
    storeId: payload.toString("latin1", 8, 8 + storeIdBytes),
    segment: payload.readDoubleLE(24),
    samplesBefore: payload.readDoubleLE(32),
  };
}

/** The number of samples logged before a record, and in it; undefined if the record does not contain it. */
export function countSamples(payload: Buffer): { before?: number; count: number } {
  if (isCounted(payload) && payload.length >= samplesHeader)
    return { before: payload.readDoubleLE(8), count: payload.readUInt32LE(4) };
  if (payload[0] === typeUncountedSamples && payload.length >= uncountedHeader)
    return { count: payload.readUInt32LE(4) };
  return { count: 0 };
}

const isCounted = (payload: Buffer): boolean =>
  payload[0] === typeSamples || payload[0] === typeHistograms;

/** Writes the end of a samples record with native histograms. */
export function writeHistograms(out: Bytes, histograms: readonly Histogram[]): EncodedHistograms {
  const starts = new Uint32Array(histograms.length + 1);
  out.varint(histograms.length);
  for (let at = 0; at < histograms.length; at++) {
    starts[at] = out.length;
    writeHistogram(out, histograms[at] as Histogram);
  }
  starts[histograms.length] = out.length;
  return { bytes: out.array, starts };
}

/** Writes to `at`, a multiple of 8 in `bytes`, and returns the payload's length; `histograms` are its end. */
export function writeSamples(
  bytes: Buffer,
  at: number,
  { n, ...columns }: WalSampleColumns,
  samplesBefore: number,
  histograms: Uint8Array,
): number {
  const { times, words, refs } = columns;
  let same = true;
  for (let i = 1; same && i < n; i++) same = times[i] === times[0];
  bytes[at] = histograms.length === 0 ? typeSamples : typeHistograms;
  bytes[at + 1] = same ? 0 : 1;
  bytes.writeUInt16LE(0, at + 2);
  bytes.writeUInt32LE(n, at + 4);
  bytes.writeDoubleLE(samplesBefore, at + 8);
  let end = bytes.byteOffset + at + samplesHeader;
  const instants = same ? 1 : n;
  new Float64Array(bytes.buffer, end, instants).set(times.subarray(0, instants));
  end += instants * 8;
  new Uint32Array(bytes.buffer, end, n * 2).set(words.subarray(0, n * 2));
  end += n * 8;
  new Uint32Array(bytes.buffer, end, n).set(refs.subarray(0, n));
  end += n * 4 - bytes.byteOffset;
  bytes.set(histograms, end);
  return end + histograms.length - at;
}

export function seriesBound(labels: readonly LabelSet[]): number {
  let bytes = 16;
  for (const set of labels) {
    bytes += 16;
    for (const [name, value] of set) bytes += 16 + 3 * (name.length + value.length);
  }
  return bytes;
}

export function writeSeries(
  bytes: Buffer,
  at: number,
  refs: readonly number[],
  labels: readonly LabelSet[],
): number {
  let end = at;
  bytes[end++] = typeSeries;
  end = writeVarint(bytes, end, refs.length);
  const text = (value: string): void => {
    end = writeVarint(bytes, end, Buffer.byteLength(value));
    end += bytes.write(value, end, "utf8");
  };
  refs.forEach((ref, i) => {
    const set = labels[i] ?? [];
    end = writeVarint(bytes, end, ref);
    end = writeVarint(bytes, end, set.length);
    for (const [name, value] of set) {
      text(name);
      text(value);
    }
  });
  return end - at;
}

export interface RecordHandler {
  series(ref: number, labels: LabelSet): void;
  samples(columns: WalSampleColumns): void;
}

/** Reads a payload with a valid checksum. Throws a RangeError for one from a newer version, or with undetected damage. */
export function readRecord(payload: Buffer, handler: RecordHandler): void {
  if (payload[0] === typeSeries) readSeries(payload, handler);
  else if (isCounted(payload)) readSamples(payload, samplesHeader, handler);
  else if (payload[0] === typeUncountedSamples) readSamples(payload, uncountedHeader, handler);
  else throw new RangeError(`record type ${payload[0]} is not known`);
}

function readSeries(payload: Buffer, handler: RecordHandler): void {
  const cursor = { at: 1 };
  const text = (): string => {
    const length = readVarint(payload, cursor);
    const from = cursor.at;
    cursor.at += length;
    if (cursor.at > payload.length) throw new RangeError("a label runs past the end");
    return payload.toString("utf8", from, cursor.at);
  };
  const count = readVarint(payload, cursor);
  for (let i = 0; i < count; i++) {
    const ref = readVarint(payload, cursor);
    const labels: Label[] = [];
    for (let left = readVarint(payload, cursor); left > 0; left--) labels.push([text(), text()]);
    handler.series(ref, labels);
  }
}

function readSamples(payload: Buffer, headerBytes: number, handler: RecordHandler): void {
  if (payload.length < headerBytes) throw new RangeError("a record of samples has no header");
  const n = payload.readUInt32LE(4);
  const instants = payload[1] === 0 ? Math.min(1, n) : n;
  if (payload.length < headerBytes + instants * 8 + n * 12)
    throw new RangeError("a record of samples is shorter than its header states");
  const at = payload.byteOffset + headerBytes;
  const given = new Float64Array(payload.buffer, at, instants);
  const valuesAt = at + instants * 8;
  const words = new Uint32Array(payload.buffer, valuesAt, n * 2);
  handler.samples({
    n,
    ...(payload[0] === typeHistograms
      ? readHistograms(payload, headerBytes + instants * 8 + n * 12, words)
      : { histograms: [], encoded: noHistograms }),
    times: payload[1] === 0 ? new Float64Array(n).fill(given[0] ?? 0) : given,
    values: new Float64Array(payload.buffer, valuesAt, n),
    words,
    refs: new Uint32Array(payload.buffer, valuesAt + n * 8, n),
  });
}

/** Every histogram word must have its histogram: a record is valid or lost as a whole. */
function readHistograms(
  payload: Buffer,
  at: number,
  words: Uint32Array,
): Pick<WalSampleColumns, "histograms" | "encoded"> {
  const cursor = { at };
  const histograms: Histogram[] = [];
  const starts: number[] = [];
  for (let left = readVarint(payload, cursor); left > 0; left--) {
    starts.push(cursor.at);
    histograms.push(readHistogram(payload, cursor));
  }
  starts.push(cursor.at);
  for (let i = 0; i < words.length; i += 2)
    if (words[i + 1] === histogramHigh && (words[i] as number) >= histograms.length)
      throw new RangeError("a record of samples lacks a histogram");
  return { histograms, encoded: { bytes: payload, starts: Uint32Array.from(starts) } };
}
