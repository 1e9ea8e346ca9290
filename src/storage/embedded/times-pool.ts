/**
 * Shares timestamp arrays between the series of one response that have the same timestamps, found by the pieces they
 * consist of.
 */
import type { SeriesPieces } from "./column-source.ts";
import { lowerBound } from "./index/postings.ts";
import { mix } from "./index/hash.ts";
import { concatTimes } from "./merge.ts";
import type { SelectBudget } from "../../model/select.ts";

export interface SharedTimes {
  /** The pieces' timestamps; the selected range is from index `from` to `to`. */
  readonly times: Float64Array;
  readonly from: number;
  readonly to: number;
  /** Number of samples of each piece. */
  readonly counts: readonly number[];
}

interface Entry extends SharedTimes {
  readonly sources: readonly unknown[];
  readonly timebases: readonly number[];
}

export class TimesPool {
  readonly #fromMs: number;
  readonly #toMs: number;
  readonly #entries = new Map<number, Entry[]>();
  readonly #budget: SelectBudget | undefined;
  #last: Entry | undefined;

  constructor(fromMs: number, toMs: number, budget?: SelectBudget) {
    this.#budget = budget;
    this.#fromMs = fromMs;
    this.#toMs = toMs;
  }

  of(pieces: SeriesPieces): SharedTimes {
    if (this.#last !== undefined && isSame(this.#last, pieces)) return this.#last;
    let hash = pieces.length;
    for (let i = 0; i < pieces.length; i++)
      hash = mix(mix(hash, pieces.timebases[i] as number), pieces.counts[i] as number);
    const alike = this.#entries.get(hash);
    let found = alike?.find((entry) => isSame(entry, pieces));
    if (found === undefined) {
      found = this.#make(pieces);
      if (alike === undefined) this.#entries.set(hash, [found]);
      else alike.push(found);
    }
    this.#last = found;
    return found;
  }

  #make(pieces: SeriesPieces): Entry {
    this.#budget?.hold(pieces.samples * 8);
    const all = new Float64Array(pieces.samples);
    const n = concatTimes(pieces, all);
    const from = lowerBound(all, 0, n, this.#fromMs);
    let to = lowerBound(all, from, n, this.#toMs);
    if (to < n && all[to] === this.#toMs) to++;
    return {
      times: all.subarray(from, to),
      from,
      to,
      sources: pieces.sources.slice(0, pieces.length),
      timebases: pieces.timebases.slice(0, pieces.length),
      counts: pieces.counts.slice(0, pieces.length),
    };
  }
}

function isSame(entry: Entry, pieces: SeriesPieces): boolean {
  if (entry.counts.length !== pieces.length) return false;
  for (let i = 0; i < pieces.length; i++)
    if (
      entry.timebases[i] !== pieces.timebases[i] ||
      entry.counts[i] !== pieces.counts[i] ||
      entry.sources[i] !== pieces.sources[i]
    )
      return false;
  return true;
}
