/** Writes a block from an epoch of the head or from other blocks; sealing and compaction share this loop. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { notWhole } from "../codec/encode.ts";
import {
  type ColumnSource,
  type SeriesPieces,
  SeriesPieces as PieceList,
} from "../column-source.ts";
import { ColumnBuffer, concatTimes, concatValues, mergePieces } from "../merge.ts";
import { concatWholes } from "../wholes.ts";
import { BlockWriter, type WrittenBlock } from "./writer.ts";

export interface PieceSource extends ColumnSource {
  collect(ref: number, fromMs: number, toMs: number, pieces: SeriesPieces): void;
}

export interface BuildOrder {
  readonly file: string;
  readonly id: number;
  readonly level: number;
  /** The series in the order of their columns: similar ones next to each other compress best. */
  readonly refs: Uint32Array;
  /** Samples before this are past retention and left out. */
  readonly notBeforeMs: number;
  /** Samples in the sources if none are left out; the build fails if it finds fewer. */
  readonly expectedSamples: number | undefined;
  /** Maximum time of one slice before yielding, if the thread is shared. */
  readonly sliceMs: number;
  /** True to write fast instead of small. */
  readonly isBrief: boolean;
}

export async function buildBlock(
  sources: readonly PieceSource[],
  order: BuildOrder,
  nowMs: () => number,
): Promise<WrittenBlock> {
  const writer = new BlockWriter(order.file, order.isBrief);
  try {
    const builder = new ColumnBuilder(writer, sources, order.notBeforeMs);
    let until = nowMs() + order.sliceMs;
    for (let i = 0; i < order.refs.length; i++) {
      builder.add(order.refs[i] as number);
      if (nowMs() < until) continue;
      await nextTurn();
      until = nowMs() + order.sliceMs;
    }
    if (order.expectedSamples !== undefined && builder.found !== order.expectedSamples)
      throw new Error(
        `a block was not written: ${builder.found} of ${order.expectedSamples} samples were found`,
      );
    return writer.finish(order.id, order.level);
  } catch (thrown) {
    writer.abandon();
    throw thrown;
  }
}

class ColumnBuilder {
  readonly #writer: BlockWriter;
  readonly #sources: readonly PieceSource[];
  readonly #notBeforeMs: number;
  readonly #pieces = new PieceList();
  readonly #column = new ColumnBuffer();
  /** Timebases by the pieces they came from: consecutive series of one scrape have the same pieces. */
  readonly #known = new Map<string, number>();
  /** Samples in the sources, before deduplication by timestamp. */
  found = 0;

  constructor(writer: BlockWriter, sources: readonly PieceSource[], notBeforeMs: number) {
    this.#writer = writer;
    this.#sources = sources;
    this.#notBeforeMs = notBeforeMs;
  }

  add(ref: number): void {
    const pieces = this.#pieces;
    pieces.clear();
    for (const source of this.#sources) source.collect(ref, this.#notBeforeMs, Infinity, pieces);
    if (pieces.length === 0) return;
    this.found += pieces.samples;
    pieces.sort();
    const column = this.#column;
    const cut = (pieces.minTimes[0] as number) < this.#notBeforeMs;
    if (pieces.needsMerge || cut) {
      mergePieces(pieces, column);
      if (cut) this.#cut();
      if (column.n === 0) return;
      const timebase = this.#writer.timebase(column.times, column.n);
      this.#writer.column(ref, timebase, column);
      return;
    }
    const exponent = concatWholes(pieces, column);
    if (exponent === notWhole) concatValues(pieces, column);
    this.#writer.column(ref, this.#timebase(), column, exponent);
  }

  #cut(): void {
    const column = this.#column;
    let from = 0;
    while (from < column.n && (column.times[from] as number) < this.#notBeforeMs) from++;
    column.times.copyWithin(0, from, column.n);
    column.words.copyWithin(0, from * 2, column.n * 2);
    column.n -= from;
  }

  #timebase(): number {
    const pieces = this.#pieces;
    let key = "";
    for (let i = 0; i < pieces.length; i++)
      key += `${this.#sources.indexOf(pieces.sources[i] as PieceSource)}:${pieces.timebases[i]}:${pieces.counts[i]} `;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const n = concatTimes(pieces, this.#column.times);
    const timebase = this.#writer.timebase(this.#column.times, n);
    if (this.#known.size > 4096) this.#known.clear();
    this.#known.set(key, timebase);
    return timebase;
  }
}
