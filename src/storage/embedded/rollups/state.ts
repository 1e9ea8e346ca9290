/** The rollups of an open store: their blocks, the time up to which they are complete, and the ranges to be rebuilt. */
import path from "node:path";
import type { Block } from "../blocks/block.ts";
import type { Tombstone } from "../column-source.ts";
import type { RemovedBlock } from "../state.ts";
import { formatResolution, resolutionsMs } from "./columns.ts";

/** Immutable; replaced as a whole. */
export interface RollupTier {
  readonly resolutionMs: number;
  readonly blocks: readonly Block[];
  readonly removed: readonly RemovedBlock[];
  /** For columns, not series: the refs are those of `columnRef`. */
  readonly tombstones: readonly Tombstone[];
  /** Entries before this may be gone; those before `unlinkedBeforeMs` cannot be restored. */
  readonly goneBeforeMs: number;
  readonly unlinkedBeforeMs: number;
}

/** Samples of these series arrived late or were deleted after they were rolled up; `refs` is undefined for all series. */
export interface OutdatedRange {
  readonly fromMs: number;
  readonly toMs: number;
  readonly refs: Uint32Array | undefined;
}

export interface RollupState {
  /**
   * All samples in blocks up to this time are in the rollups, except for outdated ones; undefined before the first
   * rollup.
   */
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

/** Every rollup block whose file exists. */
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

/** Drops the blocks past retention, for a copy without their files. */
export const withoutRemoved = (rollups: RollupState): RollupState => ({
  ...rollups,
  tiers: rollups.tiers.map((tier) => ({
    ...tier,
    removed: [],
    unlinkedBeforeMs: tier.goneBeforeMs,
  })),
});
