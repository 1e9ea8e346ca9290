/**
 * What several queries at one instant select, asked of the store once. Rules are such queries: thousands of them look at
 * the same few metrics. Whoever writes in between says of which metric, so that the next query sees it. Bounded: beyond
 * its budget nothing more is kept and every query asks for itself.
 */
import type {
  Matcher,
  Queryable,
  SelectBudget,
  SelectedSeries,
  Selection,
} from "../model/select.ts";
import { peekAt } from "./eval/lookup.ts";

/** About 16 bytes each. */
const defaultMaxSamples = 4_000_000;
const slabValues = 65_536;

interface SharedSelection {
  /** The one metric it can be of; undefined where it may be of several. */
  readonly name: string | undefined;
  readonly series: Promise<Selection>;
}

export class SharedSelects {
  readonly #maxSamples: number;
  readonly #kept = new Map<string, SharedSelection>();
  #samples = 0;
  #slab = new Float64Array(0);
  #slabUsed = 0;

  constructor(maxSamples = defaultMaxSamples) {
    this.#maxSamples = maxSamples;
  }

  async select(
    queryable: Queryable,
    matchers: readonly Matcher[],
    fromMs: number,
    toMs: number,
    signal: AbortSignal | undefined,
    budget?: SelectBudget,
  ): Promise<Selection> {
    const key = JSON.stringify([matchers, fromMs, toMs]);
    const known = this.#kept.get(key);
    if (known !== undefined) return known.series;
    if (this.#samples > this.#maxSamples)
      return queryable.select(matchers, fromMs, toMs, signal, budget);
    // Without the signal: whoever asked first may give up, and the others have not.
    const series = this.#load(queryable, matchers, fromMs, toMs, budget);
    this.#kept.set(key, { name: nameOf(matchers), series });
    series.catch(() => this.#kept.delete(key));
    return series;
  }

  /** Something of this metric was written. */
  forget(name: string): void {
    for (const [key, kept] of this.#kept)
      if (kept.name === undefined || kept.name === name) this.#kept.delete(key);
  }

  clear(): void {
    this.#kept.clear();
    this.#samples = 0;
  }

  async #load(
    queryable: Queryable,
    matchers: readonly Matcher[],
    fromMs: number,
    toMs: number,
    budget: SelectBudget | undefined,
  ): Promise<Selection> {
    const found = await queryable.select(matchers, fromMs, toMs, undefined, budget);
    // A column may be decoded each time it is asked for: here once for all.
    const copies = found.map((series): SelectedSeries => {
      const { times, values, stale } = peekAt(series);
      this.#samples += times.length;
      const column = { times, values: this.#copy(values) };
      return { labels: series.labels, column: stale === undefined ? column : { ...column, stale } };
    });
    return found.warnings === undefined
      ? copies
      : Object.assign(copies, { warnings: found.warnings });
  }

  /** Many columns in one piece of memory: collecting ten thousand small ones took most of the time. */
  #copy(values: Float64Array): Float64Array {
    if (this.#slabUsed + values.length > this.#slab.length) {
      this.#slab = new Float64Array(Math.max(slabValues, values.length));
      this.#slabUsed = 0;
    }
    const start = this.#slabUsed;
    this.#slabUsed += values.length;
    this.#slab.set(values, start);
    return this.#slab.subarray(start, this.#slabUsed);
  }
}

function nameOf(matchers: readonly Matcher[]): string | undefined {
  return matchers.find(({ name, op }) => name === "__name__" && op === "=")?.value;
}
