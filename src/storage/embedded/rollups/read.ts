/** Reads one series as one column, from rollups and beyond their reach from raw samples. */
import { histogramHigh } from "../../../model/histogram/word.ts";
import type { RollupFunction, SampleColumn, SelectBudget } from "../../../model/select.ts";
import { isStale } from "../../../model/stale.ts";
import type { Block } from "../blocks/block.ts";
import { SeriesPieces } from "../column-source.ts";
import { lowerBound } from "../index/postings.ts";
import { ColumnBuffer, mergePieces } from "../merge.ts";
import { columnRef, type RollupComponent, isRawOnly } from "./columns.ts";
import type { RollupRead, RollupSegment } from "./plan.ts";

/** The columns that a function needs: its values, and what it needs to weight entries of several samples. */
const needs: Readonly<
  Record<
    RollupFunction,
    { readonly value: RollupComponent; readonly more: readonly RollupComponent[] }
  >
> = {
  min_over_time: { value: "min", more: [] },
  max_over_time: { value: "max", more: [] },
  sum_over_time: { value: "sum", more: [] },
  avg_over_time: { value: "sum", more: ["count"] },
  count_over_time: { value: "count", more: [] },
  present_over_time: { value: "last", more: [] },
  absent_over_time: { value: "last", more: [] },
  first_over_time: { value: "first", more: [] },
  last_over_time: { value: "last", more: [] },
  ts_of_first_over_time: { value: "first", more: [] },
  ts_of_last_over_time: { value: "last", more: [] },
  rate: { value: "last", more: ["first", "count", "resets"] },
  increase: { value: "last", more: ["first", "count", "resets"] },
  delta: { value: "last", more: ["first", "count", "resets"] },
};

/** Why the rollups of a series are unusable, so that raw samples have to be read. */
export type UnusableRollup = "unreadable" | "raw only";

/** The blocks of each resolution. */
export type TierBlocks = readonly {
  readonly resolutionMs: number;
  readonly blocks: readonly Block[];
}[];

/** Collects the raw pieces of a range. */
export type CollectRaw = (fromMs: number, toMs: number, pieces: SeriesPieces) => void;

const emptyColumn = { times: new Float64Array(0), values: new Float64Array(0) };

export class RollupReader {
  readonly #function: RollupFunction | undefined;
  readonly #fromMs: number;
  readonly #toMs: number;
  readonly #budget: SelectBudget | undefined;
  readonly #pieces = new SeriesPieces();
  readonly #buffer = new ColumnBuffer();
  #times = new Float64Array(0);

  constructor(
    func: RollupFunction | undefined,
    fromMs: number,
    toMs: number,
    budget: SelectBudget | undefined,
  ) {
    this.#function = func;
    this.#fromMs = fromMs;
    this.#toMs = toMs;
    this.#budget = budget;
  }

  /** Returns undefined if the series has no samples in the range. Adds unreadable parts to `unreadable`. */
  read(
    ref: number,
    { segments, rawFromMs }: RollupRead,
    tiers: TierBlocks,
    collectRaw: CollectRaw,
    unreadable: string[],
  ): SampleColumn | UnusableRollup | undefined {
    const parts: EntryColumns[] = [];
    for (const segment of segments) {
      const blocks = tiers.find((tier) => tier.resolutionMs === segment.resolutionMs)?.blocks ?? [];
      const part = this.#segment(ref, segment, blocks, unreadable);
      if (typeof part === "string") return part;
      parts.push(part);
    }
    const raw = this.#raw(Math.max(rawFromMs, this.#fromMs), collectRaw, unreadable);
    if (raw === "raw only") return raw;
    const isCount = this.#function === "count_over_time";
    const entries = parts.filter(({ times }) => times.length > 0);
    const column =
      entries.length === 0
        ? raw
        : this.#function === undefined
          ? join([...entries.map(thin), raw])
          : join([...entries.map(withoutMarkers), asEntries(withoutMarkers(raw), isCount)]);
    if (column.times.length === 0) return undefined;
    this.#budget?.hold(column.times.length * (column.counts === undefined ? 16 : 48));
    return toColumn(column, isCount && entries.length > 0);
  }

