/**
 * Retention: which blocks leave the store, and when. Raw blocks and the rollups of each resolution have separate
 * retention times. A block past its retention is no longer read; its file stays for a grace period, in which a longer
 * retention restores it. The size limit shortens that period.
 */
import { formatDuration } from "../../config/duration.ts";
import type { Block } from "./blocks/block.ts";
import { isOverdue, planRemoval, type Removal } from "./blocks/plan.ts";
import { defaultRemovalGraceMs } from "./options.ts";
import { formatResolution } from "./rollups/columns.ts";
import { hasRollups, tierRetentionMs } from "./rollups/retention.ts";
import { replaceTier } from "./rollups/state.ts";
import { changeState, newestSampleMs, type RemovedBlock, type StoreState } from "./state.ts";

/** Agents' clocks may be this far ahead of the hub's; samples further ahead are rejected on receipt. */
const newestSlackMs = 600_000;
/** The share of the size limit for all rollups; raw samples get the rest. */
const rollupShare = 0.5;

/** Samples before this may be deleted. Samples that are not rolled up yet stay, whatever their age. */
function rawCutoffMs(state: StoreState): number {
  const cutoffMs = cutoffOf(state, state.options.retentionMs);
  if (!hasRollups(state.options)) return cutoffMs;
  return Math.min(cutoffMs, state.rollups.rolledToMs ?? -Infinity);
}

/** Based on the trusted time, but never ahead of the newest sample: a store that receives nothing deletes nothing. */
export function cutoffOf(state: StoreState, retentionMs: number): number {
  const newestMs = newestSampleMs(state.blocks, state.head) + newestSlackMs;
  return Math.min(state.retentionNowMs(), newestMs) - retentionMs;
}

/** Describes the effect of a wall clock jump on the stored data. */
export function describeJump(jumpMs: number): string {
  const distance = formatDuration(Math.round(Math.abs(jumpMs) / 60_000) * 60_000);
  return `the clock jumped and is ${distance} ${jumpMs > 0 ? "ahead of" : "behind"} the time that retention trusts: fix the clock; retention follows it only after it has run steadily for a day`;
}

export const toPlannedBlocks = (blocks: readonly Block[]) =>
  blocks.map((block) => ({
    block,
    id: block.id,
    bytes: block.bytes,
    samples: block.footer.samples,
    minTimeMs: block.footer.minTimeMs,
    maxTimeMs: block.footer.maxTimeMs,
    hasDeleted: block.tombstones.length > 0,
  }));

export const bytesOf = (blocks: readonly Block[]): number =>
  blocks.reduce((sum, block) => sum + block.bytes, 0);

/** Blocks with one retention: the raw ones, or the rollups of one resolution. */
export interface RetainedBlocks {
  readonly what: string;
  readonly blocks: readonly Block[];
  readonly removed: readonly RemovedBlock[];
  readonly retentionMs: number;
  readonly cutoffMs: number;
  readonly limitBytes: number;
  /** Times before which samples are permanently deleted, and before which they have left the store. */
  readonly unlinkedBeforeMs: number;
  readonly goneBeforeMs: number;
  change(to: RetainedChange): void;
}

type RetainedChange = Partial<
  Pick<RetainedBlocks, "blocks" | "removed" | "goneBeforeMs" | "unlinkedBeforeMs">
>;

export function rawBlocks(state: StoreState): RetainedBlocks {
  const { options, wal, rollups } = state;
  const rollupBytes = rollups.tiers.reduce((sum, { blocks }) => sum + bytesOf(blocks), 0);
  const { blocks, removed, goneBeforeMs, unlinkedBeforeMs } = state;
  return {
    what: "blocks",
    blocks,
    removed,
    goneBeforeMs,
    unlinkedBeforeMs,
    retentionMs: options.retentionMs,
    cutoffMs: rawCutoffMs(state),
    limitBytes: (options.retentionBytes ?? Infinity) - wal.bytesSinceCut - rollupBytes,
    change: (to) => changeState(state, to),
  };
}

export function tierBlocks(state: StoreState, resolutionMs: number): RetainedBlocks {
  const tier = state.rollups.tiers.find((one) => one.resolutionMs === resolutionMs);
  if (tier === undefined) throw new Error(`BUG: no rollups of ${resolutionMs} ms`);
  const retentionMs = tierRetentionMs(state.options, resolutionMs);
  const share = rollupShare / state.rollups.tiers.length;
  return {
    ...tier,
    what: `${formatResolution(resolutionMs)} rollups`,
    retentionMs,
    cutoffMs: cutoffOf(state, retentionMs),
    limitBytes: (state.options.retentionBytes ?? Infinity) * share,
    change: (to) => changeState(state, { rollups: replaceTier(state.rollups, resolutionMs, to) }),
  };
}

/** Removes, restores and unlinks the blocks that are due; returns true if files were unlinked. */
export function applyRetention(state: StoreState, isDiskFull: boolean): boolean {
  const sets = [
    (): RetainedBlocks => rawBlocks(state),
    ...state.rollups.tiers.map(
      ({ resolutionMs }) =>
        (): RetainedBlocks =>
          tierBlocks(state, resolutionMs),
    ),
  ];
  let isUnlinked = false;
  for (const current of sets) {
    restore(state, current());
    remove(state, current());
    if (unlink(state, current(), isDiskFull)) isUnlinked = true;
  }
  return isUnlinked;
}

