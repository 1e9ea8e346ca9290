/**
 * The series of a selection: their columns stay packed as they are in head and blocks, and are decoded one at a time on
 * access. A query over every series then needs the memory of one column, not of all. Packed bytes never change, so a
 * selection stays as it was, whatever is appended, sealed or deleted meanwhile.
 */
import type { LabelSet } from "../../model/labels.ts";
import { isStale } from "../../model/stale.ts";
import type { Histogram } from "../../model/histogram/histogram.ts";
import { histogramHigh } from "../../model/histogram/word.ts";
import { mayHoldNaN } from "./codec/encode.ts";
import { checkHints, decodeSamples } from "./codec/histogram-decode.ts";
import { histogramIn } from "./codec/histogram-encode.ts";
import type { SeriesPieces } from "./column-source.ts";
import type { SampleColumn, SelectBudget, SelectedSeries } from "../../model/select.ts";
import type { SharedTimes } from "./times-pool.ts";

/** Columns up to this length share one decode buffer across all selections; longer ones use a buffer of their selection. */
const sharedSamples = 65_536;
/** Marks a piece of an open chunk, whose values had to be copied. */
const copied = 0xffffffff;
/** Memory of a native histogram without its counts. */
const histogramBytes = 300;

/** Memory of decoded native histograms. */
export const bytesOfHistograms = (histograms: readonly Histogram[]): number =>
  histograms.reduce(
    (sum, { positive, negative }) =>
      sum + histogramBytes + 12 * (positive.counts.length + negative.counts.length),
    0,
  );

class DecodeBuffer {
  values: Float64Array;
  words: Uint32Array;
  #view: Float64Array;

  constructor(samples: number) {
    this.values = new Float64Array(samples);
    this.words = new Uint32Array(this.values.buffer);
    this.#view = this.values.subarray(0, 0);
  }

  /** Cached, because most columns of a selection have the same length. */
  view(samples: number): Float64Array {
    if (this.#view.length !== samples) this.#view = this.values.subarray(0, samples);
    return this.#view;
  }
}

let shared = new DecodeBuffer(1024);

export class PackedColumns {
  readonly #bytes: Uint8Array[] = [];
  readonly #known = new Map<Uint8Array, number>();
  /** Two numbers per piece: the index of its bytes, and the offset in them. */
  #where = new Uint32Array(256);
  #used = 0;
  #open = new Float64Array(64);
  #openWords = new Uint32Array(this.#open.buffer);
  #openUsed = 0;
  readonly #openHistograms: Histogram[] = [];
  #large: DecodeBuffer | undefined;
  readonly #budget: SelectBudget | undefined;

  constructor(budget?: SelectBudget) {
    this.#budget = budget;
  }

