/** Self-metrics of the hub's pipes: the series each pipe exposes, with the pipe's name prefixed to its source. */
import { self } from "../../model/catalogue/index.ts";
import type { PutMetric } from "../../model/self-frames.ts";
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

export function collectPipes(pipes: readonly NamedSamples[], put: PutMetric): void {
  for (const pipe of pipes)
    for (const { name, labels, value } of pipe.samples) {
      const metric = metrics.get(name);
      if (metric !== undefined)
        put(metric, value, { ...labels, source: `${pipe.name}/${labels["source"] ?? ""}` });
    }
}
