/** How long the rollups of each resolution are retained. */
import type { MergeLimits } from "../blocks/plan.ts";
import type { StoreOptions } from "../options.ts";
import type { StoreState } from "../state.ts";
import { resolutionsMs } from "./columns.ts";

const coarsestMs = resolutionsMs.at(-1);
/** Finer rollups take most of the space and are useful for a shorter time. */
const finerShare = 0.2;

export const hasRollups = ({ rollupRetentionMs = 0 }: StoreOptions): boolean =>
  rollupRetentionMs > 0;

/** The coarsest ones for the whole rollup retention, finer ones for a fifth, but never less than the raw samples. */
export function tierRetentionMs(
  { retentionMs, rollupRetentionMs = 0 }: Pick<StoreOptions, "retentionMs" | "rollupRetentionMs">,
  resolutionMs: number,
): number {
  if (rollupRetentionMs === 0) return 0;
  const share = resolutionMs === coarsestMs ? 1 : finerShare;
  return Math.max(retentionMs, rollupRetentionMs * share);
}

/** About as many entries per column as a page of a block can hold: a month of 5 minutes, a year of hours. */
const longestEntries = 9_000;
/** More than for raw blocks, because each rewrite of a rollup costs a third of sealing its samples. */
const together = 8;

/**
 * Finer rollups are also written fast when they are merged: about a fifth of the time for a quarter more bytes. They are
 * eleven of twelve values; the coarsest ones, which stay longest, are written small when they are merged again.
 */
export const isBriefRollup = (resolutionMs: number, level: number): boolean =>
  resolutionMs !== coarsestMs || level < 2;

export const rollupMergeLimits = (resolutionMs: number): MergeLimits => ({
  longestMs: resolutionMs * longestEntries,
  together,
});

/** Samples that are still to be rolled up stay apart, so that rolling them up reads no others. */
export const rawMergeLimits = ({ options, rollups }: StoreState): MergeLimits =>
  hasRollups(options) && rollups.rolledToMs !== undefined
    ? { apartAfterMs: rollups.rolledToMs }
    : {};
