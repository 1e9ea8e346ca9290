/** Turns a fleet's state into frames: one layout per tier, built once, and values written in its order. */
import { openMetricsFloat } from "../../../formats/exposition/open-metrics-float.ts";
import { gpu as metrics, type MetricEntry, ml, type Tier } from "../../../model/catalogue/index.ts";
import { type Frame, FrameWriter } from "../../../model/frame.ts";
import { labelSet, withLabels } from "../../../model/labels.ts";
import { type Layout, LayoutBuilder, type Series } from "../../../model/layout.ts";
import type { SimFleet } from "../fleet/fleet.ts";
import { type LatencyHistogram, jobKinds, jobOutcomes, type Tally } from "../workloads/workload.ts";
import { deviceInfoLabels, deviceLabels } from "../../../model/device.ts";
import { gpusPerMachine } from "../fleet/build.ts";
import { isAsleep, type SimGpu } from "../fleet/gpu.ts";
import { countsWork } from "../workloads/make.ts";
import type { GpuModel } from "../physics/model.ts";
import { readingsOf, type SimReading } from "./readings.ts";

/* The job queue's numbers as series, summed over all machines. */

/** Adds the series in the order in which writeWork fills them. */
function addWork(builder: LayoutBuilder, host: string): void {
  builder.add(ml.queueDepth, labelSet({ host }));
  for (const kind of jobKinds) {
    builder.add(ml.jobsRunning, labelSet({ host, kind }));
    for (const outcome of jobOutcomes) builder.add(ml.jobs, labelSet({ host, kind, outcome }));
  }
  for (const metric of [ml.stepDuration, ml.requestDuration]) addHistogram(builder, metric, host);
  for (const kind of ["training", "batch"]) builder.add(ml.samples, labelSet({ host, kind }));
  for (const kind of ["training", "inference"]) builder.add(ml.tokens, labelSet({ host, kind }));
}

function addHistogram(builder: LayoutBuilder, metric: MetricEntry, host: string): void {
  for (const bound of [...(metric.buckets ?? []), Infinity])
    builder.add(metric, labelSet({ host, le: openMetricsFloat(bound) }), "_bucket");
  builder.add(metric, labelSet({ host }), "_sum");
  builder.add(metric, labelSet({ host }), "_count");
}

/** Fills the series from a slot on; returns the slot after the last. */
function writeWork(writer: FrameWriter, firstSlot: number, { machines }: SimFleet): number {
  let slot = firstSlot;
  const put = (of: (tally: Tally) => number): void => {
    let sum = 0;
    for (const { tally } of machines) sum += of(tally);
    writer.set(slot++, sum);
  };
  put((tally) => tally.waiting);
  for (const kind of jobKinds) {
    put((tally) => tally.running[kind]);
    for (const outcome of jobOutcomes) put((tally) => tally.ended[kind][outcome]);
  }
  for (const histogram of [
    (tally: Tally): LatencyHistogram => tally.steps,
    (tally: Tally): LatencyHistogram => tally.requests,
  ]) {
    const buckets = machines[0] === undefined ? 0 : histogram(machines[0].tally).counts.length;
    for (let upTo = 0; upTo < buckets; upTo++) put((tally) => countUpTo(histogram(tally), upTo));
    put((tally) => histogram(tally).sum);
    put((tally) => countUpTo(histogram(tally), buckets - 1));
  }
  for (const kind of ["training", "batch"] as const) put((tally) => tally.samples[kind]);
  for (const kind of ["training", "inference"] as const) put((tally) => tally.tokens[kind]);
  return slot;
}

function countUpTo({ counts }: LatencyHistogram, upTo: number): number {
  let sum = 0;
  for (let at = 0; at <= upTo; at++) sum += counts[at] ?? 0;
  return sum;
}

/** A machine of more than four datacentre GPUs has two sockets with half of them each. */
function numaNodeOf({ model, device }: SimGpu, onMachine: number): string | undefined {
  if (model.kind !== "datacentre") return undefined;
  const place = device.index % gpusPerMachine;
  return onMachine > gpusPerMachine / 2 && place >= gpusPerMachine / 2 ? "1" : "0";
}

export class Emitter {
  readonly #fleet: SimFleet;
  readonly #host: string;
  readonly #readings = new Map<GpuModel, Readonly<Record<Tier, readonly SimReading[]>>>();
  readonly #fixed: Readonly<Record<Tier, Layout>>;
  /** The slow tier's layout with the current owners; rebuilt only if they have changed. */
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

  /** The fleet's current state as a frame. `frameTime` converts virtual time to the frame's. */
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

  /** Two series whose value is always 1: the GPU's identity, and the GPUs whose memory it can access. */
  #addIdentity(builder: LayoutBuilder): void {
    for (const { gpus } of this.#fleet.machines) {
      for (const gpu of gpus) {
        const info = deviceInfoLabels(gpu.device, this.#host);
        builder.add(metrics.info, withLabels(info, { numa_node: numaNodeOf(gpu, gpus.length) }));
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

  /** Owners and XIDs come and go, so their series follow the fixed part. */
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

function ownerOf({
  job,
  workload,
  device,
  followedLoad: reported,
}: SimGpu): Record<string, string> {
  return job === undefined
    ? {
        workload: `${workload.kind ?? "none"}-${device.index}`,
        user: reported === undefined ? "scenario" : "service",
      }
    : { workload: job.name, user: job.user };
}
