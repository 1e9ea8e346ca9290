/** What a selection reads from rollups of an open store. */
import type { RollupFunction, SelectHint } from "../../../model/select.ts";
import type { ReadSources } from "../reader.ts";
import { bucketEnd, bucketStart, columnRef } from "./columns.ts";
import { isOutdated } from "./outdated.ts";
import { planRead, type RollupRead } from "./plan.ts";
import type { TierBlocks } from "./read.ts";

export interface SelectionPlan {
  readonly function: RollupFunction | undefined;
  /** Where series are read from; raw samples alone where absent. */
  readonly rollups: RollupRead | undefined;
  /** The same for series whose raw samples answer wherever there are any. */
  readonly gone: RollupRead | undefined;
}

export function planSelection(
  { goneBeforeMs, rollups: { rolledToMs, tiers } }: Pick<ReadSources, "goneBeforeMs" | "rollups">,
  hint: SelectHint | undefined,
  fromMs: number,
  toMs: number,
): SelectionPlan {
  const choice = {
    rolledToMs: tiers.some(({ blocks }) => blocks.length > 0) ? rolledToMs : undefined,
    rawFromMs: goneBeforeMs,
    tiers,
  };
  return {
    function: hint?.function,
    rollups: planRead(choice, hint, fromMs, toMs),
    gone: planRead(choice, hint, fromMs, toMs, false),
  };
}

/** Whether the series has samples in the rollups' range that are not in them yet. */
export function hasUnrolled(
  { head, rollups: { outdated } }: Pick<ReadSources, "head" | "rollups">,
  read: RollupRead | undefined,
  ref: number,
): boolean {
  if (read === undefined) return false;
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
