/**
 * GPUs reported by other exporters. Samples that a scrape stored under an exporter's metric names are also stored under
 * gpulse's names and shown live, so that the page, top, rules, lake and anomaly detection treat these GPUs like those of an
 * agent. A scraped gpulse agent uses gpulse's names already and is only shown.
 */
import { ExporterFrames } from "../../formats/exporters/frames.ts";
import type { ExporterFrame } from "../../formats/exporters/targets.ts";
import type { SampleBatch } from "../../formats/samples/batch.ts";
import { type Device, deviceKey } from "../../model/device.ts";
import { labelSet } from "../../model/labels.ts";
import type { Layout } from "../../model/layout.ts";
import { self } from "../../model/catalogue/index.ts";
import type { PutMetric } from "../../model/self-frames.ts";
import type { Delivery } from "../../pipeline/sink.ts";
import { createActivity } from "../../pipeline/transforms/activity.ts";
import { createDerive } from "../../pipeline/transforms/derive.ts";
import type { SampleWriter } from "../../storage/history.ts";

export interface ExporterGpusOptions {
  readonly writer: SampleWriter;
  /** Passes the newest frames to the live view. */
  readonly show: (delivery: Delivery) => void;
  readonly nowMs: () => number;
}

export interface ObserveOptions {
  /** True if the original samples are stored elsewhere, so that samples under gpulse's names have to be stored here too. */
  readonly storesOwn?: boolean;
  /** False if the samples are stored later. */
  readonly isStored?: boolean;
  /** False for history, and for frames that cover only part of a timestamp. */
  readonly isShown?: boolean;
  /** True for a partial frame: devices missing from it may be in another one, so it ends no series. */
  readonly isPart?: boolean;
}

/** A frame stays fresh for three scrape intervals of its target, within these bounds. */
const intervals = 3;
const [leastFreshMs, mostFreshMs] = [15_000, 300_000];
const firstFreshMs = 90_000;
/** Above this number of targets, those that no longer report are removed. */
const maxQuietTargets = 10_000;

interface SeenTarget {
  readonly exporter: string;
  lastTimeMs: number;
  freshForMs: number;
  /** GPUs, with the time of their last frame; without those of `devices`, which nearly every frame repeats. */
  readonly gpus: Map<string, number>;
  devices: readonly Device[];
  devicesMs: number;
  host: string;
  /** Frame times by layout: an agent sends some metrics every second and others every minute. */
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
  /** What bounds the GPUs, from the activity that their exporter reports. */
  readonly #activity = createActivity({});
  readonly #targets = new Map<string, SeenTarget>();

  constructor(options: ExporterGpusOptions) {
    this.#options = options;
  }

  /** Call with the samples of one scrape, after they were stored. Rejects if the writer does. */
  async observe(batch: SampleBatch, options: ObserveOptions = {}): Promise<void> {
    const all = this.#frames.frames(batch);
    const [only] = all;
    if (only !== undefined && all.length === 1) return this.write(only, options);
    const byTarget = new Map<string, ExporterFrame[]>();
    for (const found of all) {
      const target = JSON.stringify(found.origin);
      const frames = byTarget.get(target);
      if (frames === undefined) byTarget.set(target, [found]);
      else frames.push(found);
    }
    // Targets are written concurrently: each write waits for the WAL, and a fleet has hundreds of targets. Frames of one target
    // keep their order: an exporter that replaces another continues after its end.
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
      noteDevices(target);
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
    const derived =
      isOwn || !isShown || isReplaced ? delivery : this.#activity(this.#derive(delivery));
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
        devices: [],
        devicesMs: timeMs,
        host,
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
    if (target.devices !== devices) {
      noteDevices(target);
      target.devices = devices;
      target.host = host;
    }
    target.devicesMs = timeMs;
    return times.freshForMs;
  }

  #forgetQuiet(): void {
    const nowMs = this.#options.nowMs();
    for (const [source, { lastTimeMs, freshForMs }] of this.#targets)
      if (nowMs - lastTimeMs > freshForMs) this.#targets.delete(source);
  }
}

function noteDevices({ devices, devicesMs, host, gpus }: SeenTarget): void {
  for (const { uuid, parent } of devices)
    if (parent === undefined) gpus.set(deviceKey(host, uuid), devicesMs);
}

const sourceOf = ({ exporter, origin, host }: ExporterFrame): string =>
  `exporter:${exporter}/${origin.job ?? ""}/${origin.instance ?? ""}/${host}`;
