/** One GPU's newest readings as facts and as readings of the moment. Pure. What its vendor never tells is not called missing. */
import { gpu } from "../../model/catalogue/index.ts";
import type { MetricEntry } from "../../model/catalogue/index.ts";
import type { Device } from "../../model/device.ts";
import type { LabelSet } from "../../model/labels.ts";
import { labelValue } from "../../model/labels.ts";
import type { AbsenceReason } from "../../model/presence.ts";
import { known } from "../machine/machine.ts";
import type { Missing } from "../machine/machine.ts";
import type { GpuFacts, GpuProcessReading, GpuReadings } from "./snapshot.ts";

export interface GpuReading {
  readonly metric: MetricEntry;
  readonly labels: LabelSet;
  /** Exactly one of the two is there. */
  readonly value?: number;
  readonly absent?: AbsenceReason;
}

/** A GPU as its source shows it now. */
export interface GpuView {
  readonly device: Device;
  readonly readings: readonly GpuReading[];
  readonly averagePower?: {
    readonly watts: number;
    readonly windowSeconds: number;
    readonly samples: number;
  };
}

/** What readings do not carry and another way told: files of the driver, or its tool. */
export interface GpuExtra {
  readonly firmware?: Readonly<Record<string, string>>;
  readonly applicationHertz?: Readonly<Record<string, number>>;
  readonly performanceLevel?: string;
  readonly requestedMinHertz?: number;
  readonly requestedMaxHertz?: number;
  readonly numaNode?: number;
}

const computeModes = ["default", "exclusive-thread", "prohibited", "exclusive-process"] as const;
const gigatransfers: readonly number[] = [2.5, 5, 8, 16, 32, 64];

/** One direction: 8b/10b up to generation 2, 128b/130b from 3 on; generation 6 loses about as little to its FLITs. */
export function linkBytesPerSecond(generation: number, width: number): number | undefined {
  const rate = gigatransfers[generation - 1];
  if (rate === undefined) return undefined;
  return Math.round((rate * 1e9 * width * (generation <= 2 ? 0.8 : 128 / 130)) / 8);
}

export function gpuFacts(view: GpuView, extra: GpuExtra, missing: Missing): GpuFacts {
  const { device } = view;
  const fact = (name: string) => `gpus.${device.uuid}.${name}`;
  const number = (name: string, metric: MetricEntry): number | undefined => {
    const reading = view.readings.find((one) => one.metric === metric);
    if (reading?.value !== undefined) return reading.value;
    if (reading?.absent !== undefined || isExpected(device, metric))
      missing.note(fact(name), reading?.absent ?? "unsupported");
    return undefined;
  };
  const state = (name: string, metric: MetricEntry): boolean | undefined => {
    const value = number(name, metric);
    return value === undefined ? undefined : value === 1;
  };
  for (const name of ["driver", "vbios", "pciBusId"] as const)
    if (device[name] === undefined) missing.note(fact(name), "unsupported");
  const mode = number("computeMode", gpu.computeMode);
  return {
    uuid: device.uuid,
    vendor: device.vendor,
    model: device.model,
    simulated: device.simulated,
    ...known("parent", device.parent),
    ...known("pciBusId", device.pciBusId),
    ...known("driver", device.driver),
    ...known("vbios", device.vbios),
    ...known("firmware", extra.firmware),
    ...known("memoryTotalBytes", number("memoryTotalBytes", gpu.memoryTotal)),
    ...known("visibleMemoryTotalBytes", number("visibleMemoryTotalBytes", gpu.visibleMemoryTotal)),
    ...known("powerLimitWatts", number("powerLimitWatts", gpu.powerLimit)),
    ...known("powerLimitDefaultWatts", number("powerLimitDefaultWatts", gpu.powerLimitDefault)),
    ...known("powerLimitMinWatts", number("powerLimitMinWatts", gpu.powerLimitMin)),
    ...known("powerLimitMaxWatts", number("powerLimitMaxWatts", gpu.powerLimitMax)),
    clocks: {
      maxHertz: byLabel(view, gpu.clockMax, "domain"),
      ...known("applicationHertz", extra.applicationHertz),
      ...known("performanceLevel", extra.performanceLevel),
      ...known("requestedMinHertz", extra.requestedMinHertz),
      ...known("requestedMaxHertz", extra.requestedMaxHertz),
    },
    pcie: pcieFacts(
      device,
      number("pcie.generationMax", gpu.pcieLinkGenerationMax),
      number("pcie.widthMax", gpu.pcieLinkWidthMax),
      extra,
    ),
    ...known("eccEnabled", state("eccEnabled", gpu.eccEnabled)),
    ...known("persistenceEnabled", state("persistenceEnabled", gpu.persistenceEnabled)),
    ...known("migEnabled", state("migEnabled", gpu.migEnabled)),
    ...known("computeMode", mode === undefined ? undefined : computeModes[mode]),
    ...known("partition", partitionOf(view)),
  };
}

