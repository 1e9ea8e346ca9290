/** Decides which parts of a selection are read from rollups and which from raw samples. Reads nothing itself. */
import type { SelectHint } from "../../../model/select.ts";
import { bucketEnd, bucketStart, formatResolution } from "./columns.ts";

/** The available data. */
export interface RollupChoice {
  readonly rolledToMs: number | undefined;
  /** Raw samples before this may be gone. */
  readonly rawFromMs: number;
  /** Finest first. */
  readonly tiers: readonly { readonly resolutionMs: number; readonly goneBeforeMs: number }[];
}

export interface RollupSegment {
  readonly resolutionMs: number;
  /** Entries with afterMs < time <= toMs. */
  readonly afterMs: number;
  readonly toMs: number;
}

/** How a series is read: consecutive rollups, oldest first, then raw samples. */
export interface RollupRead {
  readonly segments: readonly RollupSegment[];
  readonly rawFromMs: number;
  readonly info: string;
}

/**
 * Returns undefined for raw samples only. `isExact`: rollups may also replace existing raw samples, if every window of
 * the hint begins and ends at a bucket boundary; otherwise they are used only for removed raw samples.
 */
export function planRead(
  { rolledToMs, rawFromMs, tiers }: RollupChoice,
  hint: SelectHint | undefined,
  fromMs: number,
  toMs: number,
  isExact = true,
): RollupRead | undefined {
  if (rolledToMs === undefined || fromMs >= rolledToMs) return undefined;
  const exact = isExact && hint !== undefined ? coarsest(tiers, hint) : undefined;
  if (exact === undefined && fromMs >= rawFromMs) return undefined;
  const [finest] = tiers;
  if (finest === undefined) return undefined;
  // The bucket that retention has cut is read as a rollup.
  const goneToMs = bucketEnd(rawFromMs - 1, finest.resolutionMs);
  const beginMs = Math.min(rolledToMs, exact === undefined ? goneToMs : Math.max(toMs, goneToMs));
  const from = tiers.filter(({ resolutionMs }) => resolutionMs >= (exact ?? 0));
  const segments: RollupSegment[] = [];
  let untilMs = beginMs;
  from.forEach(({ resolutionMs, goneBeforeMs }, i) => {
    if (untilMs <= fromMs) return;
    const next = from[i + 1];
    // A coarser rollup ends at one of its own bucket boundaries.
    const keptFromMs = next === undefined ? -Infinity : bucketEnd(goneBeforeMs, next.resolutionMs);
    const afterMs = Math.max(keptFromMs, bucketStart(fromMs + 1, resolutionMs));
    if (afterMs >= untilMs) return;
    segments.unshift({ resolutionMs, afterMs, toMs: untilMs });
    untilMs = afterMs;
  });
  if (segments.length === 0) return undefined;
  return { segments, rawFromMs: beginMs + 1, info: describe(segments, exact, rawFromMs, fromMs) };
}

/** The coarsest resolution that divides all windows. */
function coarsest(
  tiers: RollupChoice["tiers"],
  { firstEndMs, stepMs, rangeMs }: SelectHint,
): number | undefined {
  const fits = tiers.filter(({ resolutionMs }) =>
    [firstEndMs, stepMs, rangeMs].every((ms) => ms % resolutionMs === 0),
  );
  return fits.at(-1)?.resolutionMs;
}

function describe(
  segments: readonly RollupSegment[],
  exact: number | undefined,
  rawFromMs: number,
  fromMs: number,
): string {
  const names = [...new Set(segments.map(({ resolutionMs }) => formatResolution(resolutionMs)))];
  const what = `${names.join(" and ")} rollups answered`;
  const isSame = segments.every(({ resolutionMs }) => resolutionMs === exact);
  if (isSame) return `${what}: the result is the same as from raw samples`;
  const since = new Date(Math.max(rawFromMs, fromMs)).toISOString();
  return `${what}: raw samples before ${since} are past retention`;
}
