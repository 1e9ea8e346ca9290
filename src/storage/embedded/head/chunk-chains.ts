/**
 * One chunk sequence per series: an open chunk of plain values, and a chain of compressed full ones. Samples are in order
 * within a chunk; a sample older than the open chunk's last begins a new chunk. There is no object per series or chunk.
 *
 * A full chunk in the arena: u32 address of the previous chunk + 1 (0: none), u32 timebase, u32 samples, then a column (codec/encode.ts).
 */
import type { Histogram } from "../../../model/histogram/histogram.ts";
import { clearHistogramWords, histogramHigh } from "../../../model/histogram/word.ts";
import { encodedBound, encodeColumn } from "../codec/encode.ts";
import { encodeHistograms } from "../codec/histogram-encode.ts";
import { Bytes } from "../slab/bytes.ts";
import { GrowableFloat64, GrowableUint32, GrowableUint8 } from "../slab/growable.ts";
import { type Arena, arenaOffset, arenaSlab, writeWord } from "./arena.ts";
import type { OpenHistograms } from "./open-histograms.ts";
import { chunkSamples, type Timebases } from "./timebases.ts";
import type { EncodedHistograms, WalSampleColumns } from "../wal/records.ts";

export const chunkHeaderBytes = 12;
export const openPerSlab = 16_384;
const slabShift = 14;
const slabMask = openPerSlab - 1;
const encoded = new Bytes();
const chunkWords = new Uint32Array(chunkSamples * 2);

/** The fields that a worker needs to read it. `slot` and `chain` are numbers plus one, 0 for none. */
export interface ChunkChainsView {
  readonly slot: Uint32Array;
  readonly count: Uint8Array;
  readonly timebase: Uint32Array;
  readonly chain: Uint32Array;
  readonly open: readonly Float64Array[];
  /** The newest timestamp of each series plus one, if chunks may overlap; otherwise the last chunk of the chain has it. */
  readonly newest: Float64Array | undefined;
}

export class ChunkChains {
  readonly #arena: Arena;
  readonly #timebases: Timebases;
  readonly #slot = new GrowableUint32();
  readonly #count = new GrowableUint8();
  readonly #timebase = new GrowableUint32();
  readonly #chain = new GrowableUint32();
  readonly #open: Float64Array[] = [];
  readonly #openWords: Uint32Array[] = [];
  readonly #histograms: OpenHistograms;
  /** Series whose open chunk has a native histogram; the words of histograms are addresses. */
  readonly #withHistograms = new Set<number>();
  #slots = 0;
  #closed = 0;

  readonly #newest: GrowableFloat64 | undefined;

  /** @param ordered true if no sample is older than the newest of its series */
  constructor(arena: Arena, timebases: Timebases, histograms: OpenHistograms, ordered: boolean) {
    this.#arena = arena;
    this.#timebases = timebases;
    this.#histograms = histograms;
    this.#newest = ordered ? undefined : new GrowableFloat64();
  }