function pcieFacts(
  device: Device,
  generationMax: number | undefined,
  widthMax: number | undefined,
  { numaNode }: GpuExtra,
): GpuFacts["pcie"] {
  const bandwidth =
    generationMax === undefined || widthMax === undefined
      ? undefined
      : linkBytesPerSecond(generationMax, widthMax);
  return {
    ...known("type", device.linkType),
    ...known("generationMax", generationMax),
    ...known("widthMax", widthMax),
    ...known("bandwidthMaxBytesPerSecond", bandwidth),
    ...known("numaNode", numaNode),
  };
}

/** Whether this kind of card is known to tell it: only then is its silence worth a word. */
const isExpected = (device: Device, metric: MetricEntry): boolean =>
  metric.given[device.simulated ? "sim" : device.vendor] !== undefined;

function byLabel(view: GpuView, metric: MetricEntry, label: string): Record<string, number> {
  const values: Record<string, number> = {};
  for (const reading of view.readings) {
    const name = reading.metric === metric ? labelValue(reading.labels, label) : undefined;
    if (name !== undefined && reading.value !== undefined) values[name] = reading.value;
  }
  return values;
}

function partitionOf(view: GpuView): string | undefined {
  const labels = view.readings.find(
    ({ metric, value }) => metric === gpu.partitionInfo && value !== undefined,
  )?.labels;
  if (labels === undefined) return undefined;
  const parts = [labelValue(labels, "compute"), labelValue(labels, "memory")];
  return parts.filter((part) => part !== undefined).join("/");
}

export function peersOf(view: GpuView): Record<string, boolean> {
  const peers = byLabel(view, gpu.p2pAccessible, "peer");
  return Object.fromEntries(Object.entries(peers).map(([uuid, value]) => [uuid, value === 1]));
}

export function gpuReadings(view: GpuView): GpuReadings {
  const { device, averagePower } = view;
  const number = (metric: MetricEntry): number | undefined =>
    view.readings.find((one) => one.metric === metric && one.value !== undefined)?.value;
  const state = (metric: MetricEntry): boolean | undefined => {
    const value = number(metric);
    return value === undefined ? undefined : value === 1;
  };
  const board = averagePower?.watts ?? number(gpu.power);
  const powerWatts = board ?? number(gpu.chipPower);
  const temperatures = byLabel(view, gpu.temperature, "sensor");
  const clocks = byLabel(view, gpu.clock, "domain");
  return {
    uuid: device.uuid,
    index: device.index,
    ...known("up", state(gpu.up)),
    ...known("asleep", state(gpu.asleep)),
    ...known("memoryUsedBytes", number(gpu.memoryUsed)),
    ...known("powerWatts", powerWatts),
    ...(powerWatts === undefined ? {} : { powerKind: board === undefined ? "chip" : "board" }),
    ...known("powerWindowSeconds", averagePower?.windowSeconds),
    ...known("powerSamples", averagePower?.samples),
    ...known("utilizationRatio", number(gpu.utilization)),
    ...known("temperatureCelsius", temperatures["edge"] ?? Object.values(temperatures)[0]),
    ...(Object.keys(clocks).length === 0 ? {} : { clockHertz: clocks }),
    ...known("performanceState", number(gpu.performanceState)),
    ...known("pcieGeneration", number(gpu.pcieLinkGeneration)),
    ...known("pcieWidth", number(gpu.pcieLinkWidth)),
    ...known("processes", number(gpu.processes)),
  };
}

/** Those the source names, where it was asked to. */
export function processesOf(view: GpuView): GpuProcessReading[] {
  return view.readings.flatMap(({ metric, labels, value }) => {
    if (metric !== gpu.processMemory) return [];
    const pid = Number(labelValue(labels, "pid"));
    if (!Number.isInteger(pid) || pid <= 0) return [];
    return [
      {
        uuid: view.device.uuid,
        pid,
        ...known("name", labelValue(labels, "process")),
        ...known("kind", labelValue(labels, "kind")),
        ...known("memoryBytes", value),
        ...known("container", labelValue(labels, "container")),
        ...known("pod", labelValue(labels, "pod")),
        ...known("namespace", labelValue(labels, "namespace")),
        ...known("workload", labelValue(labels, "workload")),
      },
    ];
  });
}
