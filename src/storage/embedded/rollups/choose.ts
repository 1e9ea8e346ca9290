/** What a selection reads from rollups of an open store. */
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
  /** Where series are read from; raw samples alone where absent. */
  readonly rollups: RollupRead | undefined;
  /** The same for series whose raw samples answer wherever there are any. */
  readonly gone: RollupRead | undefined;
}

/** The plans of a selection: the first for all series but those that rules have removed more of. */
export interface SelectionPlans {
  readonly plans: readonly SelectionPlan[];
  /** Which plan a series has, where it is not the first. */
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

/** Whether a rollup may answer for any series. */
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

/** Whether the series may have samples in the rollups' range that are not in those that can be read. */
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

/** Whether a rollup has an entry of the series that may be of the range, without reading it. */
export const hasEntries = (tiers: TierBlocks, ref: number, fromMs: number, toMs: number): boolean =>
  tiers.some(({ resolutionMs, blocks }) => {
    const beginMs = bucketStart(fromMs, resolutionMs);
    const endMs = bucketEnd(toMs, resolutionMs);
    return blocks.some((block) => block.has(columnRef(ref, "last"), beginMs, endMs));
  });
