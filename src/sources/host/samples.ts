/**
 * Builds a frame from a list of samples. The series of a machine come and go with disks and containers; while they are unchanged,
 * frames share one layout.
 */
import type { MetricEntry } from "../../model/catalogue/index.ts";
import { type Frame, FrameWriter } from "../../model/frame.ts";
import { type LabelSet, labelSet } from "../../model/labels.ts";
import { type Layout, LayoutBuilder } from "../../model/layout.ts";
import { present, type ReadResult } from "../../machine/sysfs/read-result.ts";

export type OptionalLabels = Readonly<Record<string, string | undefined>>;

interface Sample {
  readonly metric: MetricEntry;
  readonly labels: LabelSet;
  readonly reading: ReadResult<number>;
}

/** Limit of cached label sets; when it is reached the cache is emptied, and sets still in use are created again. */
const mostLabelSets = 20_000;

export class HostFrameBuilder {
  readonly #host: string;
  readonly #labelSets = new Map<string, LabelSet>();
  readonly #keys = new Set<string>();
  #samples: Sample[] = [];
  #layout: Layout = { series: [] };

  constructor(host: string) {
    this.#host = host;
  }

  /** Drops samples that an earlier, aborted read has left. */
  begin(): void {
    this.#samples = [];
    this.#keys.clear();
  }

  /** If the kernel has two things with the same name, the first one is reported. */
  add(
    metric: MetricEntry,
    reading: ReadResult<number> | number,
    labels: OptionalLabels = {},
  ): void {
    const text = JSON.stringify(labels);
    const key = `${metric.name} ${text}`;
    if (this.#keys.has(key)) return;
    this.#keys.add(key);
    this.#samples.push({
      metric,
      labels: this.#labelSet(text, labels),
      reading: typeof reading === "number" ? present(reading) : reading,
    });
  }

  /** A frame with all samples since `begin`. */
  frame(timeMs: number): Frame {
    const samples = this.#samples;
    if (!this.#fits(samples)) {
      const builder = new LayoutBuilder();
      for (const { metric, labels } of samples) builder.add(metric, labels);
      this.#layout = builder.build();
    }
    const writer = new FrameWriter(this.#layout, timeMs);
    for (const [slot, { reading }] of samples.entries()) {
      if (reading.ok) writer.set(slot, reading.value);
      else writer.absent(slot, reading.reason);
    }
    return writer.finish();
  }

  #fits(samples: readonly Sample[]): boolean {
    const { series } = this.#layout;
    return (
      samples.length === series.length &&
      samples.every(
        ({ metric, labels }, slot) =>
          series[slot]?.metric === metric && series[slot].labels === labels,
      )
    );
  }

  #labelSet(key: string, labels: OptionalLabels): LabelSet {
    const found = this.#labelSets.get(key);
    if (found !== undefined) return found;
    if (this.#labelSets.size >= mostLabelSets) this.#labelSets.clear();
    const made = labelSet({ ...labels, host: this.#host });
    this.#labelSets.set(key, made);
    return made;
  }
}

/** The first things up to the limit, and the number of those left out. */
export function capped<T>(things: readonly T[], limit: number): readonly [readonly T[], number] {
  return [things.slice(0, limit), Math.max(0, things.length - limit)];
}
