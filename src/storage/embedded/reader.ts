/**
 * Reads selections from head and blocks together. Long reads run in slices, so that ingestion continues in between;
 * their blocks stay open until the end.
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
import { bytesOfHistograms, PackedColumns, PackedSeries, withMarks } from "./packed.ts";
import type { Quarantine } from "./quarantine.ts";
import type {
  Matcher,
  Queryable,
  SelectBudget,
  SelectedSeries,
  SelectHint,
  Selection,
} from "../../model/select.ts";
import {
  hasEntries,
  hasUnrolled,
  mayUseRollups,
  planSelection,
  type SelectionPlan,
} from "./rollups/choose.ts";
import type { RollupRead } from "./rollups/plan.ts";
import { type CollectRaw, RollupReader, type TierBlocks } from "./rollups/read.ts";
import type { RollupState } from "./rollups/state.ts";
import type { RetainedSeries } from "./rules.ts";
import { TimesPool } from "./times-pool.ts";

/** Memory of one string in a list of label values, including its JSON. */
const bytesPerText = 150;
/** Maximum time of one slice before yielding to the event loop. */
const sliceMs = 8;

export interface ReadSources {
  readonly index: LabelIndex;
  readonly head: Head;
  readonly blocks: readonly Block[];
  readonly quarantine: Pick<Quarantine, "unopened" | "unopenedRollups" | "parts">;
  readonly goneBeforeMs: number;
  readonly rollups: RollupState;
  readonly rules: readonly RetainedSeries[];
}

export interface MetricSize {
  readonly name: string;
  readonly series: number;
}

/** Warnings about files that cannot be opened. Rollups matter only where raw samples are gone. */
export function warnUnopened(
  { unopened, unopenedRollups }: ReadSources["quarantine"],
  plans: readonly SelectionPlan[],
): readonly string[] {
  const warn = (what: string, id: number): string =>
    `${what} ${id} cannot be opened: results may be incomplete`;
  const rollups = plans.some(({ gone }) => gone !== undefined) ? unopenedRollups : [];
  return [...unopened.map((id) => warn("block", id)), ...rollups.map((id) => warn("rollup", id))];
}

export class StoreReader implements Queryable {
  readonly #from: () => ReadSources;

  constructor(from: () => ReadSources) {
    this.#from = from;
  }

  heeds(hint: SelectHint, fromMs: number, toMs: number): boolean {
    return mayUseRollups(this.#from(), hint, fromMs, toMs);
  }

  async select(
    matchers: readonly Matcher[],
    fromMs: number,
    toMs: number,
    signal?: AbortSignal,
    budget?: SelectBudget,
    hint?: SelectHint,
  ): Promise<Selection> {
    await budget?.series(this.#from().index.select(matchers).length);
    // Looks the series up again: during the wait for memory, series may have been dropped and their numbers reused.
    const { index, head, quarantine } = this.#from();
    const refs = index.select(matchers);
    const selected: SelectedSeries[] = [];
    const { plans, ofSeries } = planSelection(this.#from(), matchers, hint, fromMs, toMs);
    const walk = new SelectionWalk((ref) => index.labels(ref), fromMs, toMs, budget, hint);
    // Most of the series that match may have ended long ago: an object for each would cost more than looking them up.
    let opened: BlockSources | undefined;
    let sources: SeriesSources | undefined;
    await this.#each(refs, signal, (ref, open) => {
      const plan = plans[ofSeries.get(ref) ?? 0] as SelectionPlan;
      const isRawOnly = hasUnrolled(this.#from(), plan.rollups, ref);
      if (opened !== open || sources?.plan !== plan || sources.isRawOnly !== isRawOnly)
        sources = { ...open, epochs: head.epochs, plan, isRawOnly };
      opened = open;
      const series = walk.find(ref, sources);
      if (series !== undefined) selected.push(series);
    });
    const warnings = [...walk.warnings(), ...warnUnopened(quarantine, plans)];
    return annotate(selected, warnings, walk.infos());
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

  /** Every metric name with the number of its series. */
  metrics(): readonly MetricSize[] {
    const { symbols, pairs } = this.#from().index;
    const nameId = symbols.find("__name__");
    if (nameId === undefined) return [];
    return Array.from(pairs.ofName.view(nameId), (pair) => ({
      name: symbols.text(pairs.value(pair)),
      series: pairs.series.length(pair),
    }));
  }

  /** The time of the newest sample; undefined without samples. */
  newestMs(): number | undefined {
    const { head, blocks } = this.#from();
    const newestMs = Math.max(
      ...head.epochs.map(({ epoch }) => epoch.maxTimeMs),
      ...blocks.map(({ footer }) => footer.maxTimeMs),
    );
    return Number.isFinite(newestMs) ? newestMs : undefined;
  }

  /** The series that match any of the matcher sets, ascending and unique. Series of start times only if requested. */
  refs(sets: readonly (readonly Matcher[])[], withStartTimes = false): Uint32Array {
    const { index } = this.#from();
    const select = (set: readonly Matcher[]): Uint32Array =>
      withStartTimes ? index.selectAll(set) : index.select(set);
    const [first = []] = sets;
    if (sets.length <= 1) return select(first);
    const all = new Set<number>();
    for (const set of sets) for (const ref of select(set)) all.add(ref);
    return Uint32Array.from(all).sort();
  }

  async #eachPresent(
    sets: readonly (readonly Matcher[])[],
    fromMs: number,
    toMs: number,
    each: (ref: number) => void,
  ): Promise<void> {
    const { head } = this.#from();
    await this.#each(this.refs(sets), undefined, (ref, { blocks, tiers }) => {
      if (
        head.has(ref, fromMs, toMs) ||
        blocks.some((block) => block.has(ref, fromMs, toMs)) ||
        hasEntries(tiers, ref, fromMs, toMs)
      )
        each(ref);
    });
  }

