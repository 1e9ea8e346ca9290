/**
 * Reads selections from head and blocks together. Long ones are read in slices, so that ingest goes on between them; the
 * blocks they read stay open until they are done.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import type { LabelSet } from "../../model/labels.ts";
import type { Block } from "./blocks/block.ts";
import { SeriesPieces } from "./column-source.ts";
import type { EpochSource } from "./head/epoch-source.ts";
import type { Head } from "./head/head.ts";
import type { LabelIndex } from "./index/index.ts";
import { lowerBound } from "./index/postings.ts";
import { ColumnBuffer, mergePieces } from "./merge.ts";
import { PackedColumns, PackedSeries, withMarks } from "./packed.ts";
import type { Quarantine } from "./quarantine.ts";
import type {
  Matcher,
  Queryable,
  SelectBudget,
  SelectedSeries,
  Selection,
} from "../../model/select.ts";
import { TimesPool } from "./times-pool.ts";

/** A text in a list of label values, and its JSON. */
const bytesPerText = 150;
/** The longest stretch of reading without giving way to the rest of the program. */
const sliceMs = 8;

export interface ReadSources {
  readonly index: LabelIndex;
  readonly head: Head;
  readonly blocks: readonly Block[];
  readonly quarantine: Pick<Quarantine, "unopened" | "parts">;
}

export const warnUnopened = (id: number): string =>
  `block ${id} cannot be opened: results may be incomplete`;

export class StoreReader implements Queryable {
  readonly #from: () => ReadSources;

  constructor(from: () => ReadSources) {
    this.#from = from;
  }

  async select(
    matchers: readonly Matcher[],
    fromMs: number,
    toMs: number,
    signal?: AbortSignal,
    budget?: SelectBudget,
  ): Promise<Selection> {
    await budget?.series(this.#from().index.select(matchers).length);
    // Looked up again: while it waited for memory, series may have been dropped and their numbers given to others.
    const { index, head, blocks, quarantine } = this.#from();
    const refs = index.select(matchers);
    const selected: SelectedSeries[] = [];
    const walk = new SelectionWalk((ref) => index.labels(ref), fromMs, toMs, budget);
    await this.#each(refs, blocks, signal, (ref, open) => {
      const series = walk.find(ref, open, head.epochs);
      if (series !== undefined) selected.push(series);
    });
    const warnings = [...walk.warnings(), ...quarantine.unopened.map(warnUnopened)];
    return warnings.length === 0 ? selected : Object.assign(selected, { warnings });
  }

  async labelNames(
    sets: readonly (readonly Matcher[])[],
    fromMs: number,
    toMs: number,
  ): Promise<readonly string[]> {
    const { index } = this.#from();
    const names = new Set<number>();
    await this.#eachPresent(sets, fromMs, toMs, (ref) => {
      for (let i = index.table.pairCount(ref) - 1; i >= 0; i--)
        names.add(index.pairs.name(index.table.pair(ref, i)));
    });
    return [...names].map((name) => index.symbols.text(name)).sort();
  }

  async labelValues(
    name: string,
    sets: readonly (readonly Matcher[])[],
    fromMs: number,
    toMs: number,
    budget?: SelectBudget,
  ): Promise<readonly string[]> {
    const { index } = this.#from();
    const nameId = index.symbols.find(name);
    if (nameId === undefined) return [];
    const values = new Set<number>();
    const having = [{ name, op: "!=", value: "" }] as const;
    const selected = sets.length === 0 ? [having] : sets.map((set) => [...set, ...having]);
    await this.#eachPresent(selected, fromMs, toMs, (ref) => {
      const value = index.valueOf(ref, nameId);
      if (value !== undefined) values.add(value);
    });
    budget?.hold(values.size * bytesPerText);
    return [...values].map((value) => index.symbols.text(value)).sort();
  }

  async series(
    sets: readonly (readonly Matcher[])[],
    fromMs: number,
    toMs: number,
    budget?: SelectBudget,
  ): Promise<readonly LabelSet[]> {
    await budget?.series(this.refs(sets).length);
    const { index } = this.#from();
    const found: LabelSet[] = [];
    await this.#eachPresent(sets, fromMs, toMs, (ref) => found.push(index.labels(ref)));
    return found;
  }

  /** The series that match any of the sets, ascending, each once. */
  refs(sets: readonly (readonly Matcher[])[]): Uint32Array {
    const { index } = this.#from();
    const [first] = sets;
    if (first === undefined) return index.all();
    if (sets.length === 1) return index.select(first);
    const all = new Set<number>();
    for (const set of sets) for (const ref of index.select(set)) all.add(ref);
    return Uint32Array.from(all).sort();
  }

  async #eachPresent(
    sets: readonly (readonly Matcher[])[],
    fromMs: number,
    toMs: number,
    each: (ref: number) => void,
  ): Promise<void> {
    const { head, blocks } = this.#from();
    await this.#each(this.refs(sets), blocks, undefined, (ref, open) => {
      if (head.has(ref, fromMs, toMs) || open.some((block) => block.has(ref, fromMs, toMs)))
        each(ref);
    });
  }

  /** In slices; a series dropped meanwhile is passed over. */
  async #each(
    refs: Uint32Array,
    blocks: readonly Block[],
    signal: AbortSignal | undefined,
    each: (ref: number, blocks: readonly Block[]) => void,
  ): Promise<void> {
    const { index, head } = this.#from();
    // An epoch sealed between two slices turns into a block: the list of blocks is refreshed to see it.
    let open = [...blocks];
    for (const block of open) block.retain();
    let epochs = head.epochs.length;
    try {
      let until = performance.now() + sliceMs;
      for (let i = 0; i < refs.length; i++) {
        const ref = refs[i] as number;
        if (index.table.isAlive(ref)) each(ref, open);
        if ((i & 15) !== 15 || performance.now() < until) continue;
        await nextTurn();
        signal?.throwIfAborted();
        until = performance.now() + sliceMs;
        const now = this.#from().blocks;
        if (now.some((block) => !open.includes(block)) || head.epochs.length !== epochs) {
          for (const block of now) block.retain();
          for (const block of open) block.release();
          open = [...now];
          epochs = head.epochs.length;
        }
      }
    } finally {
      for (const block of open) block.release();
    }
  }
}