  /**
   * Appends sample `i` of a batch. `words` is the same memory as `values`: a NaN payload may not survive a conversion to
   * a number.
   */
  append(columns: WalSampleColumns, i: number): void {
    const { refs, times, values, words } = columns;
    const ref = refs[i] as number;
    const timeMs = times[i] as number;
    if (ref >= this.#slot.array.length) this.#reach(ref);
    if (this.#newest !== undefined && timeMs >= this.#newest.at(ref))
      this.#newest.put(ref, timeMs + 1);
    let n = this.#count.array[ref] as number;
    if (n > 0) {
      const timebase = this.#timebase.array[ref] as number;
      if (n === chunkSamples || !this.#timebases.isBefore(timebase, n - 1, times, i)) {
        this.#close(ref, n);
        n = 0;
      } else {
        this.#timebase.array[ref] = this.#timebases.extend(timebase, n, times, i);
      }
    }
    if (n === 0) {
      if (this.#slot.array[ref] === 0) this.#slot.array[ref] = this.#newSlot() + 1;
      this.#timebase.array[ref] = this.#timebases.start(times, i);
    }
    const slot = (this.#slot.array[ref] as number) - 1;
    const place = (slot & slabMask) * chunkSamples + n;
    const value = values[i] as number;
    if (value === value) (this.#open[slot >>> slabShift] as Float64Array)[place] = value;
    else {
      const open = this.#openWords[slot >>> slabShift] as Uint32Array;
      open[place * 2] = words[i * 2] as number;
      open[place * 2 + 1] = words[i * 2 + 1] as number;
      if (words[i * 2 + 1] === histogramHigh)
        this.#openHistogram(ref, open, place, columns.encoded);
    }
    this.#count.array[ref] = n + 1;
  }

  view(): ChunkChainsView {
    return {
      slot: this.#slot.array,
      count: this.#count.array,
      timebase: this.#timebase.array,
      chain: this.#chain.array,
      open: this.#open,
      newest: this.#newest?.array,
    };
  }

  /** Number of series with samples. */
  get series(): number {
    return this.#slots;
  }

  /** Number of chunks, including open ones. */
  get chunks(): number {
    return this.#slots + this.#closed;
  }

  get byteLength(): number {
    return this.#slots * chunkSamples * 8 + this.#slot.byteLength * 3 + this.#count.byteLength;
  }

  #close(ref: number, n: number): void {
    const slot = (this.#slot.array[ref] as number) - 1;
    const isMixed = this.#withHistograms.size > 0 && this.#withHistograms.delete(ref);
    if (isMixed) this.#encodeMixed(slot, n);
    const address = this.#arena.place(
      chunkHeaderBytes + (isMixed ? encoded.length : encodedBound(n)),
    );
    const slab = arenaSlab(this.#arena, address);
    const at = arenaOffset(address);
    writeWord(slab, at, this.#chain.array[ref] as number);
    writeWord(slab, at + 4, this.#timebase.array[ref] as number);
    writeWord(slab, at + 8, n);
    if (isMixed) slab.set(encoded.used, at + chunkHeaderBytes);
    const end = isMixed
      ? at + chunkHeaderBytes + encoded.length
      : encodeColumn(
          this.#open[slot >>> slabShift] as Float64Array,
          this.#openWords[slot >>> slabShift] as Uint32Array,
          (slot & slabMask) * chunkSamples,
          n,
          slab,
          at + chunkHeaderBytes,
          false,
        );
    this.#arena.take(end - at);
    this.#closed++;
    this.#chain.array[ref] = address + 1;
  }

  /** Encodes a chunk with histograms and frees their memory. */
  #encodeMixed(slot: number, n: number): void {
    const open = this.#openWords[slot >>> slabShift] as Uint32Array;
    const from = (slot & slabMask) * chunkSamples * 2;
    chunkWords.set(open.subarray(from, from + n * 2));
    const histograms: Histogram[] = [];
    for (let i = 0; i < n; i++)
      if (chunkWords[i * 2 + 1] === histogramHigh)
        chunkWords[i * 2] =
          histograms.push(this.#histograms.take(chunkWords[i * 2] as number, histograms.at(-1))) -
          1;
    encoded.length = 0;
    encodeHistograms(chunkWords, 0, n, histograms, encoded, false);
  }

  /** Replaces the histogram's index in the word by its address. */
  #openHistogram(
    ref: number,
    open: Uint32Array,
    place: number,
    { bytes, starts }: EncodedHistograms,
  ): void {
    const number = open[place * 2] as number;
    if (number + 1 >= starts.length) return clearHistogramWords(open, place, place + 1);
    const [start, end] = [starts[number] as number, starts[number + 1] as number];
    open[place * 2] = this.#histograms.add(bytes, start, end);
    this.#withHistograms.add(ref);
  }

  #newSlot(): number {
    const slot = this.#slots++;
    if (slot >>> slabShift === this.#open.length) {
      const buffer = new SharedArrayBuffer(openPerSlab * chunkSamples * 8);
      this.#open.push(new Float64Array(buffer));
      this.#openWords.push(new Uint32Array(buffer));
    }
    return slot;
  }

  #reach(ref: number): void {
    this.#slot.reach(ref);
    this.#count.reach(ref);
    this.#timebase.reach(ref);
    this.#chain.reach(ref);
  }
}
