/** What retention has removed, by series: rules by matcher remove samples of some series before those of all others. */
import type { Matcher } from "../../../model/select.ts";
import type { LabelIndex } from "../index/index.ts";
import type { GoneBounds, RetainedSeries } from "../rules.ts";
import type { RollupState } from "./state.ts";

export const nothingGone = ({ tiers }: Pick<RollupState, "tiers">): GoneBounds => ({
  rawMs: -Infinity,
  tiersMs: tiers.map(() => -Infinity),
});

export const goneOfAll = (
  goneBeforeMs: number,
  { tiers }: Pick<RollupState, "tiers">,
): GoneBounds => ({
  rawMs: goneBeforeMs,
  tiersMs: tiers.map((tier) => tier.goneBeforeMs),
});

/** The later of two bounds of each kind. */
const laterBounds = (a: GoneBounds, b: GoneBounds): GoneBounds => ({
  rawMs: Math.max(a.rawMs, b.rawMs),
  tiersMs: a.tiersMs.map((ms, i) => Math.max(ms, b.tiersMs[i] ?? -Infinity)),
});

/** Whether the first has removed something that the second has not. */
export const isLaterGone = (a: GoneBounds, b: GoneBounds): boolean =>
  a.rawMs > b.rawMs || a.tiersMs.some((ms, i) => ms > (b.tiersMs[i] ?? -Infinity));

/** The bounds of series for which rules have removed more than for all others; a series without an entry has the common ones. */
export function goneBySeries(
  rules: readonly RetainedSeries[],
  common: GoneBounds,
  index: LabelIndex,
  among: readonly Matcher[] = [],
): ReadonlyMap<number, GoneBounds> {
  const found = new Map<number, GoneBounds>();
  for (const { matchers, gone } of rules) {
    if (!isLaterGone(gone, common)) continue;
    for (const ref of index.select([...among, ...matchers]))
      found.set(ref, laterBounds(found.get(ref) ?? common, gone));
  }
  return found;
}
