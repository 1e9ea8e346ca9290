/**
 * Shares selections between several queries at the same timestamp, such as rules: thousands of them read the same few
 * metrics. A write in between invalidates its metric, so that the next query includes it. Bounded: beyond its limit
 * nothing more is cached and every query selects for itself.
 */
import type {
  Matcher,
  Queryable,
  SelectBudget,
  SelectedSeries,
  SelectHint,
  Selection,
} from "../model/select.ts";
import { peekAt } from "./eval/scope.ts";
import { selectKey } from "./eval/select.ts";

/** About 16 bytes each. */
const defaultMaxSamples = 4_000_000;
const slabValues = 65_536;

interface SharedSelection {
  /** The only metric that it can contain; undefined if there may be several. */
  readonly name: string | undefined;
  readonly series: Promise<Selection>;
}

export class SharedSelects {
  readonly #maxSamples: number;
  readonly #selections = new Map<string, SharedSelection>();
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
    hint?: SelectHint,
  ): Promise<Selection> {
    const key = selectKey(matchers, fromMs, toMs, hint);
    const known = this.#selections.get(key);
    if (known !== undefined) return known.series;
    if (this.#samples > this.#maxSamples)
      return queryable.select(matchers, fromMs, toMs, signal, budget, hint);
    // Without the signal, because the first query may be canceled while others wait for the same selection.
    const series = this.#load(queryable, matchers, fromMs, toMs, budget, hint);
    this.#selections.set(key, { name: nameOf(matchers), series });
    series.catch(() => this.#selections.delete(key));
    return series;
  }

  /** Invalidates selections after a write to this metric. */
  forget(name: string): void {
    for (const [key, selection] of this.#selections)
      if (selection.name === undefined || selection.name === name) this.#selections.delete(key);
  }

  clear(): void {
    this.#selections.clear();
    this.#samples = 0;
  }

  async #load(
    queryable: Queryable,
    matchers: readonly Matcher[],
    fromMs: number,
    toMs: number,
    budget: SelectBudget | undefined,
    hint: SelectHint | undefined,
  ): Promise<Selection> {
    const found = await queryable.select(matchers, fromMs, toMs, undefined, budget, hint);
    // A column may be decoded at every access, so it is copied once here.
    const copies = found.map((series): SelectedSeries => {
      const column = peekAt(series);
      this.#samples += column.times.length;
      return { labels: series.labels, column: { ...column, values: this.#copy(column.values) } };
    });
    const { warnings, infos } = found;
    return Object.assign(copies, {
      ...(warnings !== undefined && { warnings }),
      ...(infos !== undefined && { infos }),
    });
  }

  /** Copies many columns into one array, because garbage collection of ten thousand small ones took most of the time. */
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
