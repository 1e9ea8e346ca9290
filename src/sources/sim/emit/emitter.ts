/** Frames from a fleet: a layout per tier, made once, and numbers written in its order. */
import { gpu as metrics, type Tier } from "../../../model/catalogue/index.ts";
import { deviceInfoLabels, deviceLabels } from "../../../model/device.ts";
import { type Frame, FrameWriter } from "../../../model/frame.ts";
import { type Layout, LayoutBuilder, type Series } from "../../../model/layout.ts";
import type { SimFleet } from "../fleet/fleet.ts";
import { isAsleep, type SimGpu } from "../fleet/gpu.ts";
import { countsWork } from "../workloads/make.ts";
import type { GpuModel } from "../physics/model.ts";
import { readingsOf, type SimReading } from "./readings.ts";
import { addWork, writeWork } from "./work.ts";

export class Emitter {
  readonly #fleet: SimFleet;
  readonly #host: string;
  readonly #readings = new Map<GpuModel, Readonly<Record<Tier, readonly SimReading[]>>>();
  readonly #fixed: Readonly<Record<Tier, Layout>>;
  /** The slow tier's layout with who owns what now; made anew only when that has changed. */
  #slow: { readonly layout: Layout; readonly changes: number };

  constructor(fleet: SimFleet, host: string) {
    this.#fleet = fleet;
    this.#host = host;
    const isCounted = fleet.gpus.some(({ assignments }) =>
      assignments.some(({ run }) => countsWork(run)),
    );
    for (const { model } of fleet.gpus)
      if (!this.#readings.has(model)) this.#readings.set(model, readingsOf(model, isCounted));
    this.#fixed = {
      fast: this.#layoutOf("fast"),
      slow: this.#layoutOf("slow"),
      static: this.#layoutOf("static"),
    };
    this.#slow = { layout: this.#fixed.slow, changes: -1 };
  }

  /** The fleet as it stands. `frameTime` turns virtual time into the frame's. */
  frame(tier: Tier, timeMs: number, frameTime: (virtualMs: number) => number): Frame {
    const layout = tier === "slow" ? this.#slowLayout() : this.#fixed[tier];
    const writer = new FrameWriter(layout, timeMs);
    let slot = 0;
    for (const gpu of this.#fleet.gpus) {
      const absent = gpu.lost ? "failed" : isAsleep(gpu) ? "asleep" : undefined;
      for (const { value, always } of this.#of(gpu)[tier]) {
        if (absent !== undefined && !always) writer.absent(slot, absent);
        else writer.set(slot, value(gpu));
        slot += 1;
      }
    }
    if (tier === "fast") writeWork(writer, slot, this.#fleet);
    else if (tier === "slow") this.#writeEvents(writer, slot, frameTime);
    else for (; slot < layout.series.length; slot++) writer.set(slot, 1);
    return writer.finish();
  }

  #of(gpu: SimGpu): Readonly<Record<Tier, readonly SimReading[]>> {
    const readings = this.#readings.get(gpu.model);
    if (readings === undefined)
      throw new Error(`BUG: ${gpu.model.key} came into the fleet after it was built`);
    return readings;
  }

  #layoutOf(tier: Tier): Layout {
    const builder = new LayoutBuilder();
    for (const gpu of this.#fleet.gpus) {
      for (const { metric, labels } of this.#of(gpu)[tier])
        builder.add(metric, deviceLabels(gpu.device, this.#host, labels));
    }
    if (tier === "fast") addWork(builder, this.#host);
    if (tier === "static") this.#addIdentity(builder);
    return builder.build();
  }

  /** Both are always 1: who the GPU is, and whose memory it can reach. */
  #addIdentity(builder: LayoutBuilder): void {
    for (const { gpus } of this.#fleet.machines) {
      for (const gpu of gpus) {
        builder.add(metrics.info, deviceInfoLabels(gpu.device, this.#host));
        if (gpu.model.kind !== "datacentre") continue;
        for (const peer of gpus) {
          if (peer === gpu || peer.model !== gpu.model) continue;
          builder.add(
            metrics.p2pAccessible,
            deviceLabels(gpu.device, this.#host, { peer: peer.device.uuid }),
          );
        }
      }
    }
  }

  /** Owners and XIDs come and go, so they stand behind the fixed part. */
  #slowLayout(): Layout {
    const { changes } = this.#fleet;
    if (this.#slow.changes === changes) return this.#slow.layout;
    const series: Series[] = [];
    for (const gpu of this.#fleet.gpus) {
      const labels = (extra: Record<string, string>): Series["labels"] =>
        deviceLabels(gpu.device, this.#host, extra);
      if (owned(gpu))
        series.push({ metric: metrics.ownerInfo, suffix: "", labels: labels(ownerOf(gpu)) });
      for (const xid of gpu.xids.keys()) {
        series.push({
          metric: metrics.xidErrors,
          suffix: "",
          labels: labels({ xid: String(xid) }),
        });
        series.push({ metric: metrics.xidLast, suffix: "", labels: labels({ xid: String(xid) }) });
      }
    }
    this.#slow = { layout: { series: this.#fixed.slow.series.concat(series) }, changes };
    return this.#slow.layout;
  }

  #writeEvents(
    writer: FrameWriter,
    firstSlot: number,
    frameTime: (virtualMs: number) => number,
  ): void {
    let slot = firstSlot;
    for (const gpu of this.#fleet.gpus) {
      if (owned(gpu)) writer.set(slot++, 1);
      for (const { count, lastMs } of gpu.xids.values()) {
        writer.set(slot++, count);
        writer.set(slot++, frameTime(lastMs) / 1_000);
      }
    }
  }
}

function owned(gpu: SimGpu): boolean {
  return gpu.workload.kind !== undefined && !gpu.lost;
}

function ownerOf({ job, workload, device, told }: SimGpu): Record<string, string> {
  return job === undefined
    ? {
        workload: `${workload.kind ?? "none"}-${device.index}`,
        user: told === undefined ? "scenario" : "service",
      }
    : { workload: job.name, user: job.user };
}