  /** Keeps a series' pieces, which must not overlap; returns their position for `read` and `peek`. */
  hold(pieces: SeriesPieces): number {
    const place = this.#used;
    if (place + pieces.length * 2 > this.#where.length) this.#grow(pieces.length * 2);
    for (let i = 0; i < pieces.length; i++) {
      const source = pieces.sources[i];
      const address = pieces.addresses[i] as number;
      const bytes = source?.bytesOf(address);
      const at = place + i * 2;
      if (source === undefined || bytes === undefined) {
        this.#where[at] = copied;
        this.#where[at + 1] = this.#copy(pieces, i);
      } else {
        this.#where[at] = this.#idOf(bytes);
        this.#where[at + 1] = source.offsetOf(address);
      }
    }
    this.#used = place + pieces.length * 2;
    return place;
  }

  /** Decodes into a buffer that the next call overwrites. */
  peek(held: number, times: SharedTimes): SampleColumn {
    const samples = times.to - times.from;
    if (samples > sharedSamples) {
      if (this.#large === undefined || this.#large.values.length < samples)
        this.#large = new DecodeBuffer(samples);
      return this.#read(held, times, this.#large);
    }
    if (shared.values.length < samples)
      shared = new DecodeBuffer(2 ** Math.ceil(Math.log2(samples)));
    return this.#read(held, times, shared);
  }

  /** Decodes into a new buffer. */
  read(held: number, times: SharedTimes): SampleColumn {
    return this.#read(held, times, new DecodeBuffer(times.to - times.from));
  }

  #read(held: number, { times, from, to, counts }: SharedTimes, place: DecodeBuffer): SampleColumn {
    const { values, words } = place;
    const histograms: Histogram[] = [];
    let [n, begin, odd] = [0, 0, false];
    for (let i = 0; i < counts.length && begin < to; i++) {
      const count = counts[i] as number;
      const first = Math.max(0, from - begin);
      const end = Math.min(count, to - begin);
      begin += count;
      if (end <= first) continue;
      const which = this.#where[held + i * 2] as number;
      const at = this.#where[held + i * 2 + 1] as number;
      if (which === copied) {
        // Copies memory, so that a NaN payload is preserved.
        values.set(this.#open.subarray(at + first, at + end), n);
        if (this.#openHistograms.length > 0) this.#listOpen(words, n, n + end - first, histograms);
        odd = true;
      } else {
        const bytes = this.#bytes[which] as Uint8Array;
        decodeSamples(bytes, at, count, values, words, n, histograms, "checked", first, end);
        odd ||= mayHoldNaN(bytes[at] as number);
      }
      n += end - first;
    }
    const column = { times, values: place.view(n) };
    return odd ? withMarks(column, words, histograms) : column;
  }

  #listOpen(words: Uint32Array, from: number, to: number, histograms: Histogram[]): void {
    for (let i = from; i < to; i++) {
      const histogram = histogramIn(words, i, this.#openHistograms);
      if (histogram !== undefined) words[i * 2] = histograms.push(histogram) - 1;
    }
  }

  #copy(pieces: SeriesPieces, i: number): number {
    const count = pieces.counts[i] as number;
    const at = this.#openUsed;
    if (at + count > this.#open.length) {
      const length = Math.max(this.#open.length * 2, at + count);
      this.#budget?.hold((length - this.#open.length) * 8);
      const larger = new Float64Array(length);
      larger.set(this.#open);
      this.#open = larger;
      this.#openWords = new Uint32Array(larger.buffer);
    }
    const words = this.#openWords;
    const list = this.#openHistograms;
    const listed = list.length;
    pieces.sources[i]?.decode(pieces.addresses[i] as number, count, this.#open, words, at, list);
    if (list.length > listed) {
      checkHints(words, at, count, list);
      this.#budget?.hold(bytesOfHistograms(list.slice(listed)));
    }
    this.#openUsed = at + count;
    return at;
  }

  #idOf(bytes: Uint8Array): number {
    if (this.#bytes.at(-1) === bytes) return this.#bytes.length - 1;
    const known = this.#known.get(bytes);
    if (known !== undefined) return known;
    // The head is in memory anyway; a page of a block stays in memory for as long as the selection.
    if (!(bytes.buffer instanceof SharedArrayBuffer)) this.#budget?.hold(bytes.byteLength);
    this.#known.set(bytes, this.#bytes.length);
    return this.#bytes.push(bytes) - 1;
  }

  #grow(needed: number): void {
    const larger = new Uint32Array(Math.max(this.#where.length * 2, this.#used + needed));
    larger.set(this.#where);
    this.#where = larger;
  }
}

/** Adds staleness markers and native histograms to a column; `words` are its values. */
export function withMarks(
  column: SampleColumn,
  words: Uint32Array,
  histograms: readonly Histogram[],
): SampleColumn {
  const { values } = column;
  let stale: Uint8Array | undefined;
  let placed: (Histogram | undefined)[] | undefined;
  for (let i = 0; i < values.length; i++) {
    const value = values[i] as number;
    if (value === value) continue;
    if (words[i * 2 + 1] === histogramHigh) {
      placed ??= Array.from<Histogram | undefined>({ length: values.length });
      placed[i] = histograms[words[i * 2] as number];
    } else if (isStale(words, i)) {
      stale ??= new Uint8Array(values.length);
      stale[i] = 1;
    }
  }
  return {
    ...column,
    ...(stale !== undefined && { stale }),
    ...(placed !== undefined && { histograms: placed }),
  };
}

/** One series of a selection. */
export class PackedSeries implements SelectedSeries {
  readonly labels: LabelSet;
  readonly #columns: PackedColumns;
  readonly #held: number;
  readonly #times: SharedTimes;

  constructor(labels: LabelSet, columns: PackedColumns, held: number, times: SharedTimes) {
    this.labels = labels;
    this.#columns = columns;
    this.#held = held;
    this.#times = times;
  }

  get column(): SampleColumn {
    return this.#columns.read(this.#held, this.#times);
  }

  peek(): SampleColumn {
    return this.#columns.peek(this.#held, this.#times);
  }
}
