/** `up` of agents, in the history as a scrape would write it: 1, 0 while an agent is silent, stale once it has left. */
import { BatchBuilder } from "../../formats/samples/builder.ts";
import type { SampleBatch } from "../../formats/samples/batch.ts";
import { labelSet } from "../../model/labels.ts";

export type UpValue = 0 | 1 | "stale";

export interface UpTarget {
  readonly job: string;
  readonly instance: string;
}

export function upBatch(
  targets: readonly (readonly [UpTarget, UpValue])[],
  timeMs: number,
): SampleBatch {
  const builder = new BatchBuilder();
  for (const [{ job, instance }, value] of targets) {
    const series = builder.series(labelSet({ __name__: "up", job, instance }));
    if (value === "stale") builder.addStale(series, timeMs);
    else builder.add(series, timeMs, value);
  }
  return builder.finish();
}
