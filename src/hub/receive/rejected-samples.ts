/** Formats the rejected samples of a request as one sentence for the client. */
import type { IngestResult } from "./intake.ts";

export interface RejectedSamples {
  readonly conflict: number;
  readonly too_old: number;
  readonly too_new: number;
  readonly limit: number;
  readonly bad_labels: number;
  readonly bad_histograms: number;
  /** The problem of the first bad label set. */
  readonly badProblem?: string | undefined;
  /** The problem of the first bad histogram. */
  readonly histogramProblem?: string | undefined;
  /** The limit that was reached, or the error of the external engine. */
  readonly engineProblem?: string | undefined;
}

export const countRejected = (refused: RejectedSamples): number =>
  refused.conflict +
  refused.too_old +
  refused.too_new +
  refused.limit +
  refused.bad_labels +
  refused.bad_histograms;

/**
 * True if nothing was stored because of a series limit: the client may retry later, after other series were deleted. After a
 * partial write the client must not retry: it gets its protocol's response for a partial write.
 */
export const isAtSeriesLimit = ({ samples, refused }: IngestResult): boolean =>
  samples === 0 && refused.limit > 0;

export const seriesLimitRetrySeconds = 60;

/** `7 samples stored, 3 rejected: 2 …, 1 …`; undefined if all are stored. */
export function formatRejected(stored: number, refused: RejectedSamples): string | undefined {
  const parts = [
    [refused.conflict, "conflict with a stored value of the same time"],
    [refused.too_old, "are older than the retention or have no valid time"],
    [refused.too_new, "are more than ten minutes in the future"],
    [refused.limit, "exceed the limit of series"],
    [refused.bad_labels, `have bad labels (${refused.badProblem ?? ""})`],
    [refused.bad_histograms, `are malformed (${refused.histogramProblem ?? ""})`],
  ] as const;
  const reasons = parts.filter(([count]) => count > 0).map(([count, why]) => `${count} ${why}`);
  if (reasons.length === 0 && refused.badProblem === undefined) return undefined;
  if (reasons.length === 0)
    return `${stored} samples stored, a series is rejected: ${refused.badProblem}`;
  const engine = refused.engineProblem === undefined ? "" : ` (${refused.engineProblem})`;
  return `${stored} samples stored, ${countRejected(refused)} rejected: ${reasons.join(", ")}${engine}`;
}
