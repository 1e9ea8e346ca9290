/** Reads an epoch, in the thread that fills it or in another one, from shared memory only. */
import type { Histogram } from "../../../model/histogram/histogram.ts";
import { histogramHigh } from "../../../model/histogram/word.ts";
import { mayHoldNaN } from "../codec/encode.ts";
import { decodeSamples } from "../codec/histogram-decode.ts";
import {
  type ColumnSource,
  type SeriesPieces,
  SeriesPieces as PieceList,
} from "../column-source.ts";
import { arenaOffset, arenaSlab, readWord } from "./arena.ts";
import type { EpochView } from "./epoch.ts";
import { type ChunkChainsView, chunkHeaderBytes, openPerSlab } from "./chunk-chains.ts";
import { openHistogram } from "./open-histograms.ts";
import { chunkSamples, copyTimes, timeOf } from "./timebases.ts";

/** Addresses from here on refer to open chunks: of the in-order chains, then of the out-of-order ones. */
const openInOrder = 2 ** 33;
const openLate = 2 ** 34;

const scratch = new PieceList();

export class EpochSource implements ColumnSource {
  readonly #epoch: { view(): EpochView };

  /** Requests the view at every step, because an open epoch may have replaced the previous one. */
  constructor(epoch: { view(): EpochView }) {
    this.#epoch = epoch;
  }

  get #view(): EpochView {
    return this.#epoch.view();
  }

  /** Adds the pieces of a series that may hold a sample in the range. */
  collect(ref: number, fromMs: number, toMs: number, pieces: SeriesPieces): void {
    const { inOrder, late } = this.#view;
    this.#collectLane(inOrder, openInOrder, ref, fromMs, toMs, pieces);
    if (late !== undefined) this.#collectLane(late, openLate, ref, fromMs, toMs, pieces);
  }

  /** Time between the two newest in-order samples of a series; undefined if the epoch has fewer than two. */
  newestIntervalMs(ref: number): number | undefined {
    const { inOrder, timebases, arena } = this.#view;
    const count = inOrder.count[ref] ?? 0;
    if (count === 0) return undefined;
    const timebase = inOrder.timebase[ref] as number;
    const newestMs = timeOf(timebases, timebase, count - 1);
    if (count > 1) return newestMs - timeOf(timebases, timebase, count - 2);
    const before = (inOrder.chain[ref] as number) - 1;
    if (before < 0) return undefined;
    const [slab, at] = [arenaSlab(arena, before), arenaOffset(before)];
    return newestMs - timeOf(timebases, readWord(slab, at + 4), readWord(slab, at + 8) - 1);
  }

  /** True if the series has a piece that reaches into the range. */
  has(ref: number, fromMs: number, toMs: number): boolean {
    scratch.clear();
    this.collect(ref, fromMs, toMs, scratch);
    return scratch.length > 0;
  }

  decode(
    address: number,
    count: number,
    values: Float64Array,
    words: Uint32Array,
    to: number,
    histograms: Histogram[],
  ): boolean {
    if (address >= openInOrder) {
      const chains = address >= openLate ? this.#view.late : this.#view.inOrder;
      const slot = address % openInOrder;
      const open = chains?.open[Math.floor(slot / openPerSlab)] as Float64Array;
      const from = (slot % openPerSlab) * chunkSamples;
      // Copies memory, so that a NaN payload is preserved.
      values.set(open.subarray(from, from + count), to);
      const { histograms: stored } = this.#view;
      for (let i = to; stored.slabs.length > 0 && i < to + count; i++)
        if (words[i * 2 + 1] === histogramHigh)
          words[i * 2] =
            histograms.push(openHistogram(stored, words[i * 2] as number, histograms.at(-1))) - 1;
      return true;
    }
    const slab = arenaSlab(this.#view.arena, address);
    const at = arenaOffset(address) + chunkHeaderBytes;
    decodeSamples(slab, at, count, values, words, to, histograms, "sent");
    return mayHoldNaN(slab[at] as number);
  }

  bytesOf(address: number): Uint8Array | undefined {
    return address >= openInOrder ? undefined : arenaSlab(this.#view.arena, address);
  }

  offsetOf(address: number): number {
    return arenaOffset(address) + chunkHeaderBytes;
  }

  times(timebase: number, count: number, out: Float64Array, to: number): void {
    copyTimes(this.#view.timebases, timebase, count, out, to);
  }

  findTime(timebase: number, count: number, timeMs: number): number {
    const { timebases } = this.#view;
    for (let i = 0; i < count; i++) if (timeOf(timebases, timebase, i) === timeMs) return i;
    return -1;
  }

  #collectLane(
    chains: ChunkChainsView,
    openBase: number,
    ref: number,
    fromMs: number,
    toMs: number,
    pieces: SeriesPieces,
  ): void {
    const { timebases, arena } = this.#view;
    const count = chains.count[ref] ?? 0;
    if (count === 0 || (chains.newest !== undefined && (chains.newest[ref] ?? 0) <= fromMs)) return;
    const start = pieces.length;
    let address = openBase + (chains.slot[ref] as number) - 1;
    let timebase = chains.timebase[ref] as number;
    let samples = count;
    let before = (chains.chain[ref] as number) - 1;
    for (;;) {
      const first = timeOf(timebases, timebase, 0);
      const last = timeOf(timebases, timebase, samples - 1);
      if (first <= toMs && last >= fromMs)
        pieces.push(this, address, timebase, samples, first, last);
      // If chunks do not overlap, all earlier ones are older than the range.
      if (before < 0 || (first <= fromMs && chains.newest === undefined)) break;
      address = before;
      const slab = arenaSlab(arena, address);
      const at = arenaOffset(address);
      timebase = readWord(slab, at + 4);
      samples = readWord(slab, at + 8);
      before = readWord(slab, at) - 1;
    }
    pieces.reverse(start);
  }
}
