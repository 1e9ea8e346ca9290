/**
 * Collects what a query worker needs to read a selection: the matching series, their labels, a copy of the head's open
 * chunks, and the blocks. Full chunks are not copied: they are in shared memory and never change, and the worker's
 * reference keeps them alive. Costs a microsecond per series; the worker does the rest.
 */
import { loopTurns } from "../../../base/fair/loop-turns.ts";
import type { ClientKey } from "../../../base/fair/client-key.ts";
import { histogramHigh } from "../../../model/histogram/word.ts";
import type { Matcher, SelectBudget, SelectHint } from "../../../model/select.ts";
import type { Block } from "../blocks/block.ts";
import type { Tombstone } from "../column-source.ts";
import { type ChunkChainsView, openPerSlab } from "../head/chunk-chains.ts";
import type { EpochView } from "../head/epoch.ts";
import { OpenHistograms, type OpenHistogramsView } from "../head/open-histograms.ts";
import { chunkSamples } from "../head/timebases.ts";
import type { LabelIndex } from "../index/index.ts";
import { type ReadSources, warnUnopened } from "../reader.ts";
import { hasUnrolled, planSelection, type SelectionPlan } from "../rollups/choose.ts";
import type { TierBlocks } from "../rollups/read.ts";
import type { RollupState } from "../rollups/state.ts";

/** Label sets with each string once. */
export interface PackedLabels {
  readonly texts: readonly string[];
  /** Name and value of each pair, as indexes into `texts`. */
  readonly names: Uint32Array;
  readonly values: Uint32Array;
  /** Start of each series' pairs in `pairs`, plus the end. */
  readonly starts: Uint32Array;
  readonly pairs: Uint32Array;
}

export interface SelectedBlock {
  readonly id: number;
  readonly file: string;
  readonly tombstones: readonly Tombstone[];
}

export interface SelectPlan {
  readonly key: string;
  readonly fromMs: number;
  readonly toMs: number;
  /** The series numbers in blocks. `labels` and `epochs` number the series from 0. */
  readonly refs: Uint32Array;
  readonly labels: PackedLabels;
  readonly epochs: readonly EpochView[];
  readonly blocks: readonly SelectedBlock[];
  readonly warnings: readonly string[];
  readonly hint: SelectHint | undefined;
  /** Which parts are read from rollups. */
  readonly selections: readonly SelectionPlan[];
  /** The index into `selections` for each series, numbered from 0; undefined if all use the first. */
  readonly selectionOf: Uint16Array | undefined;
  readonly tiers: readonly {
    readonly resolutionMs: number;
    readonly blocks: readonly SelectedBlock[];
  }[];
  /** 1 for series whose rollups are outdated; series are numbered from 0. */
  readonly rawOnly: Uint8Array | undefined;
}

export interface PlannedSelect {
  readonly plan: SelectPlan;
  /** Blocks whose files must exist until the worker has read them; the caller releases them. */
  readonly blocks: readonly Block[];
}

/** Series between two checks of the time, and maximum time before yielding. */
const seriesPerLook = 512;
const sliceMs = 4;
/** Number of attempts, because sealing the head in the meantime requires another one. */
const attempts = 3;

export interface PlanOptions {
  readonly signal: AbortSignal | undefined;
  readonly budget: SelectBudget;
  readonly client: ClientKey | undefined;
  readonly hint: SelectHint | undefined;
}

/**
 * Returns undefined if only the main thread can run the query: a page is in quarantine, or head and blocks change too
 * often.
 */
