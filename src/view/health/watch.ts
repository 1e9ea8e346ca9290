/**
 * Follows every frame and returns one verdict per GPU and machine at any time. Runs in the agent for its own GPUs and in the hub
 * for all. No I/O; time comes from the frames and the caller.
 */
import {
  type Device,
  deviceFromLabels,
  deviceKey,
  unidentifiedDevice,
} from "../../model/device.ts";
import type { Frame } from "../../model/frame.ts";
import type { Layout } from "../../model/layout.ts";
import { presence } from "../../model/presence.ts";
import { GpuRecord } from "./gpu-record.ts";
import { judgeHost } from "./judge-host.ts";
import { HostRecord } from "./host-record.ts";
import { type DriverLogAccess, judgeGpu } from "./judge.ts";
import { planLayout, type HealthGpuPlan, type PlannedLayout } from "./plan.ts";
import { reportedVerdict } from "./series.ts";
import { type HealthReason, type Verdict, worstState, type HealthState } from "./verdict.ts";

export interface GpuHealth extends Verdict {
  readonly device: Device;
  readonly host: string;
}

export interface HostHealth extends Verdict {
  readonly host: string;
  /** The worst state of the machine itself and of its GPUs. */
  readonly worst: HealthState;
  readonly gpus: readonly GpuHealth[];
}

export interface HealthWatchOptions {
  /** True if verdicts in frames are adopted, as the hub does with those of its agents. */
  readonly acceptsVerdicts: boolean;
  /** How long a condition has to hold in a single check; absent for continuous watching. */
  readonly settleMs?: number;
}

/** Limits the memory that a source with invented GPUs can use. */
const mostGpus = 100_000;
/** A GPU without readings for this long is removed. */
const forgottenMs = 24 * 3_600_000;

interface WatchedGpu {
  readonly record: GpuRecord;
  readonly host: string;
  device: Device;
}

export class HealthWatch {
  readonly #options: HealthWatchOptions;
  readonly #gpus = new Map<string, WatchedGpu>();
  readonly #hosts = new Map<string, HostRecord>();
  readonly #plans = new WeakMap<Layout, PlannedLayout>();

  constructor(options: HealthWatchOptions) {
    this.#options = options;
  }

  take({ frame, devices }: { readonly frame: Frame; readonly devices?: readonly Device[] }): void {
    let plan = this.#plans.get(frame.layout);
    if (plan === undefined) this.#plans.set(frame.layout, (plan = planLayout(frame.layout)));
    for (const planned of plan.gpus) this.#takeGpu(frame, planned, devices);
    for (const { host, inputs } of plan.hosts) this.#hostOf(host).take(frame, inputs);
  }

  /** Finds the GPU of this machine at a PCI address, for lines of the kernel's log. */
  findByBus(host: string, pciBusId: string): string | undefined {
    for (const known of this.#gpus.values())
      if (known.host === host && known.device.pciBusId === pciBusId) return known.device.uuid;
    return undefined;
  }

  record(host: string, uuid: string): GpuRecord | undefined {
    return this.#gpus.get(deviceKey(host, uuid))?.record;
  }

  hostRecord(host: string): HostRecord {
    return this.#hostOf(host);
  }

  /**
   * @param driverLog whether the kernel's log of this machine can be read
   * @param anomalies reasons of the anomaly watch, by `deviceKey`
   */
  report(
    nowMs: number,
    driverLog?: DriverLogAccess,
    anomalies: ReadonlyMap<string, readonly HealthReason[]> = new Map(),
  ): HostHealth[] {
    const byHost = new Map<string, GpuHealth[]>();
    for (const host of this.#hosts.keys()) byHost.set(host, []);
    for (const [key, { record, host, device }] of this.#gpus) {
      if (nowMs - record.timeMs > forgottenMs) {
        this.#gpus.delete(key);
        continue;
      }
      if (device.parent !== undefined) continue;
      const more = anomalies.get(key) ?? [];
      const verdict = judgeGpu(record, { nowMs, driverLog, more });
      const gpus = byHost.get(host) ?? [];
      gpus.push({ ...verdict, device, host });
      byHost.set(host, gpus);
    }
    return [...byHost]
      .map(([host, gpus]): HostHealth => {
        const own = judgeHost(this.#hosts.get(host), nowMs);
        gpus.sort((left, right) => left.device.index - right.device.index);
        const states = gpus.map(({ state }) => state);
        return {
          ...own,
          host,
          gpus,
          // A machine without EDAC is judged by its GPUs alone.
          worst: worstState(
            own.state === "unknown" && gpus.length > 0 ? states : [...states, own.state],
          ),
        };
      })
      .sort((left, right) => left.host.localeCompare(right.host));
  }

  #hostOf(host: string): HostRecord {
    let record = this.#hosts.get(host);
    if (record === undefined) this.#hosts.set(host, (record = new HostRecord()));
    return record;
  }

  #takeGpu(frame: Frame, planned: HealthGpuPlan, devices: readonly Device[] | undefined): void {
    const { host, uuid } = planned;
    const key = deviceKey(host, uuid);
    let known = this.#gpus.get(key);
    if (known === undefined) {
      if (this.#gpus.size >= mostGpus || planned.inputs.length === 0) return;
      const device =
        devices?.find((one) => one.uuid === uuid) ?? unidentifiedDevice(uuid, planned.gpu);
      known = { record: new GpuRecord(), host, device };
      this.#gpus.set(key, known);
    }
    if (planned.info !== undefined && known.device.vendor === "unknown")
      known.device = deviceFromLabels(planned.info) ?? known.device;
    const { record } = known;
    const { settleMs = Number.POSITIVE_INFINITY, acceptsVerdicts } = this.#options;
    record.take(frame, planned.inputs, settleMs);
    if (planned.owners.length > 0) record.owner = ownerIn(frame, planned);
    for (const { xid, slot, lastSlot } of planned.xids) {
      if (frame.presence[slot] !== presence.present) continue;
      const count = frame.values[slot] ?? 0;
      const before = record.xidCounts.get(xid) ?? 0;
      record.xidCounts.set(xid, count);
      if (count <= 0 || count === before) continue;
      const hasTime = lastSlot >= 0 && frame.presence[lastSlot] === presence.present;
      const timeMs = hasTime ? Math.round((frame.values[lastSlot] ?? 0) * 1_000) : frame.timeMs;
      const application = record.owner === undefined ? {} : { application: record.owner };
      record.xids.add({ timeMs, xid: Number(xid), ...application });
    }
    if (acceptsVerdicts && planned.hasVerdict)
      record.reported = reportedVerdict(frame, planned.verdictSlots, record.reported);
  }
}

const ownerIn = (frame: Frame, { owners }: HealthGpuPlan): string | undefined =>
  owners.find(({ slot }) => frame.presence[slot] === presence.present)?.name;
