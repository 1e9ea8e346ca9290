/** How long the rollups of each resolution are retained. */
import type { MergeLimits } from "../blocks/plan.ts";
import type { StoreOptions } from "../options.ts";
import { resolutionsMs } from "./columns.ts";

const coarsestMs = resolutionsMs.at(-1);
/** Finer rollups take most of the room and are of use for less long. */
export const finerShare = 0.2;

export const hasRollups = ({ rollupRetentionMs = 0 }: StoreOptions): boolean =>
  rollupRetentionMs > 0;

/** The coarsest ones for all of it, finer ones for a fifth, and never for less than the raw samples. */
export function tierRetentionMs(
  { retentionMs, rollupRetentionMs = 0 }: Pick<StoreOptions, "retentionMs" | "rollupRetentionMs">,
  resolutionMs: number,
): number {
  if (rollupRetentionMs === 0) return 0;
  const share = resolutionMs === coarsestMs ? 1 : finerShare;
  return Math.max(retentionMs, rollupRetentionMs * share);
}

/** About as many entries a column as a page of a block has room for: a month of 5 minutes, a year of hours. */
const longestEntries = 9_000;
/** More at a time than raw blocks: each time a rollup is written again costs a third of sealing its samples. */
const together = 8;

/**
 * Finer rollups are written fast also when they are merged: about a fifth of the time for a quarter more bytes. They are
 * eleven of twelve values; the coarsest ones, which stay longest, are written small.
 */
export const isBriefRollup = (resolutionMs: number): boolean => resolutionMs !== coarsestMs;

export const rollupMergeLimits = (resolutionMs: number): MergeLimits => ({
  longestMs: resolutionMs * longestEntries,
  together,
});
