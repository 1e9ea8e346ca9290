/** The complete state of an open store, and the changes that must reach the disk atomically. */
import path from "node:path";
import { ReplacedUnsyncedError } from "../../base/state/atomic.ts";
import type { Block, BlockContext } from "./blocks/block.ts";
import type { Tombstone } from "./column-source.ts";
import { footerBytes, writeFooter } from "./blocks/format.ts";
import type { DiskFailures } from "./failures.ts";
import type { SeriesLog } from "./files/series-log.ts";
import {
  formatVersion,
  type StoreManifest,
  readManifest,
  type RollupRanges,
  storeBound,
  storeTombstone,
  writeManifest,
} from "./files/manifest.ts";
import type { Head } from "./head/head.ts";
import type { LabelIndex } from "./index/index.ts";
import { lowerBound } from "./index/postings.ts";
import type { Quarantine } from "./quarantine.ts";
import { storeRollups } from "./rollups/manifest.ts";
import { rollupBlocks, type RollupState } from "./rollups/state.ts";
import type { StoreOptions } from "./options.ts";
import { type RetainedSeries, storeRules } from "./rules.ts";
import type { SeriesBudget } from "./series-budget.ts";
import type { TrustedClock } from "../../base/state/trusted-clock.ts";
import type { WriteAheadLog } from "./wal/log.ts";

export const blocksFolder = (dir: string): string => path.join(dir, "blocks");
export const walFolder = (dir: string): string => path.join(dir, "wal");
export const blockFile = (dir: string, id: number): string =>
  path.join(blocksFolder(dir), `${String(id).padStart(10, "0")}.block`);
export const seriesFile = (dir: string, number: number): string =>
  path.join(dir, `series-${number}.log`);

/** A block past retention: no longer read, but still on disk. */
export interface RemovedBlock {
  readonly block: Block;
  /** Monotonic time. */
  readonly unlinkAtMs: number;
}

export interface StoreState {
  readonly options: StoreOptions;
  /** Throws if another process has locked the folder. */
  readonly requireLock: () => void;
  readonly storeId: string;
  /** Counts the manifests written. */
  generation: number;
  readonly context: BlockContext;
  readonly monotonicMs: () => number;
  readonly clock: TrustedClock;
  /** The time for retention. */
  readonly retentionNowMs: () => number;
  index: LabelIndex;
  readonly head: Head;
  readonly budget: SeriesBudget;
  readonly wal: WriteAheadLog;
  seriesLog: SeriesLog;
  seriesLogNumber: number;
  /** Series that are not in the series log yet. */
  unpersisted: number[];
  blocks: readonly Block[];
  removed: readonly RemovedBlock[];
  /** The trusted time in the manifest on disk. */
  storedTrustedMs: number;
  tombstones: readonly Tombstone[];
  /** Raw samples before this may be gone; those before `unlinkedBeforeMs` cannot be restored. */
  goneBeforeMs: number;
  unlinkedBeforeMs: number;
  rollups: RollupState;
  /** Retention rules by matcher, and what they have removed. */
  rules: readonly RetainedSeries[];
  nextBlock: number;
  walFrom: number;
  /** Current disk failures. */
  readonly failures: DiskFailures;
  /** Parts that are unreadable now and are retried later. */
  readonly quarantine: Quarantine;
  /** Sentences about permanent losses since the store was opened. */
  readonly lost: string[];
  /** Acknowledged samples that are lost, as far as they can be counted. */
  lostSamples: number;
  /** Series numbers in the write-ahead log whose labels are lost; not reused while that log is in use. */
  readonly unlabelled: ReadonlySet<number>;
  /** The checksums of the blocks in the manifest at startup. */
  readonly storedChecks: Readonly<Record<string, number>>;
  /** The time ranges of the rollups in the manifest at startup. */
  readonly storedRanges: RollupRanges;
  /** Set if the series log is damaged or in an older format, and is rewritten before the next seal. */
  pendingRewrite: { readonly isDamaged: boolean } | undefined;
}

/** The lists of files; a change takes effect only once it is on disk. */
type Files = Partial<
  Pick<
    StoreState,
    | "blocks"
    | "removed"
    | "goneBeforeMs"
    | "unlinkedBeforeMs"
    | "rollups"
    | "rules"
    | "walFrom"
    | "tombstones"
    | "seriesLog"
    | "seriesLogNumber"
  >
>;

export const newestSampleMs = (blocks: readonly Block[], head: Head): number =>
  Math.max(
    ...head.epochs.map(({ epoch }) => epoch.maxTimeMs),
    ...blocks.map((block) => block.footer.maxTimeMs),
  );

/**
 * Changes the lists in memory and on disk; if the disk write fails, nothing changes. After a ReplacedUnsyncedError the
 * change applies, but a power cut may undo it: no file from before or after it may be removed then.
 */
export function changeState(state: StoreState, change: Files): void {
  state.requireLock();
  const { blocks, removed, walFrom, tombstones, seriesLog, seriesLogNumber } = state;
  const { goneBeforeMs, unlinkedBeforeMs, rollups, rules } = state;
  const before = { blocks, removed, walFrom, tombstones, seriesLog, seriesLogNumber };
  Object.assign(state, change);
  try {
    assignTombstones(state);
    writeState(state);
  } catch (thrown) {
    if (thrown instanceof ReplacedUnsyncedError) throw thrown;
    Object.assign(state, before, { goneBeforeMs, unlinkedBeforeMs, rollups, rules });
    assignTombstones(state);
    throw thrown;
  }
}

