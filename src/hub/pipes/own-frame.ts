/** What the hub's pipes say of themselves, on the hub's own page: the same series, each source named with its pipe. */
import { self } from "../../model/catalogue/index.ts";
import { type Frame, FrameWriter } from "../../model/frame.ts";
import { labelSet } from "../../model/labels.ts";
import { LayoutBuilder } from "../../model/layout.ts";
import type { PipeSample } from "./page.ts";

const metrics = new Map(
  [self.pipeFrames, self.pipeLag, self.pipeLagRecords, self.pipeDeadLetters].map((metric) => [
    metric.name,
    metric,
  ]),
);

export interface NamedSamples {
  readonly name: string;
  readonly samples: readonly PipeSample[];
}

export function pipesFrame(pipes: readonly NamedSamples[], nowMs: number): Frame {
  const builder = new LayoutBuilder();
  const values: number[] = [];
  for (const pipe of pipes)
    for (const { name, labels, value } of pipe.samples) {
      const metric = metrics.get(name);
      if (metric === undefined) continue;
      builder.add(
        metric,
        labelSet({ ...labels, source: `${pipe.name}/${labels["source"] ?? ""}` }),
      );
      values.push(value);
    }
  const writer = new FrameWriter(builder.build(), nowMs);
  values.forEach((value, slot) => writer.set(slot, value));
  return writer.finish();
}