/** Restores blocks that are still on disk after retention was raised or the trusted time was corrected. */
function restore({ options }: StoreState, set: RetainedBlocks): void {
  let roomBytes = set.limitBytes - bytesOf(set.blocks);
  const restored = set.removed.filter(({ block }) => {
    const { footer } = block;
    if (isOverdue(footer, set.cutoffMs, set.retentionMs) || footer.maxTimeMs < set.cutoffMs)
      return false;
    if (block.bytes > roomBytes) return false;
    roomBytes -= block.bytes;
    return true;
  });
  if (restored.length === 0) return;
  const blocks = restored.map(({ block }) => block);
  const removed = set.removed.filter((one) => !restored.includes(one));
  set.change({
    blocks: [...set.blocks, ...blocks],
    removed,
    goneBeforeMs: Math.max(
      set.unlinkedBeforeMs,
      ...removed.map(({ block }) => block.footer.maxTimeMs + 1),
    ),
  });
  options.log.info(`${set.what} within retention again were restored`, describe(blocks));
}

function remove({ options, monotonicMs }: StoreState, set: RetainedBlocks): void {
  const removals = planRemoval(toPlannedBlocks(set.blocks), set.cutoffMs, set.limitBytes);
  if (removals.length === 0) return;
  const graceMs = options.removalGraceMs ?? defaultRemovalGraceMs;
  const nowMs = monotonicMs();
  const leaving = new Set(removals.map(({ block }) => block.block));
  set.change({
    blocks: set.blocks.filter((block) => !leaving.has(block)),
    removed: [
      ...set.removed,
      ...removals.map(({ block: { block }, why }) => ({
        block,
        unlinkAtMs: why === "size" ? nowMs : nowMs + graceMs,
      })),
    ],
    goneBeforeMs: Math.max(set.goneBeforeMs, ...removals.map(({ block }) => block.maxTimeMs + 1)),
  });
  const because: Record<Removal<Block>["why"], string> = {
    time: olderThan(set.retentionMs),
    size: `the oldest of a store larger than ${options.retentionBytes} bytes`,
  };
  for (const why of ["time", "size"] as const) {
    const blocks = removals.flatMap((one) => (one.why === why ? [one.block.block] : []));
    if (blocks.length === 0) continue;
    options.log.info(`${set.what} were removed from the store`, {
      ...describe(blocks),
      why: because[why],
      filesDeletedIn: why === "size" ? "0s" : formatDuration(graceMs),
    });
  }
}

const olderThan = (retentionMs: number): string =>
  `older than the retention of ${formatDuration(retentionMs)}`;

/** Replaces a block by its copy without samples past retention; the old file also stays for the grace period. */
export function replaceOverdue(
  { options, monotonicMs }: StoreState,
  set: RetainedBlocks,
  block: Block,
  rest: readonly Block[],
): void {
  const graceMs = options.removalGraceMs ?? defaultRemovalGraceMs;
  set.change({
    blocks: [...set.blocks.filter((one) => one !== block), ...rest],
    removed: [...set.removed, { block, unlinkAtMs: monotonicMs() + graceMs }],
    goneBeforeMs: Math.max(set.goneBeforeMs, Math.ceil(set.cutoffMs)),
  });
  options.log.info(`samples were removed from ${set.what}`, {
    ...describe([block]),
    to: new Date(set.cutoffMs).toISOString(),
    samples: block.footer.samples - rest.reduce((sum, { footer }) => sum + footer.samples, 0),
    why: olderThan(set.retentionMs),
    filesDeletedIn: formatDuration(graceMs),
  });
}

function unlink({ options, monotonicMs }: StoreState, set: RetainedBlocks, isDiskFull: boolean) {
  const nowMs = monotonicMs();
  let totalBytes = bytesOf(set.blocks) + bytesOf(set.removed.map(({ block }) => block));
  const due = [...set.removed]
    .sort((a, b) => a.block.footer.maxTimeMs - b.block.footer.maxTimeMs)
    .filter(({ block, unlinkAtMs }) => {
      const isDue = unlinkAtMs <= nowMs || isDiskFull || totalBytes > set.limitBytes;
      if (isDue) totalBytes -= block.bytes;
      return isDue;
    });
  if (due.length === 0) return false;
  const lastMs = Math.max(...due.map(({ block }) => block.footer.maxTimeMs + 1));
  set.change({
    removed: set.removed.filter((one) => !due.includes(one)),
    unlinkedBeforeMs: Math.max(set.unlinkedBeforeMs, Math.min(lastMs, set.goneBeforeMs)),
  });
  const files = due.map(({ block }) => block);
  for (const block of files) block.remove();
  options.log.info(`the files of removed ${set.what} were deleted`, describe(files));
  return true;
}

function describe(blocks: readonly Block[]) {
  const instant = (ms: number): string => new Date(ms).toISOString();
  return {
    blocks: blocks.length,
    ids: blocks.map(({ id }) => id).join(","),
    from: instant(Math.min(...blocks.map(({ footer }) => footer.minTimeMs))),
    to: instant(Math.max(...blocks.map(({ footer }) => footer.maxTimeMs))),
    samples: blocks.reduce((sum, { footer }) => sum + footer.samples, 0),
    bytes: bytesOf(blocks),
  };
}
