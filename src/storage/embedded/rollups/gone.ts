/** What retention has removed, per series: rules by matcher remove some series earlier than the others. */
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

/** The later bounds of each kind. */
const laterBounds = (a: GoneBounds, b: GoneBounds): GoneBounds => ({
  rawMs: Math.max(a.rawMs, b.rawMs),
  tiersMs: a.tiersMs.map((ms, i) => Math.max(ms, b.tiersMs[i] ?? -Infinity)),
});

/** True if the first has removed something that the second has not. */
export const isLaterGone = (a: GoneBounds, b: GoneBounds): boolean =>
  a.rawMs > b.rawMs || a.tiersMs.some((ms, i) => ms > (b.tiersMs[i] ?? -Infinity));

/** The bounds of series of which rules have removed more; series without an entry have the common bounds. */
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
