/** Writes the rollups of a time range, one block per resolution, from the overlapping raw blocks. Runs in the store's worker. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { BlockWriter } from "../blocks/writer.ts";
import { notWhole } from "../codec/encode.ts";
import type { PieceSource } from "../blocks/build.ts";
import { SeriesPieces } from "../column-source.ts";
import { lowerBound } from "../index/postings.ts";
import { ColumnBuffer, concatTimes, concatValues, mergePieces } from "../merge.ts";
import { concatWholes } from "../wholes.ts";
import { columnRef, componentNames, resolutionsMs } from "./columns.ts";
import {
  bucketBounds,
  RollupEntries,
  summarizeEntries,
  summarizeSamples,
  summarizeWholes,
} from "./summarize.ts";

export interface RollupFile {
  readonly resolutionMs: number;
  readonly file: string;
  readonly id: number;
}

export interface RollupOrder {
  /** The range is (afterMs, toMs]; both are bucket boundaries. */
  readonly afterMs: number;
  readonly toMs: number;
  /** In the order of their columns. */
  readonly refs: Uint32Array;
  readonly files: readonly RollupFile[];
  /** Maximum time of one slice before yielding, if the thread is shared. */
  readonly sliceMs: number;
}

/** Returns the number of values written to each file. */
export async function buildRollups(
  sources: readonly PieceSource[],
  { afterMs, toMs, refs, files, sliceMs }: RollupOrder,
  nowMs: () => number,
): Promise<readonly number[]> {
  const writers: RollupWriter[] = [];
  try {
    for (const file of files) writers.push(new RollupWriter(file));
    const builder = new EntryBuilder(sources, afterMs, toMs);
    let until = nowMs() + sliceMs;
    for (const ref of refs) {
      if (builder.build(ref)) for (const writer of writers) writer.add(ref, builder);
      if (nowMs() < until) continue;
      await nextTurn();
      until = nowMs() + sliceMs;
    }
    return writers.map((writer) => writer.finish());
  } catch (thrown) {
    for (const writer of writers) writer.abandon();
    throw thrown;
  }
}

/** Number of timebases whose buckets are cached. */
const mostKnown = 256;

/** The timestamps of a series, and the ends of its buckets in the finest resolution. */
interface SampleBuckets {
  readonly times: Float64Array;
  readonly from: number;
  readonly bounds: Uint32Array;
}

/** Builds the entries of one series after another. */
class EntryBuilder {
  readonly #sources: readonly PieceSource[];
  readonly #afterMs: number;
  readonly #toMs: number;
  readonly #pieces = new SeriesPieces();
  readonly #column = new ColumnBuffer();
  readonly #known = new Map<string, SampleBuckets>();
  readonly #entries = resolutionsMs.map(() => new RollupEntries());

  constructor(sources: readonly PieceSource[], afterMs: number, toMs: number) {
    this.#sources = sources;
    this.#afterMs = afterMs;
    this.#toMs = toMs;
  }

  /** Returns false if the series has no samples in the range. */
  build(ref: number): boolean {
    const pieces = this.#pieces;
    pieces.clear();
    for (const source of this.#sources) source.collect(ref, this.#afterMs + 1, this.#toMs, pieces);
    if (pieces.length === 0) return false;
    pieces.sort();
    const column = this.#column;
    let buckets: SampleBuckets;
    if (pieces.needsMerge) {
      mergePieces(pieces, column);
      buckets = this.#bucketsOf(column.times, column.n);
      this.#summarize(column, buckets);
    } else {
      buckets = this.#sharedBuckets();
      if (!this.#summarizeWholes(buckets)) {
        concatValues(pieces, column);
        this.#summarize(column, buckets);
      }
    }
    if (buckets.bounds.length === 0) return false;
    resolutionsMs.forEach((resolutionMs, i) => {
      const finer = this.#entries[i - 1];
      if (finer !== undefined)
        summarizeEntries(finer, resolutionMs, this.#entries[i] as RollupEntries);
    });
    return true;
  }

  #summarize({ values, words }: ColumnBuffer, { times, from, bounds }: SampleBuckets): void {
    const [finest] = this.#entries;
    if (finest !== undefined) summarizeSamples({ values, words, times }, from, bounds, finest);
  }

  /** Returns false if the samples are not whole numbers, or too large. */
  #summarizeWholes({ times, from, bounds }: SampleBuckets): boolean {
    const [finest] = this.#entries;
    const exponent = concatWholes(this.#pieces, this.#column, from, bounds.at(-1));
    if (finest === undefined || exponent === notWhole) return false;
    return summarizeWholes(times, this.#column.values, from, bounds, exponent, finest);
  }

  /** Series scraped together have the same pieces with the same timebases, and so the same buckets. */
  #sharedBuckets(): SampleBuckets {
    const pieces = this.#pieces;
    let key = "";
    for (let i = 0; i < pieces.length; i++)
      key += `${this.#sources.indexOf(pieces.sources[i] as PieceSource)}:${pieces.timebases[i]} `;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const times = new Float64Array(pieces.samples);
    const found = this.#bucketsOf(times, concatTimes(pieces, times));
    if (this.#known.size >= mostKnown) this.#known.clear();
    this.#known.set(key, found);
    return found;
  }

  #bucketsOf(times: Float64Array, n: number): SampleBuckets {
    const from = lowerBound(times, 0, n, this.#afterMs + 1);
    const to = lowerBound(times, from, n, this.#toMs + 1);
    return { times, from, bounds: bucketBounds(times, from, to, resolutionsMs[0]) };
  }

  entries(resolutionMs: number): RollupEntries | undefined {
    return this.#entries[resolutionsMs.findIndex((one) => one === resolutionMs)];
  }
}

class RollupWriter {
  readonly #file: RollupFile;
  readonly #writer: BlockWriter;

  constructor(file: RollupFile) {
    this.#file = file;
    this.#writer = new BlockWriter(file.file, true);
  }

  add(ref: number, builder: EntryBuilder): void {
    const entries = builder.entries(this.#file.resolutionMs);
    if (entries === undefined || entries.n === 0) return;
    const { n, firstTimes, lastTimes } = entries;
    const last = this.#writer.timebase(lastTimes.values, n);
    const first = this.#writer.timebase(firstTimes.values, n);
    for (const name of componentNames) {
      const { values, words } = entries[name];
      const timebase = name === "first" ? first : last;
      const column = { values, words, n, histograms: [] };
      // Counts are never divided.
      const exponent = name === "count" ? Math.min(entries.exponent, 0) : entries.exponent;
      this.#writer.column(columnRef(ref, name), timebase, column, exponent);
    }
  }

  finish(): number {
    return this.#writer.finish(this.#file.id, 0).samples;
  }

  abandon(): void {
    this.#writer.abandon();
  }
}
