/** Frames from lists of readings: the layout stays the same object while the set of series does. */
import type { MetricEntry } from "./catalogue/entry.ts";
import { type Frame, FrameWriter } from "./frame.ts";
import { labelKey, type LabelSet } from "./labels.ts";
import { type Layout, LayoutBuilder } from "./layout.ts";
import type { AbsenceReason } from "./presence.ts";

export interface ListedReading {
  readonly metric: MetricEntry;
  readonly labels: LabelSet;
  /** Or why it is absent. */
  readonly value: number | AbsenceReason;
}

export class ReadingFrames {
  #key: string | undefined;
  #layout: Layout = { series: [] };

  /** No series twice. */
  frame(timeMs: number, readings: readonly ListedReading[]): Frame {
    const key = readings.map(({ metric, labels }) => metric.name + labelKey(labels)).join("\n");
    if (key !== this.#key) {
      const builder = new LayoutBuilder();
      for (const { metric, labels } of readings) builder.add(metric, labels);
      this.#layout = builder.build();
      this.#key = key;
    }
    const writer = new FrameWriter(this.#layout, timeMs);
    readings.forEach(({ value }, slot) =>
      typeof value === "number" ? writer.set(slot, value) : writer.absent(slot, value),
    );
    return writer.finish();
  }
}
