/** `up` of agents that push, in the history as a scrape of them would put it there: 1, 0 while they are silent, stale once they have left. */
import { BatchBuilder } from "../../formats/samples/builder.ts";
import type { SampleBatch } from "../../formats/samples/batch.ts";
import { labelSet } from "../../model/labels.ts";
import type { AgentRecord } from "./record.ts";

export type UpValue = 0 | 1 | "stale";

export function upBatch(
  agents: readonly (readonly [AgentRecord, UpValue])[],
  timeMs: number,
): SampleBatch {
  const builder = new BatchBuilder();
  for (const [{ job, instance }, value] of agents) {
    const series = builder.series(labelSet({ __name__: "up", job, instance }));
    if (value === "stale") builder.addStale(series, timeMs);
    else builder.add(series, timeMs, value);
  }
  return builder.finish();
}
