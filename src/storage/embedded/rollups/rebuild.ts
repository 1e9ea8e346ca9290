/** Rollups whose file is lost or cannot be read: which of them raw samples can make again, so that nothing is lost with them. */
import type { Block } from "../blocks/block.ts";
import type { RollupRanges } from "../files/manifest.ts";
import type { RetainedSeries } from "../rules.ts";
import type { StoreState } from "../state.ts";
import { bucketStart, rollAlignMs, seriesRef } from "./columns.ts";
import { goneBySeries, goneOfAll } from "./gone.ts";
import { hasRollups } from "./retention.ts";
import { type OutdatedRange, rollupBlocks } from "./state.ts";

/** Whether a rollup that begins at `fromMs` is of raw samples alone that are all there. */
const isWithinRaw = (fromMs: number, goneBeforeMs: number): boolean =>
  bucketStart(fromMs, rollAlignMs) >= goneBeforeMs;

/** Of a rollup that is open. */
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

/** Of one whose file is gone: its series are not known, so a rule counts for all of them. */
export function isLostRebuildable(
  range: RollupRanges[string] | undefined,
  goneBeforeMs: number,
  rules: readonly RetainedSeries[],
): boolean {
  const latestMs = Math.max(goneBeforeMs, ...rules.map(({ gone }) => gone.rawMs));
  return latestMs === -Infinity || (range !== undefined && isWithinRaw(range[0], latestMs));
}

/** What has to be rolled up again in place of a lost rollup; everything, where it is not known what it spanned. */
export const lostRange = (
  range: RollupRanges[string] | undefined,
  rolledToMs: number,
): OutdatedRange => ({
  fromMs: range?.[0] ?? -Infinity,
  toMs: Math.min(range?.[1] ?? Infinity, rolledToMs),
  refs: undefined,
});

/** Parts in quarantine that are data: without those of rollups that the next round makes again. */
export const unreadableData = (state: StoreState): StoreState["quarantine"]["parts"] => {
  const { quarantine, rollups } = state;
  const { parts } = quarantine;
  if (parts.length === 0) return parts;
  const rolled = new Set(rollupBlocks(rollups));
  return parts.filter(
    ({ block }) => block === undefined || !rolled.has(block) || !isRebuildable(state, block),
  );
};
