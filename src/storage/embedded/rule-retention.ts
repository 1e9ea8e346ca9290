/**
 * Retention by matcher: raw samples and rollups of series that match a rule are removed earlier than others, each after
 * its own time. A rule can only shorten the store's retention, and the shortest of several rules applies, so their order
 * has no effect. Samples that are due are hidden by a tombstone for exactly these series, and leave the files at the
 * next rewrite.
 */
import { formatDuration } from "../../config/duration.ts";
import type { Block } from "./blocks/block.ts";
import { overdueShare, smallSamples } from "./blocks/plan.ts";
import type { Tombstone } from "./column-source.ts";
import { lowerBound } from "./index/postings.ts";
import { defaultRemovalGraceMs } from "./options.ts";
import { cutoffOf } from "./retention.ts";
import { columnRef, formatResolution } from "./rollups/columns.ts";
import { goneOfAll, isLaterGone, nothingGone } from "./rollups/gone.ts";
import { columnsOf } from "./rollups/outdated.ts";
import { hasRollups, tierRetentionMs } from "./rollups/retention.ts";
import { replaceTier } from "./rollups/state.ts";
import type { GoneBounds, RetainedSeries, RetentionRule } from "./rules.ts";
import { changeState, type StoreState } from "./state.ts";

/** A rule's series are checked again after this share of its retention, or when the blocks have changed. */
const lookShare = 0.01;

/** Applies the retention rules. */
export class RuleRetention {
  readonly #state: StoreState;
  /** The last check: nothing new is due before time has passed or blocks have changed. */
  readonly #looked = new Map<
    string,
    { readonly blocks: readonly Block[]; readonly dueMs: number }
  >();

  constructor(state: StoreState) {
    this.#state = state;
  }

  /** Hides samples that are due. Call only from within the queue. */
  apply(): void {
    const state = this.#state;
    const { retentionRules } = state.options;
    if (retentionRules === undefined) return;
    updateRules(state, retentionRules);
    for (const { match } of state.rules) {
      this.#removeSamples(match);
      for (const { resolutionMs } of state.rollups.tiers) this.#removeEntries(match, resolutionMs);
    }
  }

  #removeSamples(match: string): void {
    const state = this.#state;
    const rule = dueRule(state, match);
    if (rule === undefined) return;
    const { retentionMs, rollupRetentionMs } = rule.applied;
    // If the rollups are retained longer, samples stay until they are rolled up.
    const untilMs =
      hasRollups(state.options) && rollupRetentionMs > retentionMs
        ? (state.rollups.rolledToMs ?? -Infinity)
        : Infinity;
    const cutoffMs = Math.min(cutoffOf(state, retentionMs), untilMs);
    const refs = state.index.selectAll(rule.matchers);
    const toMs = this.#overdueTo(match, state.blocks, refs, { cutoffMs, retentionMs, alignMs: 1 });
    if (toMs === undefined) return;
    changeState(state, {
      tombstones: [...state.tombstones, tombstoneOf(state, refs, toMs)],
      rules: withGone(state, rule, { ...rule.gone, rawMs: Math.max(rule.gone.rawMs, toMs + 1) }),
    });
    logRemoval(state, "samples", match, retentionMs, refs.length, toMs);
  }

  #removeEntries(match: string, resolutionMs: number): void {
    const state = this.#state;
    const rule = dueRule(state, match);
    const tier = state.rollups.tiers.findIndex((one) => one.resolutionMs === resolutionMs);
    const blocks = state.rollups.tiers[tier]?.blocks ?? [];
    if (rule === undefined || blocks.length === 0) return;
    const retentionMs = tierRetentionMs(rule.applied, resolutionMs);
    const refs = state.index.selectAll(rule.matchers);
    const what = `${formatResolution(resolutionMs)} rollups`;
    const toMs = this.#overdueTo(
      `${match} ${what}`,
      blocks,
      refs.map((ref) => columnRef(ref, "last")),
      // Aligned to whole buckets, because the columns of an entry have different timestamps.
      { cutoffMs: cutoffOf(state, retentionMs), retentionMs, alignMs: resolutionMs },
    );
    if (toMs === undefined) return;
    const { tombstones } = state.rollups.tiers[tier] ?? { tombstones: [] };
    const tombstone = tombstoneOf(state, columnsOf(refs), toMs);
    const tiersMs = rule.gone.tiersMs.map((ms, i) => (i === tier ? Math.max(ms, toMs + 1) : ms));
    changeState(state, {
      rollups: replaceTier(state.rollups, resolutionMs, { tombstones: [...tombstones, tombstone] }),
      rules: withGone(state, rule, { ...rule.gone, tiersMs }),
    });
    logRemoval(state, what, match, retentionMs, refs.length, toMs);
  }

  /**
   * Time up to which these columns are to be removed from the blocks; undefined if nothing is due. A block is rewritten
   * if all of a series' samples in it are past retention, or a tenth of the retention and, in a large block, half of the
   * block; so a large one is rewritten at most twice for a rule.
   */
  #overdueTo(
    key: string,
    blocks: readonly Block[],
    columns: Uint32Array,
    { cutoffMs, retentionMs, alignMs }: { cutoffMs: number; retentionMs: number; alignMs: number },
  ): number | undefined {
    const dueMs = Math.floor((Math.ceil(cutoffMs) - 1) / alignMs) * alignMs;
    const looked = this.#looked.get(key);
    if (looked?.blocks === blocks && dueMs - looked.dueMs < retentionMs * lookShare)
      return undefined;
    this.#looked.set(key, { blocks, dueMs });
    let toMs: number | undefined;
    for (const block of blocks) {
      const { minTimeMs, maxTimeMs, samples } = block.footer;
      if (minTimeMs > dueMs) continue;
      const halfMs = samples > smallSamples ? (maxTimeMs - minTimeMs) / 2 : 0;
      const slackMs = Math.max(retentionMs * overdueShare, halfMs);
      if (!hasOverdue(block, columns, dueMs, slackMs)) continue;
      const lastMs = Math.ceil(maxTimeMs / alignMs) * alignMs;
      toMs = Math.max(toMs ?? -Infinity, Math.min(dueMs, lastMs));
    }
    return toMs;
  }
}

