/**
 * GPUs that other exporters report. What a scrape has stored under an exporter's names is stored once more under ours and
 * shown, so that page, top, rules, lake and anomalies see these GPUs like those of an agent. A scraped gpulse agent has our
 * names already and is only shown.
 */
import { ExporterFrames } from "../../formats/exporters/frames.ts";
import type { ExporterFrame } from "../../formats/exporters/targets.ts";
import type { SampleBatch } from "../../formats/samples/batch.ts";
import { deviceKey } from "../../model/device.ts";
import { labelSet } from "../../model/labels.ts";
import type { Layout } from "../../model/layout.ts";
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
}

export interface ObserveOptions {
  /** The samples are stored elsewhere, so that those with our own names are stored here too. */
  readonly storesOwn?: boolean;
  /** False for what is stored later. */
  readonly isStored?: boolean;
  /** False for history, and for a part of an instant. */
  readonly isShown?: boolean;
  /** What is not in a frame may be in another: it ends no series. */
  readonly isPart?: boolean;
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
  /** GPUs and when they were last in a frame. */
  readonly gpus: Map<string, number>;
  /** Times of its frames by what is in them: an agent sends some readings every second and others every minute. */
  readonly layouts: WeakMap<Layout, FrameTimes>;
}

interface FrameTimes {
  lastTimeMs: number;
  freshForMs: number;
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
    const byTarget = new Map<string, ExporterFrame[]>();
    for (const found of this.#frames.frames(batch)) {
      const target = JSON.stringify(found.origin);
      const frames = byTarget.get(target);
      if (frames === undefined) byTarget.set(target, [found]);
      else frames.push(found);
    }
    // Targets side by side: each write waits for the log, and a fleet has hundreds of them. Those of one in their order: an
    // exporter that took another's place goes on after its end.
    await Promise.all(
      [...byTarget.values()].map(async (frames) => {
        for (const found of frames) await this.write(found, options);
      }),
    );
  }

  selfMetrics(put: PutMetric): void {
    const gpus = new Map<string, Set<string>>();
    const freshMs = this.#options.nowMs();
    for (const target of this.#targets.values()) {
      const known = gpus.get(target.exporter) ?? new Set();
      gpus.set(target.exporter, known);
      for (const [gpu, lastTimeMs] of target.gpus)
        if (freshMs - lastTimeMs <= target.freshForMs) known.add(gpu);
        else target.gpus.delete(gpu);
    }
    for (const [exporter, known] of gpus) put(self.exporterGpus, known.size, { exporter });
    put(self.exporterIgnored, this.#frames.ignoredSeries, { path: "scrape" });
  }

  async write(
    found: ExporterFrame,
    { isStored = true, isShown = true, isPart = !isShown, storesOwn = false }: ObserveOptions = {},
  ): Promise<void> {
    const { origin, host, frame, devices, isOwn, isReplaced } = found;
    const { writer, show, nowMs } = this.#options;
    const source = sourceOf(found);
    const freshForMs =
      isShown && !isReplaced ? this.#freshForMs(source, found, isPart) : mostFreshMs;
    const delivery: Delivery = {
      frame,
      source,
      tier: isPart || isReplaced ? "stream" : "fast",
      freshForMs,
      devices,
      host,
      isExposed: false,
    };
    const derived = isOwn || !isShown ? delivery : this.#derive(delivery);
    if (isReplaced) {
      this.#targets.delete(source);
      show({ ...delivery, tier: "fast", freshForMs: -1 });
    }
    if (isStored && (!isOwn || storesOwn) && frame.layout.series.length > 0)
      await writer.writeFrame(derived, labelSet({ ...origin }));
    if (isShown && !isReplaced && nowMs() - frame.timeMs <= freshForMs) show(derived);
  }

  #freshForMs(
    source: string,
    { exporter, host, frame: { timeMs, layout }, devices }: ExporterFrame,
    isPart: boolean,
  ): number {
    let target = this.#targets.get(source);
    if (target === undefined) {
      if (this.#targets.size >= maxQuietTargets) this.#forgetQuiet();
      target = {
        exporter,
        lastTimeMs: timeMs,
        freshForMs: firstFreshMs,
        gpus: new Map(),
        layouts: new WeakMap(),
      };
      this.#targets.set(source, target);
    }
    let times: FrameTimes | undefined = isPart ? target.layouts.get(layout) : target;
    if (times === undefined) {
      times = { lastTimeMs: timeMs, freshForMs: mostFreshMs };
      target.layouts.set(layout, times);
    } else if (timeMs > times.lastTimeMs) {
      const intervalMs = timeMs - times.lastTimeMs;
      times.freshForMs = Math.min(Math.max(intervals * intervalMs, leastFreshMs), mostFreshMs);
      times.lastTimeMs = timeMs;
    }
    target.lastTimeMs = Math.max(target.lastTimeMs, timeMs);
    for (const { uuid, parent } of devices)
      if (parent === undefined) target.gpus.set(deviceKey(host, uuid), timeMs);
    return times.freshForMs;
  }

  #forgetQuiet(): void {
    const nowMs = this.#options.nowMs();
    for (const [source, { lastTimeMs, freshForMs }] of this.#targets)
      if (nowMs - lastTimeMs > freshForMs) this.#targets.delete(source);
  }
}

const sourceOf = ({ exporter, origin, host }: ExporterFrame): string =>
  `exporter:${exporter}/${origin.job ?? ""}/${origin.instance ?? ""}/${host}`;
