/**
 * GPUs that other exporters report. What a scrape has stored under an exporter's names is stored once more under ours and
 * shown, so that page, top, rules, lake and anomalies see these GPUs like those of an agent. A scraped gpulse agent has our
 * names already and is only shown.
 */
import { ExporterFrames, type ExporterFrame } from "../../formats/exporters/frames.ts";
import type { SampleBatch } from "../../formats/samples/batch.ts";
import { deviceKey } from "../../model/device.ts";
import { labelSet } from "../../model/labels.ts";
import { self } from "../../model/catalogue/index.ts";
import type { PutMetric } from "../../model/self-frames.ts";
import type { Delivery } from "../../pipeline/sink.ts";
import { createDerive } from "../../pipeline/transforms/derive.ts";
import type { SampleWriter } from "../../storage/history.ts";

export interface ExporterGpusOptions {
  readonly writer: SampleWriter;
  /** Where the newest frames are shown. */
  readonly show: (delivery: Delivery) => void;
  readonly nowMs: () => number;
  /** The samples are stored elsewhere, so that those with our own names are stored here too. */
  readonly storesOwn?: boolean;
}

export interface ObserveOptions {
  /** False for what is stored later. */
  readonly isStored?: boolean;
  /** False for what is history. */
  readonly isShown?: boolean;
}

/** A frame is the present for three times the interval of its target, within these bounds. */
const intervals = 3;
const [leastFreshMs, mostFreshMs] = [15_000, 300_000];
const firstFreshMs = 90_000;
/** Targets come and go; beyond so many, those that no longer report are forgotten. */
const maxQuietTargets = 10_000;

interface SeenTarget {
  readonly exporter: string;
  lastTimeMs: number;
  freshForMs: number;
  gpus: readonly string[];
}

export class ExporterGpus {
  readonly #options: ExporterGpusOptions;
  readonly #frames = new ExporterFrames();
  readonly #derive = createDerive();
  readonly #targets = new Map<string, SeenTarget>();

  constructor(options: ExporterGpusOptions) {
    this.#options = options;
  }

  /** Called with the samples of one scrape, after they were stored. Rejects as the writer does. */
  async observe(batch: SampleBatch, options: ObserveOptions = {}): Promise<void> {
    for (const found of this.#frames.frames(batch)) await this.#observe(found, options);
  }

  selfMetrics(put: PutMetric): void {
    const gpus = new Map<string, Set<string>>();
    const freshMs = this.#options.nowMs();
    for (const target of this.#targets.values()) {
      const known = gpus.get(target.exporter) ?? new Set();
      gpus.set(target.exporter, known);
      if (freshMs - target.lastTimeMs <= target.freshForMs)
        for (const gpu of target.gpus) known.add(gpu);
    }
    for (const [exporter, known] of gpus) put(self.exporterGpus, known.size, { exporter });
    put(self.exporterIgnoredGpus, this.#frames.ignoredGpus);
  }

  async #observe(
    found: ExporterFrame,
    { isStored = true, isShown = true }: ObserveOptions,
  ): Promise<void> {
    const { exporter, origin, host, frame, devices, isOwn } = found;
    const { writer, show, nowMs } = this.#options;
    const source = `exporter:${exporter}/${origin.job ?? ""}/${origin.instance ?? ""}/${host}`;
    const target = isShown ? this.#target(source, found) : undefined;
    const freshForMs = target?.freshForMs ?? mostFreshMs;
    const delivery: Delivery = {
      frame,
      source,
      // Frames of history hold one metric each: they must not end the series of the others.
      tier: isShown ? "fast" : "stream",
      freshForMs,
      devices,
      host,
      isExposed: false,
    };
    const derived = isOwn || !isShown ? delivery : this.#derive(delivery);
    if (isStored && (!isOwn || this.#options.storesOwn === true))
      await writer.writeFrame(derived, labelSet({ ...origin }));
    if (isShown && nowMs() - frame.timeMs <= freshForMs) show(derived);
  }

  #target(source: string, { exporter, host, frame, devices }: ExporterFrame): SeenTarget {
    let target = this.#targets.get(source);
    if (target === undefined) {
      if (this.#targets.size >= maxQuietTargets) this.#forgetQuiet();
      target = { exporter, lastTimeMs: frame.timeMs, freshForMs: firstFreshMs, gpus: [] };
      this.#targets.set(source, target);
    } else if (frame.timeMs > target.lastTimeMs) {
      const intervalMs = frame.timeMs - target.lastTimeMs;
      target.freshForMs = Math.min(Math.max(intervals * intervalMs, leastFreshMs), mostFreshMs);
      target.lastTimeMs = frame.timeMs;
    }
    target.gpus = devices
      .filter(({ parent }) => parent === undefined)
      .map(({ uuid }) => deviceKey(host, uuid));
    return target;
  }

  #forgetQuiet(): void {
    const nowMs = this.#options.nowMs();
    for (const [source, { lastTimeMs, freshForMs }] of this.#targets)
      if (nowMs - lastTimeMs > freshForMs) this.#targets.delete(source);
  }
}
