/** What was refused of a request, in one sentence for its sender. */

export interface Refusals {
  readonly conflict: number;
  readonly too_old: number;
  readonly too_new: number;
  readonly limit: number;
  readonly bad_labels: number;
  /** What is wrong with the first bad label set. */
  readonly badTrouble?: string;
  /** The words of the engine behind the hub, where it refused something. */
  readonly engineTrouble?: string;
}

export const refusedSamples = (refused: Refusals): number =>
  refused.conflict + refused.too_old + refused.too_new + refused.limit + refused.bad_labels;

/** `7 samples are kept, 3 refused: 2 …, 1 …`; undefined where all are kept. */
export function tellRefused(kept: number, refused: Refusals): string | undefined {
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
  return `${kept} samples are kept, ${refusedSamples(refused)} refused: ${told.join(", ")}${engine}`;
}