/** Finds series after series of one selection. */
export class SelectionWalk {
  readonly #labels: (at: number) => LabelSet;
  readonly #fromMs: number;
  readonly #toMs: number;
  readonly #pool: TimesPool;
  readonly #pieces = new SeriesPieces();
  readonly #columns: PackedColumns;
  readonly #budget: SelectBudget | undefined;
  /** How many series miss something, by the page that cannot be read. */
  readonly #incomplete = new Map<string, number>();
  #merging: ColumnBuffer | undefined;

  constructor(
    labels: (at: number) => LabelSet,
    fromMs: number,
    toMs: number,
    budget: SelectBudget | undefined,
  ) {
    this.#labels = labels;
    this.#budget = budget;
    this.#columns = new PackedColumns(budget);
    this.#fromMs = fromMs;
    this.#toMs = toMs;
    this.#pool = new TimesPool(fromMs, toMs, budget);
  }

  /** `at`: the series' number in the epochs and for its labels, where it is not the one of the blocks. */
  find(
    ref: number,
    blocks: readonly Block[],
    epochs: readonly { readonly source: EpochSource }[],
    at = ref,
  ): SelectedSeries | undefined {
    const pieces = this.#pieces;
    pieces.clear();
    for (const block of blocks) block.collect(ref, this.#fromMs, this.#toMs, pieces);
    for (const { source } of epochs) source.collect(at, this.#fromMs, this.#toMs, pieces);
    for (const part of pieces.unreadable)
      this.#incomplete.set(part, (this.#incomplete.get(part) ?? 0) + 1);
    if (pieces.length === 0) return undefined;
    pieces.sort();
    if (pieces.needsMerge) return this.#merged(at);
    const times = this.#pool.of(pieces);
    if (times.from === times.to) return undefined;
    return new PackedSeries(this.#labels(at), this.#columns, this.#columns.hold(pieces), times);
  }

  warnings(): readonly string[] {
    return [...this.#incomplete].map(
      ([part, series]) => `${part} cannot be read: ${series} series may be incomplete`,
    );
  }

  /** What overlaps is put together at once. */
  #merged(at: number): SelectedSeries | undefined {
    const column = (this.#merging ??= new ColumnBuffer());
    mergePieces(this.#pieces, column);
    const from = lowerBound(column.times, 0, column.n, this.#fromMs);
    let to = lowerBound(column.times, from, column.n, this.#toMs);
    if (to < column.n && column.times[to] === this.#toMs) to++;
    if (from === to) return undefined;
    this.#budget?.hold((to - from) * 16);
    const values = column.values.slice(from, to);
    const found = { times: column.times.slice(from, to), values };
    const words = new Uint32Array(values.buffer);
    return {
      labels: this.#labels(at),
      column: column.odd ? withMarks(found, words, column.histograms) : found,
    };
  }
}
