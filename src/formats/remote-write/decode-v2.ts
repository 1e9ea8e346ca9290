/**
 * Decodes Prometheus remote-write 2.0 into columns: strings are in a symbol table, and series reference it. No object per sample,
 * every read bounds-checked.
 *
 *   Request    { repeated string symbols = 4; repeated TimeSeries timeseries = 5; }
 *   TimeSeries { repeated uint32 labels_refs = 1; repeated Sample samples = 2; repeated Histogram histograms = 3;
 *                repeated Exemplar exemplars = 4; Metadata metadata = 5; int64 created_timestamp = 6; }
 *   Sample     { double value = 1; int64 timestamp = 2; int64 start_timestamp = 3; }
 *   Exemplar   { repeated uint32 labels_refs = 1; double value = 2; int64 timestamp = 3; }; Histogram: decode-histogram.ts
 *   Metadata   { MetricType type = 1; uint32 help_ref = 3; uint32 unit_ref = 4; }
 */
import type { Exemplar } from "../../model/exemplar.ts";
import { checkHistogram, isFault } from "../../model/histogram/check.ts";
import type { Histogram } from "../../model/histogram/histogram.ts";
import type { Label } from "../../model/labels.ts";
import { ProtoError, ProtoReader } from "../protobuf/reader.ts";
import type { Metadata, SampleBatch } from "../samples/batch.ts";
import { readExemplar, RemoteWriteHistogram } from "./decode-histogram.ts";
import {
  isPlainSample,
  metricTypes,
  plainSampleBytes,
  plainTimeMs,
  readSample,
  SymbolTable,
} from "./decode-parts.ts";
import { LabelBlockWriter } from "../samples/block.ts";
import { BatchBuilder } from "../samples/builder.ts";
import { BatchTooLargeError, maxBatchLabelBytes, maxBatchSeries } from "../samples/labels.ts";

/* Type, help and unit, which remote-write 2.0 repeats with every series, collected once per family. */

const metricName = new TextEncoder().encode("__name__");
const suffixes: Readonly<Record<string, RegExp>> = {
  histogram: /_(bucket|count|sum)$/,
  gaugehistogram: /_(bucket|gcount|gsum)$/,
  summary: /_(count|sum)$/,
};

class FamilyMetadataTable {
  readonly #symbols: SymbolTable;
  /** Keyed by the reference to the metric's name: most series of a request share it with others. */
  readonly #byName = new Map<number, Metadata | undefined>();

  constructor(symbols: SymbolTable) {
    this.#symbols = symbols;
  }

