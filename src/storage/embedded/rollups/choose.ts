/** Decides what a selection reads from the rollups of an open store. */
import type { Matcher, SelectHint } from "../../../model/select.ts";
import type { ReadSources } from "../reader.ts";
import { bucketEnd, bucketStart, columnRef } from "./columns.ts";
import type { GoneBounds } from "../rules.ts";
import { goneBySeries, goneOfAll } from "./gone.ts";
import { isOutdated } from "./outdated.ts";
import { planRead, type RollupRead } from "./plan.ts";
import type { TierBlocks } from "./read.ts";
import type { RollupState } from "./state.ts";

export interface SelectionPlan {
  /** How series are read; undefined for raw samples only. */
  readonly rollups: RollupRead | undefined;
  /** Like `rollups`, for series that read raw samples wherever they exist. */
  readonly gone: RollupRead | undefined;
}

/** The plans of a selection: the first is for all series, except those of which rules have removed more. */
export interface SelectionPlans {
  readonly plans: readonly SelectionPlan[];
  /** The plan index of each series that does not use the first plan. */
  readonly ofSeries: ReadonlyMap<number, number>;
}

type PlanSources = Pick<ReadSources, "goneBeforeMs" | "rollups" | "rules" | "index">;

export function planSelection(
  { index, goneBeforeMs, rollups, rules }: PlanSources,
  matchers: readonly Matcher[],
  hint: SelectHint | undefined,
  fromMs: number,
  toMs: number,
): SelectionPlans {
  const common = goneOfAll(goneBeforeMs, rollups);
  const plans = [planSeries(common, rollups, hint, fromMs, toMs)];
  const ofSeries = new Map<number, number>();
  const numbers = new Map<string, number>();
  for (const [ref, gone] of goneBySeries(rules, common, index, matchers)) {
    const key = [gone.rawMs, ...gone.tiersMs].join(" ");
    const number =
      numbers.get(key) ?? plans.push(planSeries(gone, rollups, hint, fromMs, toMs)) - 1;
    numbers.set(key, number);
    ofSeries.set(ref, number);
  }
  return { plans, ofSeries };
}

/** True if a rollup may be used for any series. */
export const mayUseRollups = (
  { goneBeforeMs, rollups, rules }: PlanSources,
  hint: SelectHint,
  fromMs: number,
  toMs: number,
): boolean =>
  [goneOfAll(goneBeforeMs, rollups), ...rules.map(({ gone }) => gone)].some(
    (gone) => planSeries(gone, rollups, hint, fromMs, toMs).rollups !== undefined,
  );

function planSeries(
  { rawMs, tiersMs }: GoneBounds,
  { rolledToMs, tiers }: RollupState,
  hint: SelectHint | undefined,
  fromMs: number,
  toMs: number,
): SelectionPlan {
  const choice = {
    rolledToMs: tiers.some(({ blocks }) => blocks.length > 0) ? rolledToMs : undefined,
    rawFromMs: rawMs,
    tiers: tiers.map(({ resolutionMs }, i) => ({
      resolutionMs,
      goneBeforeMs: tiersMs[i] ?? -Infinity,
    })),
  };
  return {
    rollups: planRead(choice, hint, fromMs, toMs),
    gone: planRead(choice, hint, fromMs, toMs, false),
  };
}

/** True if the series may have samples in the rollups' range that are missing in the readable rollups. */
export function hasUnrolled(
  { head, rollups: { outdated }, quarantine }: Pick<ReadSources, "head" | "rollups" | "quarantine">,
  read: RollupRead | undefined,
  ref: number,
): boolean {
  if (read === undefined) return false;
  if (quarantine.unopenedRollups.length > 0) return true;
  const { segments, rawFromMs } = read;
  const fromMs = segments[0]?.afterMs ?? rawFromMs;
  return isOutdated(outdated, ref, fromMs, rawFromMs - 1) || head.has(ref, fromMs, rawFromMs - 1);
}

/** True if a rollup may have an entry of the series in the range. Does not read the entries. */
export const hasEntries = (tiers: TierBlocks, ref: number, fromMs: number, toMs: number): boolean =>
  tiers.some(({ resolutionMs, blocks }) => {
    const beginMs = bucketStart(fromMs, resolutionMs);
    const endMs = bucketEnd(toMs, resolutionMs);
    return blocks.some((block) => block.has(columnRef(ref, "last"), beginMs, endMs));
  });
