/**
 * Turns the worker's snapshots into frames. A layout is built when the plan changes and is shared by all frames until the next change.
 */
import { gpu, type Tier } from "../../model/catalogue/index.ts";
import { type Device, deviceInfoLabels, deviceLabels } from "../../model/device.ts";
import { type Frame, FrameWriter } from "../../model/frame.ts";
import { labelKey, type LabelSet } from "../../model/labels.ts";
import { type Layout, LayoutBuilder } from "../../model/layout.ts";
import { type AbsenceReason, presence, presenceNames } from "../../model/presence.ts";
import {
  type GpuMetric,
  NVML_SENTINEL,
  SENTINEL_MARK,
  type SeriesPlan,
  type WorkerSnapshot,
} from "./protocol.ts";

/** A series that comes and goes with events and processes, besides the planned ones. An undefined value is not reported. */
export interface ExtraSeries {
  readonly metric: GpuMetric;
  readonly labels: LabelSet;
  readonly value: number | undefined;
}

interface Shape {
  readonly key: string;
  readonly layout: Layout;
}

export class NvidiaFrameBuilder {
  readonly #host: string;
  #plan: SeriesPlan = { version: 0, devices: [], series: { fast: [], slow: [], static: [] } };
  readonly #shapes = new Map<Tier, Shape>();

  constructor(host: string) {
    this.#host = host;
  }

  get version(): number {
    return this.#plan.version;
  }

  get devices(): readonly Device[] {
    return this.#plan.devices;
  }

  /** The labels of a series of the device at this position in the plan. */
  labels(at: number, extra: Readonly<Record<string, string | undefined>> = {}): LabelSet {
    const device = this.#plan.devices[at];
    if (device === undefined) throw new Error(`BUG: the plan has no device ${at}`);
    return deviceLabels(device, this.#host, extra);
  }

  take(plan: SeriesPlan | undefined): void {
    if (plan === undefined) return;
    this.#plan = plan;
    this.#shapes.clear();
  }

  frame(
    tier: Tier,
    timeMs: number,
    snapshot: WorkerSnapshot,
    extras: readonly ExtraSeries[],
  ): Frame {
    const planned = this.#plan.series[tier].length;
    if (snapshot.version !== this.#plan.version || snapshot.values.length !== planned)
      throw new Error("BUG: the NVML worker's values do not belong to its plan");
    const writer = new FrameWriter(this.#layout(tier, extras), timeMs);
    for (let slot = 0; slot < planned; slot++) {
      const state = snapshot.presence[slot] ?? presence.failed;
      const value = snapshot.values[slot] ?? Number.NaN;
      if (state === presence.present) writer.set(slot, value);
      else if (state === presence.failed && value === SENTINEL_MARK)
        writer.reject(slot, NVML_SENTINEL, "sentinel");
      else writer.absent(slot, presenceNames[state] as AbsenceReason);
    }
    extras.forEach(({ value }, index) => {
      if (value === undefined) writer.absent(planned + index, "unsupported");
      else writer.set(planned + index, value);
    });
    // A GPU's identity does not depend on whether it responds.
    if (tier === "static")
      this.devices.forEach((_, index) => writer.set(planned + extras.length + index, 1));
    return writer.finish();
  }

  #layout(tier: Tier, extras: readonly ExtraSeries[]): Layout {
    const key = extras.map(({ metric, labels }) => metric + labelKey(labels)).join("\n");
    const known = this.#shapes.get(tier);
    if (known?.key === key) return known.layout;
    const builder = new LayoutBuilder();
    for (const { metric, device, labels } of this.#plan.series[tier])
      builder.add(gpu[metric], this.labels(device, labels));
    for (const { metric, labels } of extras) builder.add(gpu[metric], labels);
    if (tier === "static")
      for (const device of this.devices)
        builder.add(gpu.info, deviceInfoLabels(device, this.#host));
    const layout = builder.build();
    this.#shapes.set(tier, { key, layout });
    return layout;
  }
}
