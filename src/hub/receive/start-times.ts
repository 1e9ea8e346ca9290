/** Stores start times as samples of separate series, which a store hides from selections that do not request them. */
import type { SampleBatch } from "../../formats/samples/batch.ts";
import { BatchBuilder } from "../../formats/samples/builder.ts";
import { readLabelBlock } from "../../formats/samples/labels.ts";
import { ProtoError } from "../../formats/protobuf/reader.ts";
import { type LabelSet, withLabels } from "../../model/labels.ts";
import { startTimeLabel } from "../../model/start-times.ts";

/** The start times of a batch's samples up to `maxTimeMs`; undefined if there are none. */
export function startTimesOf(batch: SampleBatch, maxTimeMs: number): SampleBatch | undefined {
  const { starts = [], bytes, labelStarts, labelEnds } = batch;
  const builder = new BatchBuilder();
  const known = new Map<number, number | undefined>();
  for (const { series, startMs, sampleMs } of starts) {
    if (sampleMs > maxTimeMs) continue;
    if (!known.has(series)) {
      const labels = labelsOf(bytes, labelStarts[series] ?? 0, labelEnds[series] ?? 0);
      known.set(series, labels && builder.series(withLabels(labels, { [startTimeLabel]: "ms" })));
    }
    const own = known.get(series);
    if (own !== undefined) builder.add(own, sampleMs, startMs);
  }
  return builder.sampleCount === 0 ? undefined : builder.finish();
}

/** Returns undefined for a malformed label set, which is rejected with the samples themselves. */
function labelsOf(bytes: Uint8Array, from: number, to: number): LabelSet | undefined {
  try {
    return readLabelBlock(bytes, from, to);
  } catch (thrown) {
    if (thrown instanceof ProtoError) return undefined;
    throw thrown;
  }
}
