/**
 * Retention: which blocks leave the store, and when. A block that is past retention is no longer
 * read; its file stays for a grace period, in which a longer retention brings it back. The size limit shortens that period.
 */
import { formatDuration } from "../../config/duration.ts";
import type { Block } from "./blocks/block.ts";
import { isOverdue, planRemoval, type Removal } from "./blocks/plan.ts";
import { defaultRemovalGraceMs } from "./options.ts";
import { changeState, newestSampleMs, type StoreState } from "./state.ts";

/** Agents' clocks may be this far ahead of the hub's: more is refused on receipt. */
const newestSlackMs = 600_000;

/**
 * Samples before this may be deleted. It follows the trusted time and is never ahead of the newest sample: a store that
 * receives nothing deletes nothing.
 */
export function cutoffMs(state: StoreState): number {
  const newestMs = newestSampleMs(state.blocks, state.head) + newestSlackMs;
  return Math.min(state.retentionNowMs(), newestMs) - state.options.retentionMs;
}

/** What a wall clock that jumped means for the history. */
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

const bytesOf = (blocks: readonly Block[]): number =>
  blocks.reduce((sum, block) => sum + block.bytes, 0);

/** Removes, restores and unlinks the blocks that are due; true when files were unlinked. */
export function applyRetention(state: StoreState, isDiskFull: boolean): boolean {
  restore(state);
  remove(state);
  return unlink(state, isDiskFull);
}

/** Retention was raised, or the time it trusts was corrected: blocks still on the disk are restored. */
function restore(state: StoreState): void {
  const fromMs = cutoffMs(state);
  const { retentionMs, retentionBytes = Infinity } = state.options;
  let roomBytes = retentionBytes - bytesOf(state.blocks) - state.wal.bytesSinceCut;
  const restored = state.removed.filter(({ block }) => {
    if (isOverdue(block.footer, fromMs, retentionMs) || block.footer.maxTimeMs < fromMs)
      return false;
    if (block.bytes > roomBytes) return false;
    roomBytes -= block.bytes;
    return true;
  });
  if (restored.length === 0) return;
  const blocks = restored.map(({ block }) => block);
  changeState(state, {
    blocks: [...state.blocks, ...blocks],
    removed: state.removed.filter((one) => !restored.includes(one)),
  });
  state.options.log.info("blocks within retention again were restored", describe(blocks));
}

function remove(state: StoreState): void {
  const { options, wal } = state;
  const { retentionMs, retentionBytes = Infinity } = options;
  const removals = planRemoval(
    toPlannedBlocks(state.blocks),
    cutoffMs(state),
    retentionBytes - wal.bytesSinceCut,
  );
  if (removals.length === 0) return;
  const graceMs = options.removalGraceMs ?? defaultRemovalGraceMs;
  const nowMs = state.monotonicMs();
  const leaving = new Set(removals.map(({ block }) => block.block));
  changeState(state, {
    blocks: state.blocks.filter((block) => !leaving.has(block)),
    removed: [
      ...state.removed,
      ...removals.map(({ block: { block }, why }) => ({
        block,
        unlinkAtMs: why === "size" ? nowMs : nowMs + graceMs,
      })),
    ],
  });
  const because: Record<Removal<Block>["why"], string> = {
    time: olderThan(retentionMs),
    size: `the oldest of a store larger than ${retentionBytes} bytes`,
  };
  for (const why of ["time", "size"] as const) {
    const blocks = removals.flatMap((one) => (one.why === why ? [one.block.block] : []));
    if (blocks.length === 0) continue;
    options.log.info("blocks were removed from the store", {
      ...describe(blocks),
      why: because[why],
      filesDeletedIn: why === "size" ? "0s" : formatDuration(graceMs),
    });
  }
}

const olderThan = (retentionMs: number): string =>
  `older than the retention of ${formatDuration(retentionMs)}`;

/** A block was rewritten without its samples past retention: the old file stays for the grace period as well. */
export function replaceOverdue(state: StoreState, block: Block, rest: readonly Block[]): void {
  const { options, removed } = state;
  const graceMs = options.removalGraceMs ?? defaultRemovalGraceMs;
  changeState(state, {
    blocks: [...state.blocks.filter((one) => one !== block), ...rest],
    removed: [...removed, { block, unlinkAtMs: state.monotonicMs() + graceMs }],
  });
  options.log.info("samples were removed from a block", {
    ...describe([block]),
    to: new Date(cutoffMs(state)).toISOString(),
    samples: block.footer.samples - rest.reduce((sum, { footer }) => sum + footer.samples, 0),
    why: olderThan(options.retentionMs),
    filesDeletedIn: formatDuration(graceMs),
  });
}

function unlink(state: StoreState, isDiskFull: boolean): boolean {
  const { options, wal, blocks, removed } = state;
  const nowMs = state.monotonicMs();
  let totalBytes = bytesOf(blocks) + bytesOf(removed.map(({ block }) => block)) + wal.bytesSinceCut;
  const due = [...removed]
    .sort((a, b) => a.block.footer.maxTimeMs - b.block.footer.maxTimeMs)
    .filter(({ block, unlinkAtMs }) => {
      const isDue =
        unlinkAtMs <= nowMs || isDiskFull || totalBytes > (options.retentionBytes ?? Infinity);
      if (isDue) totalBytes -= block.bytes;
      return isDue;
    });
  if (due.length === 0) return false;
  changeState(state, { removed: removed.filter((one) => !due.includes(one)) });
  const files = due.map(({ block }) => block);
  for (const block of files) block.remove();
  options.log.info("the files of removed blocks were deleted", describe(files));
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