  /** Runs in slices; skips series that are dropped in between. */
  async #each(
    refs: Uint32Array,
    signal: AbortSignal | undefined,
    each: (ref: number, open: BlockSources) => void,
  ): Promise<void> {
    const { index, head } = this.#from();
    // An epoch sealed between two slices becomes a block, so the list of blocks is refreshed.
    let open = openBlocks(this.#from());
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
        const now = this.#from();
        if (
          now.blocks !== open.blocks ||
          now.rollups.tiers !== open.tiers ||
          head.epochs.length !== epochs
        ) {
          const before = open;
          open = openBlocks(now);
          before.release();
          epochs = head.epochs.length;
        }
      }
    } finally {
      open.release();
    }
  }
}

/** The blocks that series are read from. */
interface BlockSources {
  readonly blocks: readonly Block[];
  readonly tiers: TierBlocks;
}

/** Keeps the files open until `release`. */
function openBlocks({ blocks, rollups: { tiers } }: ReadSources) {
  const all = [...blocks, ...tiers.flatMap((tier) => tier.blocks)];
  for (const block of all) block.retain();
  const release = (): void => all.forEach((block) => block.release());
  return { blocks, tiers, release };
}

/** Adds warnings and infos, if any. */
export function annotate(
  selected: SelectedSeries[],
  warnings: readonly string[],
  infos: readonly string[],
): Selection {
  return Object.assign(selected, {
    ...(warnings.length > 0 && { warnings }),
    ...(infos.length > 0 && { infos }),
  });
}

/** The sources of a series. `isRawOnly`: its rollups are outdated, so raw samples are preferred wherever they exist. */
export interface SeriesSources extends BlockSources {
  readonly epochs: readonly { readonly source: EpochSource }[];
  readonly plan: SelectionPlan;
  readonly isRawOnly: boolean;
}

function collect(
  ref: number,
  { blocks, epochs }: SeriesSources,
  at: number,
  fromMs: number,
  toMs: number,
  pieces: SeriesPieces,
): void {
  for (const block of blocks) block.collect(ref, fromMs, toMs, pieces);
  for (const { source } of epochs) source.collect(at, fromMs, toMs, pieces);
}