  learn(reader: ProtoReader, refs: Uint32Array, refCount: number): void {
    const name = this.#nameOf(refs, Math.min(refCount, refs.length));
    if (name === undefined || this.#byName.has(name)) return;
    let [type, help, unit] = [0, 0, 0];
    while (reader.next()) {
      if (reader.wireType !== 0) reader.skip();
      else if (reader.field === 1) type = reader.int64();
      else if (reader.field === 3) help = reader.int64();
      else if (reader.field === 4) unit = reader.int64();
      else reader.skip();
    }
    const metadata = {
      type: metricTypes[type] ?? "unknown",
      help: this.#symbols.text(help) ?? "",
      unit: this.#symbols.text(unit) ?? "",
    };
    const known = type !== 0 || metadata.help !== "" || metadata.unit !== "";
    const family = (this.#symbols.text(name) ?? "").replace(suffixes[metadata.type] ?? /$^/, "");
    this.#byName.set(name, known ? { family, ...metadata } : undefined);
  }

  list(): readonly Metadata[] {
    const families = new Map<string, Metadata>();
    for (const metadata of this.#byName.values())
      if (metadata !== undefined) families.set(metadata.family, metadata);
    return [...families.values()];
  }

  #nameOf(refs: Uint32Array, count: number): number | undefined {
    for (let i = 0; i + 1 < count; i += 2)
      if (this.#symbols.is(refs[i] as number, metricName)) return refs[i + 1];
    return undefined;
  }
}

const sampleTag = 0x12;
/** Twice the label limit of a series; a series with more is rejected when its labels are read. */
const maxRefs = 512;

interface DecodedV2 {
  readonly batch: SampleBatch;
  /** Why some series have no labels in the batch: their references are invalid. */
  readonly problem: string | undefined;
}

export interface DecodeV2Options {
  /** Limit of buckets of a native histogram; 0 for none. */
  readonly bucketLimit?: number | undefined;
  /** True if start times are collected. */
  readonly usesStarts?: boolean | undefined;
}

/** @throws ProtoError if the bytes are not a Request. */
export function decodeWriteRequestV2(bytes: Uint8Array, options: DecodeV2Options = {}): DecodedV2 {
  const symbols = new SymbolTable(bytes);
  const reader = new ProtoReader(bytes, 0, bytes.length);
  while (reader.next()) {
    if (reader.field !== 4 || reader.wireType !== 2) reader.skip();
    else {
      const end = reader.payloadEnd();
      symbols.add(reader.position, end);
      reader.passTo(end);
    }
  }
  const decoder = new SeriesDecoder(bytes, symbols, options);
  const again = new ProtoReader(bytes, 0, bytes.length);
  while (again.next()) {
    if (again.field !== 5 || again.wireType !== 2) again.skip();
    else {
      const end = again.payloadEnd();
      decoder.read(again.position, end);
      again.passTo(end);
    }
  }
  return decoder.finish();
}

class SeriesDecoder {
  readonly #bytes: Uint8Array;
  readonly #view: DataView;
  readonly #symbols: SymbolTable;
  readonly #builder = new BatchBuilder(maxBatchLabelBytes);
  readonly #block = new LabelBlockWriter();
  readonly #families: FamilyMetadataTable;
  readonly #refs = new Uint32Array(maxRefs);
  readonly #options: DecodeV2Options;
  #refCount = 0;
  /** The last sample of this series, to which a start time of the whole series applies. */
  #lastMs = 0;
  #lastHistogram: Histogram | undefined;
  #createdMs = 0;
  #problem: string | undefined;

  constructor(bytes: Uint8Array, symbols: SymbolTable, options: DecodeV2Options) {
    this.#options = options;
    this.#bytes = bytes;
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#symbols = symbols;
    this.#families = new FamilyMetadataTable(symbols);
  }

  read(start: number, end: number): void {
    const bytes = this.#bytes;
    const builder = this.#builder;
    // The series is added at the end, when all its labels are known, so that the order of its fields does not matter.
    const series = builder.seriesCount;
    if (series >= maxBatchSeries) throw new BatchTooLargeError();
    this.#refCount = 0;
    this.#createdMs = 0;
    this.#lastMs = 0;
    this.#lastHistogram = undefined;
    let metadata: ProtoReader | undefined;
    for (let at = start; at < end;) {
      if (bytes[at] === sampleTag && isPlainSample(bytes, at, end)) {
        this.#lastMs = plainTimeMs(bytes, at + 12);
        this.#add(series, this.#lastMs, at + 3);
        at += plainSampleBytes;
        continue;
      }
      const reader = new ProtoReader(bytes, at, end);
      reader.next();
      if (reader.field === 5 && reader.wireType === 2) metadata = reader.message();
      else this.#field(reader, series);
      at = reader.position;
    }
    this.#close();
    this.#start(series, this.#createdMs, this.#lastMs, this.#lastHistogram);
    if (metadata !== undefined) this.#families.learn(metadata, this.#refs, this.#refCount);
  }

  finish(): DecodedV2 {
    for (const metadata of this.#families.list()) this.#builder.learn(metadata);
    return { batch: this.#builder.finish(), problem: this.#problem };
  }

  #field(reader: ProtoReader, series: number): void {
    const { field, wireType } = reader;
    if (field === 1 && wireType === 0) this.#ref(reader.int64());
    else if (field === 6 && wireType === 0) this.#createdMs = reader.int64();
    else if (wireType !== 2) reader.skip();
    else if (field === 1) this.#packedRefs(reader);
    else if (field === 2) {
      const { timeMs, valueAt, startMs } = readSample(reader.message());
      this.#add(series, timeMs, valueAt);
      this.#start(series, startMs, timeMs, undefined);
      this.#lastMs = timeMs;
    } else if (field === 3) this.#histogram(series, reader.message());
    else if (field === 4) {
      const exemplar = reader.message();
      this.#builder.readExemplar(series, () => this.#exemplar(exemplar));
    } else reader.skip();
  }

  #histogram(series: number, reader: ProtoReader): void {
    const read = new RemoteWriteHistogram().read(reader, this.#view);
    this.#lastMs = read.timeMs;
    if (read.isStale) return this.#builder.addStale(series, read.timeMs);
    const checked = checkHistogram(read, this.#options.bucketLimit, this.#lastHistogram);
    this.#builder.addChecked(series, read.timeMs, checked);
    if (isFault(checked)) return;
    this.#lastHistogram = checked;
    this.#start(series, read.startMs, read.timeMs, checked);
  }

  #exemplar(reader: ProtoReader): Exemplar {
    const refs: number[] = [];
    const parts = readExemplar(reader, (field) => {
      if (field.wireType === 0) refs.push(field.int64());
      else if (field.wireType !== 2) field.skip();
      else {
        const packed = field.message();
        while (packed.hasMore) refs.push(packed.int64());
      }
    });
    const labels: Label[] = [];
    for (let at = 0; at < refs.length; at += 2) {
      const [name, value] = [refs[at], refs[at + 1]].map((ref) => this.#symbols.text(ref ?? -1));
      if (name === undefined || name === "" || value === undefined)
        throw new ProtoError("a label of an exemplar points to no symbol");
      labels.push([name, value]);
    }
    return { labels, ...parts };
  }

  /** A start time of 0 means unknown. */
  #start(
    series: number,
    startMs: number,
    sampleMs: number,
    histogram: Histogram | undefined,
  ): void {
    if (startMs > 0 && sampleMs > 0 && this.#options.usesStarts === true)
      this.#builder.addStart({ series, startMs, sampleMs, histogram });
  }

  #packedRefs(reader: ProtoReader): void {
    const end = reader.payloadEnd();
    const bytes = this.#bytes;
    let at = reader.position;
    while (at < end) {
      let value = 0;
      let shift = 0;
      for (;;) {
        const byte = bytes[at++] as number;
        if (at > end) throw new ProtoError("a reference is cut short");
        value += (byte & 0x7f) * 2 ** shift;
        if (byte < 0x80) break;
        shift += 7;
        if (shift > 28) throw new ProtoError("a reference is too large");
      }
      this.#ref(value);
    }
    reader.passTo(end);
  }

  #ref(ref: number): void {
    if (this.#refCount < maxRefs) this.#refs[this.#refCount] = ref;
    this.#refCount++;
  }

  #add(series: number, timeMs: number, valueAt: number): void {
    // In protobuf a missing value is 0.
    if (valueAt < 0) this.#builder.add(series, timeMs, 0);
    else
      this.#builder.addBits(
        series,
        timeMs,
        this.#view.getUint32(valueAt, true),
        this.#view.getUint32(valueAt + 4, true),
      );
  }

  /** A series with invalid references has no labels: the receiver rejects it and stores the others. */
  #close(): void {
    const block = this.#block;
    block.clear();
    const problem = this.#symbols.encode(this.#refs, this.#refCount, block);
    if (problem !== undefined) this.#problem ??= problem;
    this.#builder.rawSeries(block.bytes, 0, problem === undefined ? block.length : 0);
  }
}