/** Adopts the configured rules. A changed rule starts a new grace period. */
function updateRules(state: StoreState, retentionRules: readonly RetentionRule[]): void {
  const { rules, rollups, goneBeforeMs } = state;
  const isKnown = ({ match, retentionMs, rollupRetentionMs }: RetentionRule): boolean =>
    rules.some(
      (rule) =>
        rule.match === match &&
        rule.applied?.retentionMs === retentionMs &&
        rule.applied.rollupRetentionMs === rollupRetentionMs,
    );
  const isConfigured = (match: string): boolean =>
    retentionRules.some((one) => one.match === match);
  const isOver = ({ gone }: RetainedSeries): boolean =>
    !isLaterGone(gone, goneOfAll(goneBeforeMs, rollups));
  const left = rules.filter((rule) => !isConfigured(rule.match));
  if (
    retentionRules.every(isKnown) &&
    left.every((rule) => rule.applied === undefined && !isOver(rule))
  )
    return;
  const sinceMs = Math.floor(state.retentionNowMs());
  const configured = retentionRules.map((rule): RetainedSeries => {
    const { match, matchers, retentionMs, rollupRetentionMs } = rule;
    const before = rules.find((one) => one.match === match);
    if (before !== undefined && isKnown(rule)) return before;
    const gone = before?.gone ?? nothingGone(rollups);
    return { match, matchers, applied: { retentionMs, rollupRetentionMs, sinceMs }, gone };
  });
  const ended = left
    .filter((rule) => !isOver(rule))
    .map((rule): RetainedSeries => ({ ...rule, applied: undefined }));
  changeState(state, { rules: [...configured, ...ended] });
}

/** Returns the rule once its grace period is over. */
function dueRule({ rules, options, retentionNowMs }: StoreState, match: string) {
  const rule = rules.find((one) => one.match === match);
  const graceMs = options.removalGraceMs ?? defaultRemovalGraceMs;
  if (rule?.applied === undefined) return undefined;
  const { applied } = rule;
  return retentionNowMs() - applied.sinceMs < graceMs ? undefined : { ...rule, applied };
}

const tombstoneOf = (state: StoreState, refs: Uint32Array, toMs: number): Tombstone => ({
  fromMs: -Infinity,
  toMs,
  beforeBlock: state.nextBlock,
  refs,
});

const withGone = ({ rules }: StoreState, { match }: RetainedSeries, gone: GoneBounds) =>
  rules.map((one) => (one.match === match ? { ...one, gone } : one));

/** True if the block has samples of these columns that are due for removal and not hidden by a deletion yet. */
function hasOverdue(block: Block, columns: Uint32Array, dueMs: number, slackMs: number): boolean {
  const { directory, timebases } = block.parts;
  let at = 0;
  for (const column of columns) {
    at = lowerBound(directory.refs, at, directory.refs.length, column);
    if (directory.refs[at] !== column) continue;
    const timebase = directory.timebase[at] as number;
    const lastMs = timebases.lastMs[timebase] as number;
    let firstMs = timebases.firstMs[timebase] as number;
    for (const { fromMs, toMs, refs } of block.tombstones)
      if (fromMs <= firstMs && refs[lowerBound(refs, 0, refs.length, column)] === column)
        firstMs = Math.max(firstMs, toMs + 1);
    if (firstMs <= lastMs && (lastMs <= dueMs || firstMs <= dueMs - slackMs)) return true;
  }
  return false;
}

function logRemoval(
  { options }: StoreState,
  what: string,
  match: string,
  retentionMs: number,
  series: number,
  toMs: number,
): void {
  options.log.info(`${what} were removed by a retention rule`, {
    match,
    series,
    to: new Date(toMs).toISOString(),
    why: `older than the rule's retention of ${formatDuration(retentionMs)}`,
  });
}