/** Reads the series of one selection one by one. */
export class SelectionWalk {
  readonly #labels: (at: number) => LabelSet;
  readonly #fromMs: number;
  readonly #toMs: number;
  readonly #pool: TimesPool;
  readonly #pieces = new SeriesPieces();
  readonly #columns: PackedColumns;
  readonly #budget: SelectBudget | undefined;
  readonly #rollups: RollupReader;
  /** Number of incomplete series, by unreadable page. */
  readonly #incomplete = new Map<string, number>();
  readonly #infos = new Set<string>();
  #merging: ColumnBuffer | undefined;

  constructor(
    labels: (at: number) => LabelSet,
    fromMs: number,
    toMs: number,
    budget: SelectBudget | undefined,
    hint: SelectHint | undefined,
  ) {
    this.#rollups = new RollupReader(hint?.function, fromMs, toMs, budget);
    this.#labels = labels;
    this.#budget = budget;
    this.#columns = new PackedColumns(budget);
    this.#fromMs = fromMs;
    this.#toMs = toMs;
    this.#pool = new TimesPool(fromMs, toMs, budget);
  }

  /** @param at the series' number in the epochs and for its labels, if it differs from the number in the blocks */
  find(ref: number, sources: SeriesSources, at = ref): SelectedSeries | undefined {
    const { rollups, gone } = sources.plan;
    const read = sources.isRawOnly ? gone : rollups;
    if (read !== undefined) {
      const found = this.#rolledUp(ref, read, sources, at);
      if (found !== "raw") return found;
    }
    const pieces = this.#pieces;
    pieces.clear();
    collect(ref, sources, at, this.#fromMs, this.#toMs, pieces);
    this.#misses(pieces.unreadable);
    if (pieces.length === 0) return undefined;
    pieces.sort();
    if (pieces.needsMerge) return this.#merged(at);
    const times = this.#pool.of(pieces);
    if (times.from === times.to) return undefined;
    return new PackedSeries(this.#labels(at), this.#columns, this.#columns.hold(pieces), times);
  }

  /** Returns "raw" if rollups are unusable and raw samples have to be read instead. */
  #rolledUp(
    ref: number,
    read: RollupRead,
    sources: SeriesSources,
    at: number,
  ): SelectedSeries | undefined | "raw" {
    const unreadable: string[] = [];
    const collectRaw: CollectRaw = (fromMs, toMs, pieces) =>
      collect(ref, sources, at, fromMs, toMs, pieces);
    const column = this.#rollups.read(ref, read, sources.tiers, collectRaw, unreadable);
    if (typeof column === "string") {
      const { gone } = sources.plan;
      if (read !== gone && gone !== undefined) return this.#rolledUp(ref, gone, sources, at);
      if (read === gone && column === "unreadable") this.#misses(unreadable);
      return "raw";
    }
    this.#misses(unreadable);
    if (column === undefined) return undefined;
    this.#infos.add(read.info);
    return { labels: this.#labels(at), column };
  }

  #misses(unreadable: readonly string[]): void {
    for (const part of unreadable)
      this.#incomplete.set(part, (this.#incomplete.get(part) ?? 0) + 1);
  }

  /** Which rollups were read, and why. */
  infos(): readonly string[] {
    return [...this.#infos];
  }

  warnings(): readonly string[] {
    return [...this.#incomplete].map(
      ([part, series]) => `${part} cannot be read: ${series} series may be incomplete`,
    );
  }

  /** Merges overlapping pieces immediately. */
  #merged(at: number): SelectedSeries | undefined {
    const column = (this.#merging ??= new ColumnBuffer());
    mergePieces(this.#pieces, column);
    const from = lowerBound(column.times, 0, column.n, this.#fromMs);
    let to = lowerBound(column.times, from, column.n, this.#toMs);
    if (to < column.n && column.times[to] === this.#toMs) to++;
    if (from === to) return undefined;
    this.#budget?.hold((to - from) * 16 + bytesOfHistograms(column.histograms));
    const values = column.values.slice(from, to);
    const found = { times: column.times.slice(from, to), values };
    const words = new Uint32Array(values.buffer);
    return {
      labels: this.#labels(at),
      column: column.odd ? withMarks(found, words, column.histograms) : found,
    };
  }
}