export async function planSelect(
  from: () => ReadSources,
  key: string,
  matchers: readonly Matcher[],
  [fromMs, toMs]: readonly [fromMs: number, toMs: number],
  options: PlanOptions,
): Promise<PlannedSelect | undefined> {
  await options.budget.series(from().index.select(matchers).length);
  for (let attempt = 0; attempt < attempts; attempt++) {
    const sources = from();
    const { index, head, blocks, quarantine, rollups } = sources;
    if (quarantine.parts.some(({ page }) => page !== undefined)) return undefined;
    const { epochs } = head;
    const refs = index.select(matchers);
    const labels = new LabelPacker(index);
    const copies = epochs.map(({ epoch }) => new EpochCopy(() => epoch.view(), refs.length));
    const { hint } = options;
    const { plans, ofSeries } = planSelection(sources, matchers, hint, fromMs, toMs);
    const selectionOf = plans.length > 1 ? new Uint16Array(refs.length) : undefined;
    const rawOnly = plans.some((plan) => plan.rollups) ? new Uint8Array(refs.length) : undefined;
    let untilMs = performance.now() + sliceMs;
    let count = 0;
    for (const ref of refs) {
      if (!index.table.isAlive(ref)) continue;
      const number = ofSeries.get(ref) ?? 0;
      if (selectionOf !== undefined) selectionOf[count] = number;
      if (rawOnly !== undefined && hasUnrolled(from(), plans[number]?.rollups, ref))
        rawOnly[count] = 1;
      for (const copy of copies) copy.add(ref, count);
      labels.add(ref);
      refs[count++] = ref;
      if (count % seriesPerLook !== 0 || performance.now() < untilMs) continue;
      await loopTurns.turn(options.client === undefined ? "hub" : "query", options.client);
      options.signal?.throwIfAborted();
      untilMs = performance.now() + sliceMs;
    }
    const now = from();
    if (
      now.blocks !== blocks ||
      now.rollups !== rollups ||
      now.head.epochs.length !== epochs.length
    )
      continue;
    const overlapping = blocks.filter(
      ({ footer }) => footer.minTimeMs <= toMs && footer.maxTimeMs >= fromMs,
    );
    const tiers = tiersOf(rollups, plans);
    return {
      blocks: [...overlapping, ...tiers.flatMap((tier) => tier.blocks)],
      plan: {
        key,
        fromMs,
        toMs,
        refs: refs.slice(0, count),
        labels: labels.take(),
        epochs: copies.map((copy) => copy.view()),
        blocks: overlapping.map(toPlanned),
        warnings: warnUnopened(quarantine, plans),
        hint,
        selections: plans,
        selectionOf,
        tiers: tiers.map(({ resolutionMs, blocks: own }) => ({
          resolutionMs,
          blocks: own.map(toPlanned),
        })),
        rawOnly,
      },
    };
  }
  return undefined;
}

const toPlanned = ({ id, file, tombstones }: Block): SelectedBlock => ({ id, file, tombstones });

/** The rollup blocks that a selection may read. */
function tiersOf({ tiers }: RollupState, plans: readonly SelectionPlan[]): TierBlocks {
  const segments = plans.flatMap(({ rollups, gone }) =>
    [rollups, gone].flatMap((read) => read?.segments ?? []),
  );
  return tiers.map(({ resolutionMs, blocks }) => ({
    resolutionMs,
    blocks: blocks.filter(({ footer }) =>
      segments.some(
        (segment) =>
          segment.resolutionMs === resolutionMs &&
          footer.minTimeMs <= segment.toMs &&
          footer.maxTimeMs > segment.afterMs,
      ),
    ),
  }));
}

/** A copy of one epoch of the head, with the series of a selection numbered from 0. */
class EpochCopy {
  readonly #epoch: () => EpochView;
  readonly #inOrder: ChainsCopy;
  #late: ChainsCopy | undefined;
  readonly #series: number;
  readonly #histograms = new OpenHistograms();

  constructor(epoch: () => EpochView, series: number) {
    this.#epoch = epoch;
    this.#series = series;
    this.#inOrder = new ChainsCopy(series, false);
  }

  add(ref: number, at: number): void {
    const { inOrder, late, histograms } = this.#epoch();
    const copied = this.#inOrder.add(inOrder, ref, at);
    if (histograms.slabs.length > 0) this.#copyHistograms(histograms, copied);
    if ((late?.count[ref] ?? 0) === 0 || late === undefined) return;
    this.#late ??= new ChainsCopy(this.#series, true);
    const copiedLate = this.#late.add(late, ref, at);
    if (histograms.slabs.length > 0) this.#copyHistograms(histograms, copiedLate);
  }

