/** Lost or unreadable rollups: decides which of them can be rebuilt from raw samples without loss. */
import type { Block } from "../blocks/block.ts";
import type { RollupRanges } from "../files/manifest.ts";
import type { RetainedSeries } from "../rules.ts";
import type { StoreState } from "../state.ts";
import { bucketStart, rollAlignMs, seriesRef } from "./columns.ts";
import { goneBySeries, goneOfAll } from "./gone.ts";
import { hasRollups } from "./retention.ts";
import { type OutdatedRange, rollupBlocks } from "./state.ts";

/** True if all raw samples of a rollup that begins at `fromMs` still exist. */
const isWithinRaw = (fromMs: number, goneBeforeMs: number): boolean =>
  bucketStart(fromMs, rollAlignMs) >= goneBeforeMs;

/** For an open rollup. */
export function isRebuildable(
  { options, rules, rollups, goneBeforeMs, index }: StoreState,
  block: Block,
): boolean {
  if (!hasRollups(options)) return false;
  const gone = goneBySeries(rules, goneOfAll(goneBeforeMs, rollups), index);
  let latestMs = goneBeforeMs;
  if (gone.size > 0)
    for (const column of block.directory.refs)
      latestMs = Math.max(latestMs, gone.get(seriesRef(column))?.rawMs ?? -Infinity);
  return isWithinRaw(block.footer.minTimeMs, latestMs);
}

/** For a rollup whose file is gone: its series are unknown, so every rule counts. */
export function isLostRebuildable(
  range: RollupRanges[string] | undefined,
  goneBeforeMs: number,
  rules: readonly RetainedSeries[],
): boolean {
  const latestMs = Math.max(goneBeforeMs, ...rules.map(({ gone }) => gone.rawMs));
  return latestMs === -Infinity || (range !== undefined && isWithinRaw(range[0], latestMs));
}

/** The range to roll up again for a lost rollup; everything, if its range is unknown. */
export const lostRange = (
  range: RollupRanges[string] | undefined,
  rolledToMs: number,
): OutdatedRange => ({
  fromMs: range?.[0] ?? -Infinity,
  toMs: Math.min(range?.[1] ?? Infinity, rolledToMs),
  refs: undefined,
});

/** Quarantined parts that mean data loss: without rollups that the next round rebuilds. */
export const unreadableData = (state: StoreState): StoreState["quarantine"]["parts"] => {
  const { quarantine, rollups } = state;
  const { parts } = quarantine;
  if (parts.length === 0) return parts;
  const rolled = new Set(rollupBlocks(rollups));
  return parts.filter(
    ({ block }) => block === undefined || !rolled.has(block) || !isRebuildable(state, block),
  );
};
