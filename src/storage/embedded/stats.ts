/** The store's statistics, for the status pages and its own metrics. */
import { cardinality } from "./index/cardinality.ts";
import type { Maintenance } from "./maintenance.ts";
import type { QueryPool } from "./offload/pool.ts";
import { describeUnreadable } from "./quarantine.ts";
import { defaultLimits, type RuleStats, type StartReport, type StoreStats } from "./options.ts";
import { settledToMs } from "./rollups/maintenance.ts";
import { unreadableData } from "./rollups/rebuild.ts";
import { hasRollups } from "./rollups/retention.ts";
import type { StoreState } from "./state.ts";
import { isNearlyFull } from "./files/reserve.ts";
import { bytesOf, describeJump } from "./retention.ts";

const finite = (value: number): number | undefined => (Number.isFinite(value) ? value : undefined);

export function statsOf(
  state: StoreState,
  start: StartReport,
  { seals, compactions, rollups: { rolled } }: Maintenance,
  appended: StoreStats["appended"],
  pool: QueryPool | undefined,
): StoreStats {
  const { head, index, blocks, context, wal } = state;
  const removed = [...state.removed, ...state.rollups.tiers.flatMap((tier) => tier.removed)];
  const epochs = head.epochs.map(({ epoch }) => epoch);
  const unreadable = unreadableData(state);
  const headMin = Math.min(...epochs.map((epoch) => epoch.minTimeMs));
  const headMax = Math.max(...epochs.map((epoch) => epoch.maxTimeMs));
  return {
    start,
    series: index.table.count,
    maxSeries: state.options.limits?.maxSeries ?? defaultLimits.maxSeries,
    headSamples: head.samples,
    headBytes: head.byteLength,
    headChunks: epochs.reduce((sum, epoch) => sum + epoch.chunks, 0),
    headTimebases: epochs.reduce((sum, epoch) => sum + epoch.timebaseCount, 0),
    headMinTimeMs: finite(headMin),
    headMaxTimeMs: finite(headMax),
    indexBytes: index.byteLength,
    cacheBytes: context.cache.byteLength,
    cacheHits: context.cache.hits,
    cacheMisses: context.cache.misses,
    blocks: blocks.length,
    blockSamples: blocks.reduce((sum, block) => sum + block.footer.samples, 0),
    blockBytes: blocks.reduce((sum, block) => sum + block.bytes, 0),
    minTimeMs: finite(Math.min(headMin, ...blocks.map((block) => block.footer.minTimeMs))),
    maxTimeMs: finite(Math.max(headMax, ...blocks.map((block) => block.footer.maxTimeMs))),
    rollups: { ...rollupStats(state), rolled },
    rules: () => ruleStats(state),
    removedBlocks: removed.length,
    removedBytes: removed.reduce((sum, { block }) => sum + block.bytes, 0),
    logBytes: wal.bytesSinceCut,
    appended: { ...appended },
    lost: [...state.lost, ...unreadable.map(describeUnreadable)],
    unreadable: unreadable.length,
    lostSamples: state.lostSamples,
    seals,
    compactions,
    queryWorkers: pool?.stats ?? { running: 0, queries: 0, lost: 0 },
    cardinality: (limit = 10) => cardinality(index, limit),
  };
}

const ruleStats = ({ rules, index }: StoreState): readonly RuleStats[] =>
  rules.flatMap(({ match, matchers, applied, gone }) => {
    if (applied === undefined) return [];
    const { retentionMs, rollupRetentionMs } = applied;
    const series = index.select(matchers).length;
    return [{ match, retentionMs, rollupRetentionMs, series, removedBeforeMs: finite(gone.rawMs) }];
  });

function rollupStats(state: StoreState): Omit<StoreStats["rollups"], "rolled"> {
  const { rolledToMs, tiers } = state.rollups;
  const blocks = tiers.flatMap((tier) => tier.blocks);
  const settledMs = settledToMs(state);
  const fromMs = rolledToMs ?? Math.min(...state.blocks.map(({ footer }) => footer.minTimeMs));
  return {
    blocks: blocks.length,
    bytes: bytesOf(blocks),
    tiers: tiers.map((tier) => ({
      resolutionMs: tier.resolutionMs,
      bytes: bytesOf(tier.blocks),
    })),
    minTimeMs: finite(Math.min(...blocks.map(({ footer }) => footer.minTimeMs))),
    rolledToMs,
    behindMs: hasRollups(state.options) ? Math.max(0, finite(settledMs - fromMs) ?? 0) : 0,
  };
}

/** Maximum number of sentences of one kind; the log has all of them. */
const listed = 3;

/** The current problems of an open store, for `/-/ready`. */
export function problemsOf(state: StoreState): readonly string[] {
  const { options, clock, failures, lost, lostSamples } = state;
  const { jumpMs } = clock;
  return [
    ...failures.sentences,
    ...(isNearlyFull(options.dir)
      ? [`less than 1 MB is free on the disk of ${options.dir}: make room`]
      : []),
    ...(jumpMs === undefined ? [] : [describeJump(jumpMs)]),
    ...shorten(unreadableData(state).map(describeUnreadable)),
    ...(lostSamples === 0 ? [] : [`store: ${lostSamples} acknowledged samples are lost`]),
    ...shorten(lost),
  ];
}

function shorten(sentences: readonly string[]): readonly string[] {
  if (sentences.length <= listed) return sentences;
  const more = sentences.length - listed;
  return [...sentences.slice(0, listed), `${more} more like the last: see the log`];
}