  /** Copies histograms of open chunks, because their memory is reused when the chunks are closed. */
  #copyHistograms(from: OpenHistogramsView, copied: Float64Array | undefined): void {
    if (copied === undefined) return;
    const words = new Uint32Array(copied.buffer, copied.byteOffset, copied.length * 2);
    for (let i = 0; i < words.length; i += 2)
      if (words[i + 1] === histogramHigh)
        words[i] = this.#histograms.copy(from, words[i] as number);
  }

  view(): EpochView {
    const { arena, timebases } = this.#epoch();
    return {
      arena: { slabs: [...arena.slabs] },
      timebases: { slabs: [...timebases.slabs] },
      histograms: { slabs: this.#histograms.slabs },
      inOrder: this.#inOrder.view,
      late: this.#late?.view,
    };
  }
}

class ChainsCopy {
  readonly view: ChunkChainsView & { readonly open: Float64Array[] };
  #slots = 0;

  constructor(series: number, isLate: boolean) {
    this.view = {
      slot: new Uint32Array(series),
      count: new Uint8Array(series),
      timebase: new Uint32Array(series),
      chain: new Uint32Array(series),
      open: [],
      newest: isLate ? new Float64Array(series) : undefined,
    };
  }

  /** Returns the copy of the open chunk; undefined if there is none. */
  add(from: ChunkChainsView, ref: number, at: number): Float64Array | undefined {
    const count = from.count[ref] ?? 0;
    if (count === 0) return undefined;
    const { slot, open, newest } = this.view;
    const taken = (from.slot[ref] as number) - 1;
    const own = this.#slots++;
    const room = own % openPerSlab;
    if (room === 0) {
      const left = Math.min(openPerSlab, slot.length - own);
      open.push(new Float64Array(new SharedArrayBuffer(left * chunkSamples * 8)));
    }
    const values = from.open[Math.floor(taken / openPerSlab)] as Float64Array;
    const begin = (taken % openPerSlab) * chunkSamples;
    // Copies memory, so that a NaN payload is preserved.
    const slab = open.at(-1) as Float64Array;
    slab.set(values.subarray(begin, begin + count), room * chunkSamples);
    slot[at] = own + 1;
    this.view.count[at] = count;
    this.view.timebase[at] = from.timebase[ref] as number;
    this.view.chain[at] = from.chain[ref] as number;
    if (newest !== undefined) newest[at] = from.newest?.[ref] ?? 0;
    return slab.subarray(room * chunkSamples, room * chunkSamples + count);
  }
}

class LabelPacker {
  readonly #index: LabelIndex;
  readonly #texts = new Map<number, number>();
  readonly #pairNumbers = new Map<number, number>();
  readonly #names: number[] = [];
  readonly #values: number[] = [];
  readonly #starts: number[] = [0];
  readonly #pairs: number[] = [];

  constructor(index: LabelIndex) {
    this.#index = index;
  }

  add(ref: number): void {
    const { table } = this.#index;
    const count = table.pairCount(ref);
    for (let i = 0; i < count; i++) this.#pairs.push(this.#pairOf(table.pair(ref, i)));
    this.#starts.push(this.#pairs.length);
  }

  take(): PackedLabels {
    return {
      texts: [...this.#texts.keys()].map((symbol) => this.#index.symbols.text(symbol)),
      names: Uint32Array.from(this.#names),
      values: Uint32Array.from(this.#values),
      starts: Uint32Array.from(this.#starts),
      pairs: Uint32Array.from(this.#pairs),
    };
  }

  #pairOf(pair: number): number {
    const known = this.#pairNumbers.get(pair);
    if (known !== undefined) return known;
    const { pairs } = this.#index;
    this.#names.push(this.#textOf(pairs.name(pair)));
    const made = this.#values.push(this.#textOf(pairs.value(pair))) - 1;
    this.#pairNumbers.set(pair, made);
    return made;
  }

  #textOf(symbol: number): number {
    const known = this.#texts.get(symbol);
    if (known !== undefined) return known;
    const made = this.#texts.size;
    this.#texts.set(symbol, made);
    return made;
  }
}
