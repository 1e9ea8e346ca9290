/** The rollups of an open store: which blocks hold them, up to when they are complete, and what of them has to be made again. */
import path from "node:path";
import type { Block } from "../blocks/block.ts";
import type { Tombstone } from "../column-source.ts";
import type { RemovedBlock } from "../state.ts";
import { formatResolution, resolutionsMs } from "./columns.ts";

/** Changed only as a whole. */
export interface RollupTier {
  readonly resolutionMs: number;
  readonly blocks: readonly Block[];
  readonly removed: readonly RemovedBlock[];
  /** Of columns, not of series: refs are those of `columnRef`. */
  readonly tombstones: readonly Tombstone[];
  /** Entries before this may be gone, and those before `unlinkedBeforeMs` cannot be restored any more. */
  readonly goneBeforeMs: number;
  readonly unlinkedBeforeMs: number;
}

/** Samples of these series came late or were deleted after they were rolled up; all series where there are none. */
export interface OutdatedRange {
  readonly fromMs: number;
  readonly toMs: number;
  readonly refs: Uint32Array | undefined;
}

export interface RollupState {
  /** All samples in blocks up to this instant are in the rollups, except for what is outdated; undefined before the first. */
  readonly rolledToMs: number | undefined;
  readonly outdated: readonly OutdatedRange[];
  readonly tiers: readonly RollupTier[];
}

export const emptyRollups: RollupState = {
  rolledToMs: undefined,
  outdated: [],
  tiers: resolutionsMs.map((resolutionMs) => ({
    resolutionMs,
    blocks: [],
    removed: [],
    tombstones: [],
    goneBeforeMs: -Infinity,
    unlinkedBeforeMs: -Infinity,
  })),
};

export const rollupsFolder = (dir: string): string => path.join(dir, "rollups");
export const rollupFile = (dir: string, id: number, resolutionMs: number): string =>
  path.join(
    rollupsFolder(dir),
    `${String(id).padStart(10, "0")}-${formatResolution(resolutionMs)}.block`,
  );

/** Every rollup block whose file is there. */
export const rollupBlocks = ({ tiers }: RollupState): readonly Block[] =>
  tiers.flatMap(({ blocks, removed }) => [...blocks, ...removed.map(({ block }) => block)]);

export const replaceTier = (
  rollups: RollupState,
  resolutionMs: number,
  change: Partial<RollupTier>,
): RollupState => ({
  ...rollups,
  tiers: rollups.tiers.map((tier) =>
    tier.resolutionMs === resolutionMs ? { ...tier, ...change } : tier,
  ),
});

/** Without those past retention, for a copy that does not have their files. */
export const withoutRemoved = (rollups: RollupState): RollupState => ({
  ...rollups,
  tiers: rollups.tiers.map((tier) => ({
    ...tier,
    removed: [],
    unlinkedBeforeMs: tier.goneBeforeMs,
  })),
});
