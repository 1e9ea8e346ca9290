/** What a pipe says of itself, as a frame made when it is asked for. */
import { type MetricEntry, self } from "../../model/catalogue/index.ts";
import { type Frame, FrameWriter } from "../../model/frame.ts";
import { type LabelSet, labelSet, noLabels } from "../../model/labels.ts";
import { LayoutBuilder } from "../../model/layout.ts";
import type { Pipe } from "./pipe.ts";

export function pipeFrame(pipe: Pipe, timeMs: number): Frame {
  const samples: [MetricEntry, LabelSet, number][] = [];
  for (const [source, { frames, lagSeconds }] of pipe.bySource) {
    samples.push([self.pipeFrames, labelSet({ source }), frames]);
    if (lagSeconds !== undefined) samples.push([self.pipeLag, labelSet({ source }), lagSeconds]);
  }
  for (const [source, { log, partition, records }] of pipe.lag())
    samples.push([
      self.pipeLagRecords,
      labelSet({ source, log, partition: String(partition) }),
      records,
    ]);
  for (const [source, counts] of pipe.letterCounts())
    for (const outcome of ["kept", "counted"] as const)
      samples.push([self.pipeDeadLetters, labelSet({ source, outcome }), counts[outcome]]);
  const { count, lastMs, durationSeconds } = pipe.checkpoints;
  samples.push([self.pipeCheckpoints, noLabels, count]);
  if (lastMs !== undefined) {
    samples.push([self.pipeLastCheckpoint, noLabels, lastMs / 1_000]);
    samples.push([self.pipeCheckpointDuration, noLabels, durationSeconds]);
  }
  samples.push([self.pipeUncommitted, noLabels, pipe.uncommitted]);
  samples.push([self.pipeLate, noLabels, pipe.late]);
  const builder = new LayoutBuilder();
  for (const [metric, labels] of samples) builder.add(metric, labels);
  const writer = new FrameWriter(builder.build(), timeMs);
  samples.forEach(([, , value], slot) => writer.set(slot, value));
  return writer.finish();
}