/** Writes the current lists to the manifest, so that they apply after a restart. */
export function writeState(state: StoreState): void {
  const trustedMs = Math.floor(state.retentionNowMs());
  const generation = state.generation + 1;
  try {
    writeManifest(state.options.dir, { ...manifestOf(state), generation, trustedMs });
  } catch (thrown) {
    if (thrown instanceof ReplacedUnsyncedError) state.generation = generation;
    throw thrown;
  }
  state.generation = generation;
  state.seriesLog.isHeld = false;
  state.storedTrustedMs = trustedMs;
  state.wal.markGeneration(generation);
}

/**
 * Writes the manifest only if it differs: after startup it mostly does not, and a sync may wait long for other pending
 * writes.
 */
export function writeStateIfChanged(state: StoreState): void {
  const stored = readManifest(state.options.dir);
  const lists =
    typeof stored === "object"
      ? { ...stored, generation: undefined, trustedMs: undefined }
      : stored;
  if (JSON.stringify(lists) !== JSON.stringify(manifestOf(state))) writeState(state);
}

/** The CRC-32 that ends a block's footer: it covers the checksums of all the block's parts. */
export const blockCheck = ({ footer }: Block): number =>
  writeFooter(footer).readUInt32LE(footerBytes - 12);

export const blockChecks = (blocks: readonly Block[]): Record<string, number> =>
  Object.fromEntries(blocks.map((block) => [String(block.id), blockCheck(block)]));

/** Includes the stored checksums of blocks that cannot be opened now. */
function checksOf({ blocks, removed, quarantine, storedChecks, rollups }: StoreState) {
  const removedBlocks = removed.map(({ block }) => block);
  const checks = blockChecks([...blocks, ...removedBlocks, ...rollupBlocks(rollups)]);
  for (const id of quarantine.unopenedAll) {
    const check = storedChecks[String(id)];
    if (check !== undefined) checks[String(id)] = check;
  }
  return checks;
}

export const rollupRanges = (rollups: RollupState): RollupRanges =>
  Object.fromEntries(
    rollupBlocks(rollups).map(({ id, footer }) => [
      String(id),
      [footer.minTimeMs, footer.maxTimeMs],
    ]),
  );

/** Includes the stored ranges of rollups that cannot be opened now. */
function rangesOf({ rollups, quarantine, storedRanges }: StoreState): RollupRanges {
  const unopened = quarantine.unopenedRollups.flatMap((id) => {
    const range = storedRanges[String(id)];
    return range === undefined ? [] : [[String(id), range] as const];
  });
  return { ...rollupRanges(rollups), ...Object.fromEntries(unopened) };
}

const manifestOf = (state: StoreState): StoreManifest => ({
  version: formatVersion,
  storeId: state.storeId,
  nextBlock: state.nextBlock,
  blocks: [...state.blocks.map((block) => block.id), ...state.quarantine.unopened],
  blockChecks: checksOf(state),
  rollupRanges: rangesOf(state),
  removed: state.removed.map(({ block }) => block.id),
  goneBeforeMs: storeBound(state.goneBeforeMs),
  unlinkedBeforeMs: storeBound(state.unlinkedBeforeMs),
  rollups: storeRollups(state.rollups, state.quarantine),
  ...(state.rules.length > 0 && { rules: storeRules(state.rules) }),
  walFrom: state.walFrom,
  walStart: state.wal.startOf(state.walFrom),
  seriesLog: state.seriesLogNumber,
  seriesRecords: state.seriesLog.syncedRecords,
  tombstones: state.tombstones.map(storeTombstone),
});

/**
 * Assigns deletions to the blocks they apply to, and drops those that apply neither to a block nor to one that cannot be
 * opened now.
 */
export function assignTombstones(state: StoreState): void {
  const { rollups, quarantine } = state;
  state.tombstones = assign(state, quarantine.unopened);
  const tiers = rollups.tiers.map((tier) => ({
    ...tier,
    tombstones: assign(tier, quarantine.unopenedOf(tier.resolutionMs)),
  }));
  state.rollups = { ...rollups, tiers };
}

/** Returns the deletions that apply to a block. */
function assign(
  { blocks, removed, tombstones }: Pick<StoreState, "blocks" | "removed" | "tombstones">,
  unopened: readonly number[],
): readonly Tombstone[] {
  const needed = new Set<Tombstone>();
  for (const block of [...blocks, ...removed.map((one) => one.block)]) {
    block.tombstones = tombstones.filter((tombstone) => touches(block, tombstone));
    for (const tombstone of block.tombstones) needed.add(tombstone);
  }
  return tombstones.filter(
    (tombstone) => needed.has(tombstone) || unopened.some((id) => id < tombstone.beforeBlock),
  );
}

function touches(block: Block, { beforeBlock, fromMs, toMs, refs }: Tombstone): boolean {
  const { footer, directory } = block;
  if (block.id >= beforeBlock || footer.minTimeMs > toMs || footer.maxTimeMs < fromMs) return false;
  let at = 0;
  for (const ref of refs) {
    at = lowerBound(directory.refs, at, directory.refs.length, ref);
    if (directory.refs[at] === ref) return true;
  }
  return false;
}
