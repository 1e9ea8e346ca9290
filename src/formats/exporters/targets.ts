/** The GPUs of one exporter on one target: their description from all series seen, and the frame of one instant's readings. */
import { gpu, type MetricEntry } from "../../model/catalogue/index.ts";
import { type Device, deviceInfoLabels, deviceLabels } from "../../model/device.ts";
import type { Frame } from "../../model/frame.ts";
import { type LabelSet, labelSet } from "../../model/labels.ts";
import { keyOf, type ListedReading, ReadingFrames } from "../../model/reading-frames.ts";
import { decodeThrottleBits, nvidiaThrottleReasons } from "../../model/nvidia-throttle.ts";
import type { GpuOwner } from "../compat/row.ts";
import { GpuPresence } from "./presence.ts";
import { XidCounts } from "./xid-counts.ts";
import { ownExporter, type SeriesOrigin, type TranslatedSeries } from "./translate.ts";

export interface ExporterFrame {
  readonly exporter: string;
  readonly origin: SeriesOrigin;
  readonly host: string;
  readonly frame: Frame;
  readonly devices: readonly Device[];
  /** True if the samples already had our own names. */
  readonly isOwn: boolean;
  /**
   * True if another exporter of the target has taken over: the frame then holds the readings of the old one that end, which may be
   * none.
   */
  readonly isReplaced: boolean;
}

/** A GPU at one instant: its owner, and the readings from which others are derived. */
export interface GpuInstant {
  /** True if the GPU has a current reading. The number of its last XID error does not count: it outlives the GPU. */
  isLive: boolean;
  owner: GpuOwner | undefined;
  /** True if the origin also reports the GPU's own `gpu_up` and `gpu_info`. */
  isDescribed: boolean;
  /** The number of its last XID error, 0 for none. */
  lastXid: number | undefined;
  readonly values: Map<MetricEntry, number>;
}

/** The accumulated description of a GPU: the same object as long as its target is cached. */
export interface TargetGpu {
  device: Device;
  labels: LabelSet;
  infoLabels: LabelSet;
  /** The labels of the last owner. */
  owned: { readonly owner: GpuOwner; readonly labels: LabelSet } | undefined;
  /** Labels of `gpu_throttle_active`, in the order of NVIDIA's reasons; built on first use. */
  reasonLabels: readonly LabelSet[] | undefined;
  readonly xids: XidCounts;
}

export class ExporterTarget {
  readonly exporter: string;
  readonly origin: SeriesOrigin;
  readonly host: string;
  readonly isOwn: boolean;
  readonly #gpus = new Map<string, TargetGpu>();
  readonly #frames = new ReadingFrames(false);
  readonly #presence = new GpuPresence();

  constructor({ exporter, origin, host }: Omit<TranslatedSeries, "device">) {
    this.exporter = exporter;
    this.origin = origin;
    this.host = host;
    this.isOwn = exporter === ownExporter;
  }

  get gpuCount(): number {
    return this.#gpus.size;
  }

  gpu(uuid: string): TargetGpu | undefined {
    return this.#gpus.get(uuid);
  }

  /** Merges what a later series adds into the GPU's description. */
  learn(device: Device): TargetGpu {
    let known = this.#gpus.get(device.uuid);
    if (known === undefined) {
      known = this.#describe(device);
      this.#gpus.set(device.uuid, known);
    } else if (isBetter(device, known.device))
      Object.assign(known, this.#describe(merged(known.device, device)), { xids: known.xids });
    return known;
  }

  /**
   * @param gpus the GPUs of the readings. For each one with a value, derived readings are added: that it is up, its
   *   description, its owner, its total memory, and its power if only the instantaneous one is reported. GPUs that have
   *   disappeared from the target's pages are not up.
   * @param isElsewhere true if another exporter of the target reports the GPU with this uuid
   */
  frame(
    timeMs: number,
    readings: readonly ListedReading[],
    gpus: ReadonlyMap<TargetGpu, GpuInstant>,
    isReplaced: boolean,
    isElsewhere: (gpu: TargetGpu) => boolean,
  ): ExporterFrame {
    const { exporter, origin, host, isOwn } = this;
    const missing = isOwn ? [] : this.#missing(timeMs, gpus, isElsewhere);
    const all = isOwn
      ? readings
      : withImplied(readings, [
          ...this.#implied(gpus, timeMs, new Set(missing)),
          ...missing.flatMap(downReadings),
        ]);
    const devices = [...new Set([...gpus.keys(), ...missing])].map(({ device }) => device);
    const frame = this.#frames.frame(timeMs, all);
    return { exporter, origin, host, frame, devices, isOwn, isReplaced };
  }

  #describe(device: Device): TargetGpu {
    return {
      device,
      labels: deviceLabels(device, this.host),
      infoLabels: deviceInfoLabels(device, this.host),
      owned: undefined,
      reasonLabels: undefined,
      xids: new XidCounts(),
    };
  }