  #segment(
    ref: number,
    { afterMs, toMs }: RollupSegment,
    blocks: readonly Block[],
    unreadable: string[],
  ): EntryColumns | UnusableRollup {
    const { value, more } =
      this.#function === undefined
        ? ({ value: "last", more: ["first"] } as const)
        : needs[this.#function];
    const read = (name: RollupComponent): ReadColumn | UnusableRollup =>
      this.#columnOf(columnRef(ref, name), afterMs, toMs, blocks, unreadable);
    const main = read(value);
    if (typeof main === "string") return main;
    const columns = new Map<RollupComponent, ReadColumn>([[value, main]]);
    for (const name of more) {
      const column = read(name);
      if (typeof column === "string") return column;
      if (column.times.length !== main.times.length) return "unreadable";
      columns.set(name, column);
    }
    const first = columns.get("first");
    return {
      ...main,
      counts: columns.get("count")?.values,
      firstTimes: first?.times,
      firstValues: first?.values,
      resets: columns.get("resets")?.values,
    };
  }

  #columnOf(
    column: number,
    afterMs: number,
    toMs: number,
    blocks: readonly Block[],
    unreadable: string[],
  ): ReadColumn | UnusableRollup {
    const pieces = this.#pieces;
    pieces.clear();
    for (const block of blocks) block.collect(column, afterMs + 1, toMs, pieces);
    unreadable.push(...pieces.unreadable);
    if (pieces.unreadable.length > 0) return "unreadable";
    return this.#take(afterMs + 1, toMs, isRawOnly) ?? "raw only";
  }

  #raw(fromMs: number, collect: CollectRaw, unreadable: string[]): EntryColumns | "raw only" {
    if (fromMs > this.#toMs) return emptyColumn;
    const pieces = this.#pieces;
    pieces.clear();
    collect(fromMs, this.#toMs, pieces);
    unreadable.push(...pieces.unreadable);
    return (
      this.#take(fromMs, this.#toMs, (words, i) => words[i * 2 + 1] === histogramHigh) ?? "raw only"
    );
  }

  /** Reads the pieces' samples in the range; returns undefined if `isOther` is true for one of them. */
  #take(
    fromMs: number,
    toMs: number,
    isOther: (words: Uint32Array, i: number) => boolean,
  ): ReadColumn | undefined {
    if (this.#pieces.length === 0) return emptyColumn;
    this.#pieces.sort();
    const buffer = this.#buffer;
    mergePieces(this.#pieces, buffer);
    const from = lowerBound(buffer.times, 0, buffer.n, fromMs);
    const to = lowerBound(buffer.times, from, buffer.n, toMs + 1);
    let stale: Uint8Array | undefined;
    if (buffer.odd)
      for (let i = from; i < to; i++) {
        if (buffer.values[i] === buffer.values[i]) continue;
        if (isOther(buffer.words, i)) return undefined;
        if (!isStale(buffer.words, i)) continue;
        stale ??= new Uint8Array(to - from);
        stale[i - from] = 1;
      }
    const values = buffer.values.slice(from, to);
    return { times: this.#shared(buffer.times, from, to), values, stale };
  }

  /** Series scraped together mostly have the same timestamps, which are shared. */
  #shared(times: Float64Array, from: number, to: number): Float64Array {
    const known = this.#times;
    let isSame = known.length === to - from;
    for (let i = 0; isSame && i < known.length; i++) isSame = known[i] === times[from + i];
    if (!isSame) this.#times = times.slice(from, to);
    return this.#times;
  }
}

interface ReadColumn {
  readonly times: Float64Array;
  readonly values: Float64Array;
  readonly stale?: Uint8Array | undefined;
}

interface EntryColumns extends ReadColumn {
  readonly counts?: Float64Array | undefined;
  readonly firstTimes?: Float64Array | undefined;
  readonly firstValues?: Float64Array | undefined;
  readonly resets?: Float64Array | undefined;
}

/** Range functions ignore staleness markers. */
function withoutMarkers(entries: EntryColumns): EntryColumns {
  const { stale } = entries;
  if (stale === undefined) return entries;
  const keep = (column: Float64Array | undefined): Float64Array | undefined =>
    column?.filter((_, i) => stale[i] !== 1);
  return {
    times: keep(entries.times) ?? entries.times,
    values: keep(entries.values) ?? entries.values,
    counts: keep(entries.counts),
    firstTimes: keep(entries.firstTimes),
    firstValues: keep(entries.firstValues),
    resets: keep(entries.resets),
  };
}

/** Converts samples to entries of one sample each. */
function asEntries({ times, values }: ReadColumn, isCount: boolean): EntryColumns {
  const counts = new Float64Array(times.length).fill(1);
  return {
    times,
    values: isCount ? counts : values,
    counts,
    firstTimes: times,
    firstValues: values,
    resets: new Float64Array(times.length),
  };
}

/** Expands entries to the remaining samples: the first and the last of each bucket, and the markers. */
function thin({ times, values, stale, firstTimes, firstValues }: EntryColumns): ReadColumn {
  const out: { time: number; value: number; isEnd: boolean }[] = [];
  for (let i = 0; i < times.length; i++) {
    const time = times[i] as number;
    const firstTime = firstTimes?.[i] ?? time;
    const isEnd = stale?.[i] === 1;
    if (firstTime < time)
      out.push({ time: firstTime, value: firstValues?.[i] as number, isEnd: false });
    out.push({ time, value: values[i] as number, isEnd });
  }
  return {
    times: Float64Array.from(out, ({ time }) => time),
    values: Float64Array.from(out, ({ value }) => value),
    stale: stale && Uint8Array.from(out, (one) => (one.isEnd ? 1 : 0)),
  };
}

/** Concatenates parts. A column that one of them lacks is not needed. */
function join(parts: readonly EntryColumns[]): EntryColumns {
  const [first] = parts;
  if (first === undefined || parts.length === 1) return first ?? emptyColumn;
  const of = (name: Exclude<keyof EntryColumns, "stale">): Float64Array | undefined => {
    const columns = parts.flatMap((part) => part[name] ?? []);
    return columns.length === parts.length ? concat(columns) : undefined;
  };
  const stale = parts.some((part) => part.stale !== undefined)
    ? Uint8Array.from(
        parts.flatMap((part) => [...(part.stale ?? new Uint8Array(part.times.length))]),
      )
    : undefined;
  return {
    times: of("times") ?? emptyColumn.times,
    values: of("values") ?? emptyColumn.values,
    stale,
    counts: of("counts"),
    firstTimes: of("firstTimes"),
    firstValues: of("firstValues"),
    resets: of("resets"),
  };
}

function concat(columns: readonly Float64Array[]): Float64Array {
  const out = new Float64Array(columns.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const column of columns) {
    out.set(column, at);
    at += column.length;
  }
  return out;
}

function toColumn(entries: EntryColumns, isCount: boolean): SampleColumn {
  const { times, values, stale, counts, firstTimes, firstValues, resets } = entries;
  const column = { times, values, ...(stale !== undefined && { stale }) };
  if (isCount) return { ...column, rollup: { counts: values } };
  if (counts === undefined) return column;
  if (firstTimes === undefined || firstValues === undefined || resets === undefined)
    return { ...column, rollup: { counts } };
  return {
    ...column,
    rollup: { counts, firsts: { times: firstTimes, values: firstValues, resets } },
  };
}
