/** What was refused of a request, in one sentence for its sender. */
import type { IngestResult } from "./intake.ts";

export interface RejectedSamples {
  readonly conflict: number;
  readonly too_old: number;
  readonly too_new: number;
  readonly limit: number;
  readonly bad_labels: number;
  /** What is wrong with the first bad label set. */
  readonly badTrouble?: string;
  /** Which limit was reached, or the words of the engine behind the hub that refused something. */
  readonly engineTrouble?: string;
}

export const countRejected = (refused: RejectedSamples): number =>
  refused.conflict + refused.too_old + refused.too_new + refused.limit + refused.bad_labels;

/**
 * Nothing was stored because the series are too many: the sender may try again later, after others were deleted. Where a
 * part was stored, the sender must not send it again: it gets its protocol's answer for a partial write.
 */
export const isAtSeriesLimit = ({ samples, refused }: IngestResult): boolean =>
  samples === 0 && refused.limit > 0;

export const seriesLimitRetrySeconds = 60;

/** `7 samples are kept, 3 refused: 2 …, 1 …`; undefined where all are kept. */
export function formatRejected(kept: number, refused: RejectedSamples): string | undefined {
  const parts = [
    [refused.conflict, "have another value than is stored for their time"],
    [refused.too_old, "are older than retention or no valid time"],
    [refused.too_new, "are more than ten minutes in the future"],
    [refused.limit, "would need more series than are allowed"],
    [refused.bad_labels, `have bad labels (${refused.badTrouble ?? ""})`],
  ] as const;
  const told = parts.filter(([count]) => count > 0).map(([count, why]) => `${count} ${why}`);
  if (told.length === 0 && refused.badTrouble === undefined) return undefined;
  if (told.length === 0)
    return `${kept} samples are kept, a series is refused: ${refused.badTrouble}`;
  const engine = refused.engineTrouble === undefined ? "" : ` (${refused.engineTrouble})`;
  return `${kept} samples are kept, ${countRejected(refused)} refused: ${told.join(", ")}${engine}`;
}