  #missing(
    timeMs: number,
    gpus: ReadonlyMap<TargetGpu, GpuInstant>,
    isElsewhere: (gpu: TargetGpu) => boolean,
  ): readonly TargetGpu[] {
    const live = [...gpus].flatMap(([known, { isLive, isDescribed }]) =>
      isLive && !isDescribed ? [known] : [],
    );
    return this.#presence.missing(timeMs, live).filter((known) => !isElsewhere(known));
  }

  #implied(
    gpus: ReadonlyMap<TargetGpu, GpuInstant>,
    timeMs: number,
    missing: ReadonlySet<TargetGpu>,
  ): ListedReading[] {
    const implied: ListedReading[] = [];
    const add = (metric: MetricEntry, labels: LabelSet, value: number): void =>
      void implied.push({ metric, labels, value });
    for (const [known, { owner, isDescribed, lastXid, values }] of gpus) {
      if (lastXid !== undefined)
        implied.push(...known.xids.readings(lastXid, timeMs, known.labels));
      if (values.size === 0 || isDescribed || missing.has(known)) continue;
      add(gpu.up, known.labels, 1);
      add(gpu.info, known.infoLabels, 1);
      if (owner !== undefined) add(gpu.ownerInfo, ownerLabels(known, owner), 1);
      else if (known.owned !== undefined) {
        // No other series of the page reports the end of a job.
        implied.push({ metric: gpu.ownerInfo, labels: known.owned.labels, value: "ended" });
        known.owned = undefined;
      }
      const [used, free] = [values.get(gpu.memoryUsed), values.get(gpu.memoryFree)];
      if (!values.has(gpu.memoryTotal) && used !== undefined && free !== undefined)
        add(gpu.memoryTotal, known.labels, used + free + (values.get(gpu.memoryReserved) ?? 0));
      const instant = values.get(gpu.powerInstant);
      if (!values.has(gpu.power) && instant !== undefined) add(gpu.power, known.labels, instant);
      const mask = values.get(gpu.clockEventReasons);
      if (!values.has(gpu.throttleActive) && mask !== undefined)
        implied.push(...throttleReadings(known, mask));
    }
    return implied;
  }
}

/** The readings of a GPU that its driver no longer finds, as an agent reports them. */
const downReadings = ({ labels, infoLabels }: TargetGpu): ListedReading[] => [
  { metric: gpu.up, labels, value: 0 },
  { metric: gpu.info, labels: infoLabels, value: 1 },
];

function throttleReadings(known: TargetGpu, mask: number): ListedReading[] {
  known.reasonLabels ??= nvidiaThrottleReasons.map((reason) =>
    labelSet({ ...Object.fromEntries(known.labels), reason }),
  );
  const active = decodeThrottleBits(mask);
  return known.reasonLabels.flatMap((labels, at) => {
    const reason = nvidiaThrottleReasons[at];
    return reason === undefined
      ? []
      : [{ metric: gpu.throttleActive, labels, value: Number(active[reason]) }];
  });
}

/** Metrics that may be both reported and derived. */
const computed: ReadonlySet<MetricEntry> = new Set([gpu.power, gpu.memoryTotal]);

/** A derived reading replaces one that the exporter wrote as 0, or no longer writes. */
function withImplied(
  readings: readonly ListedReading[],
  implied: readonly ListedReading[],
): readonly ListedReading[] {
  const absent = readings.filter(
    ({ value, metric }) => typeof value !== "number" && computed.has(metric),
  );
  if (absent.length === 0) return [...readings, ...implied];
  const isImplied = new Set(implied.filter(({ metric }) => computed.has(metric)).map(keyOf));
  const replaced = new Set(absent.filter((one) => isImplied.has(keyOf(one))));
  return [...readings.filter((one) => !replaced.has(one)), ...implied];
}

function ownerLabels(known: TargetGpu, owner: GpuOwner): LabelSet {
  if (known.owned?.owner !== owner)
    known.owned = {
      owner,
      labels: labelSet({ ...Object.fromEntries(known.labels), ...owner }),
    };
  return known.owned.labels;
}

const describing = ["model", "driver", "vbios", "pciBusId"] as const;

const isKnown = (value: string | undefined): boolean => value !== undefined && value !== "unknown";

const isBetter = (next: Device, before: Device): boolean =>
  describing.some((field) => isKnown(next[field]) && next[field] !== before[field]) ||
  (before.vendor === "unknown" && next.vendor !== "unknown") ||
  (next.simulated && !before.simulated);

function merged(before: Device, next: Device): Device {
  const fields = describing.filter((field) => isKnown(next[field]));
  return {
    ...before,
    simulated: before.simulated || next.simulated,
    parent: next.parent ?? before.parent,
    ...(next.vendor === "unknown" ? {} : { vendor: next.vendor }),
    ...(fields.includes("model") ? { index: next.index } : {}),
    ...Object.fromEntries(fields.map((field) => [field, next[field]])),
  };
}
