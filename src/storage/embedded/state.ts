/** Everything an open store holds, and its changes that must reach the disk in one step. */
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

/** A block past retention: not read any more, but still on the disk. */
export interface RemovedBlock {
  readonly block: Block;
  /** By the monotonic clock. */
  readonly unlinkAtMs: number;
}

export interface StoreState {
  readonly options: StoreOptions;
  /** Throws when another process has locked the folder. */
  readonly requireLock: () => void;
  readonly storeId: string;
  /** Counts the manifests written. */
  generation: number;
  readonly context: BlockContext;
  readonly monotonicMs: () => number;
  readonly clock: TrustedClock;
  /** The time that retention is judged by. */
  readonly retentionNowMs: () => number;
  index: LabelIndex;
  readonly head: Head;
  readonly budget: SeriesBudget;
  readonly wal: WriteAheadLog;
  seriesLog: SeriesLog;
  seriesLogNumber: number;
  /** Series that the series log does not hold yet. */
  unpersisted: number[];
  blocks: readonly Block[];
  removed: readonly RemovedBlock[];
  /** The trusted time in the manifest on the disk. */
  storedTrustedMs: number;
  tombstones: readonly Tombstone[];
  /** Raw samples before this may be gone, and those before `unlinkedBeforeMs` cannot be restored any more. */
  goneBeforeMs: number;
  unlinkedBeforeMs: number;
  rollups: RollupState;
  /** Retention rules by matcher, and what they have removed. */
  rules: readonly RetainedSeries[];
  nextBlock: number;
  walFrom: number;
  /** What the disk refuses now. */
  readonly failures: DiskFailures;
  /** What cannot be read now, and may be later. */
  readonly quarantine: Quarantine;
  /** Sentences: what was lost for good since the store was opened. */
  readonly lost: string[];
  /** Samples that were acknowledged and cannot be served any more, as far as they can be counted. */
  lostSamples: number;
  /** Numbers of series in the write-ahead log whose labels are lost: not given out again while it counts. */
  readonly unlabelled: ReadonlySet<number>;
  /** The checksums of the blocks that the manifest named at the start. */
  readonly storedChecks: Readonly<Record<string, number>>;
  /** What the rollups span that the manifest named at the start. */
  readonly storedRanges: RollupRanges;
  /** The series log is damaged or of an older format, and is written again before the next seal. */
  pendingRewrite: { readonly isDamaged: boolean } | undefined;
}

/** The lists of files, of which a change counts only once it is on the disk. */
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
 * Makes a change to the lists, here and on the disk; if the disk does not take it, everything stays as it was. With a
 * ReplacedUnsyncedError the change counts, but a power cut may undo it: no file of before or after may be removed then.
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

/** Makes the present lists the ones that count after a restart. */
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

/** After a start they mostly count already, and putting a file on the disk can wait long for what else is on its way there. */
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

/** Those of blocks that cannot be opened now are carried over. */
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

/** Those of rollups that cannot be opened now are carried over. */
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

/** Assigns each block the deletions that apply to it, and drops deletions that apply to none, nor to one that cannot be opened now. */
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
