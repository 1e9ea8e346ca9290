/** What the crash test's writer writes, known to its judge as well. */
import { type LabelSet, labelSet } from "../../src/model/labels.ts";

export const batchSeries = 40;
export const batchMs = (batch: number): number => 1_700_000_000_000 + batch * 1000;

/** A part of the series changes its name every 50 batches: new series come all the time. */
export function batchLabels(batch: number, series: number): LabelSet {
  const churn = series % 8 === 0 ? String(Math.floor(batch / 50)) : undefined;
  return labelSet({ __name__: "kept", series: String(series), churn });
}

export const batchValue = (batch: number, series: number): number =>
  Math.round(Math.sin(batch * 7 + series) * 1000) / (series % 5 === 0 ? 7 : 10);
