/**
 * Splits one GPU's newest readings into facts and current values. Pure. A value that the vendor never reports is not listed as missing.
 */
import { gpu, type MetricEntry } from "../model/catalogue/index.ts";
import { type Device, isReportedBy } from "../model/device.ts";
import { type LabelSet, labelValue } from "../model/labels.ts";
import type { AbsenceReason } from "../model/presence.ts";
import { type MissingFacts, type MissingReason, optionalFact } from "./machine.ts";
import type { GpuFacts, GpuProcessReading, GpuReadings } from "./snapshot.ts";

export interface GpuReading {
  readonly metric: MetricEntry;
  readonly labels: LabelSet;
  /** Exactly one of `value` and `absent` is set. */
  readonly value?: number;
  readonly absent?: AbsenceReason;
}

/** The current state of a GPU as its source reports it. */
export interface GpuView {
  readonly device: Device;
  readonly readings: readonly GpuReading[];
  readonly averagePower?: {
    readonly watts: number;
    readonly windowSeconds: number;
    readonly samples: number;
  };
}

/** Facts that are not readings: from the driver's files or its tool. */
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

/** Bandwidth in one direction: 8b/10b up to generation 2, 128b/130b from 3 on; generation 6 loses about as little to its FLITs. */
export function linkBytesPerSecond(generation: number, width: number): number | undefined {
  const rate = gigatransfers[generation - 1];
  if (rate === undefined) return undefined;
  return Math.round((rate * 1e9 * width * (generation <= 2 ? 0.8 : 128 / 130)) / 8);
}

export function gpuFacts(view: GpuView, extra: GpuExtra, missing: MissingFacts): GpuFacts {
  const { device } = view;
  const fact = (name: string) => `gpus.${device.uuid}.${name}`;
  const number = (name: string, metric: MetricEntry): number | undefined => {
    const reading = view.readings.find((one) => one.metric === metric);
    if (reading?.value !== undefined) return reading.value;
    if (reading?.absent !== undefined || isReportedBy(device, metric))
      missing.note(fact(name), reading?.absent ?? reasonWithout(view, metric));
    return undefined;
  };
  const byLabel = (name: string, metric: MetricEntry, label: string): Record<string, number> => {
    const { values, absent } = splitByLabel(view, metric, label);
    for (const [one, reason] of absent) missing.note(fact(`${name}.${one}`), reason);
    if (absent.size === 0 && Object.keys(values).length === 0 && isReportedBy(device, metric))
      missing.note(fact(name), reasonWithout(view, metric));
    return values;
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
    ...optionalFact("parent", device.parent),
    ...optionalFact("pciBusId", device.pciBusId),
    ...optionalFact("driver", device.driver),
    ...optionalFact("vbios", device.vbios),
    ...optionalFact("firmware", extra.firmware),
    ...optionalFact("memoryTotalBytes", number("memoryTotalBytes", gpu.memoryTotal)),
    ...optionalFact(
      "visibleMemoryTotalBytes",
      number("visibleMemoryTotalBytes", gpu.visibleMemoryTotal),
    ),
    ...optionalFact("powerLimitWatts", number("powerLimitWatts", gpu.powerLimit)),
    ...optionalFact(
      "powerLimitDefaultWatts",
      number("powerLimitDefaultWatts", gpu.powerLimitDefault),
    ),
    ...optionalFact("powerLimitMinWatts", number("powerLimitMinWatts", gpu.powerLimitMin)),
    ...optionalFact("powerLimitMaxWatts", number("powerLimitMaxWatts", gpu.powerLimitMax)),
    clocks: {
      maxHertz: byLabel("clocks.maxHertz", gpu.clockMax, "domain"),
      ...optionalFact("applicationHertz", extra.applicationHertz),
      ...optionalFact("performanceLevel", extra.performanceLevel),
      ...optionalFact("requestedMinHertz", extra.requestedMinHertz),
      ...optionalFact("requestedMaxHertz", extra.requestedMaxHertz),
    },
    pcie: pcieFacts(
      device,
      number("pcie.generationMax", gpu.pcieLinkGenerationMax),
      number("pcie.widthMax", gpu.pcieLinkWidthMax),
      extra,
    ),
    ...optionalFact("eccEnabled", state("eccEnabled", gpu.eccEnabled)),
    ...optionalFact("persistenceEnabled", state("persistenceEnabled", gpu.persistenceEnabled)),
    ...optionalFact("migEnabled", state("migEnabled", gpu.migEnabled)),
    ...optionalFact("computeMode", mode === undefined ? undefined : computeModes[mode]),
    ...optionalFact("partition", partitionOf(view, fact("partition"), missing)),
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
    ...optionalFact("type", device.linkType),
    ...optionalFact("generationMax", generationMax),
    ...optionalFact("widthMax", widthMax),
    ...optionalFact("bandwidthMaxBytesPerSecond", bandwidth),
    ...optionalFact("numaNode", numaNode),
  };
}

/** The reason for a metric without a reading: if its tier has been read, this GPU does not support it. */
const reasonWithout = (view: GpuView, { tier }: MetricEntry): MissingReason =>
  view.readings.some(({ metric }) => metric.tier === tier) ? "unsupported" : "not-read";

interface LabelledReadings {
  readonly values: Record<string, number>;
  readonly absent: ReadonlyMap<string, AbsenceReason>;
}

/** Groups a metric's readings by the value of one label. */
export function splitByLabel(view: GpuView, metric: MetricEntry, label: string): LabelledReadings {
  const values: Record<string, number> = {};
  const absent = new Map<string, AbsenceReason>();
  for (const reading of view.readings) {
    const name = reading.metric === metric ? labelValue(reading.labels, label) : undefined;
    if (name === undefined) continue;
    if (reading.value !== undefined) values[name] = reading.value;
    else if (reading.absent !== undefined) absent.set(name, reading.absent);
  }
  return { values, absent };
}

function partitionOf(view: GpuView, fact: string, missing: MissingFacts): string | undefined {
  const reading = view.readings.find(({ metric }) => metric === gpu.partitionInfo);
  if (reading === undefined) {
    const reason = reasonWithout(view, gpu.partitionInfo);
    if (reason === "not-read" && isReportedBy(view.device, gpu.partitionInfo))
      missing.note(fact, reason);
    return undefined;
  }
  if (reading.absent !== undefined) missing.note(fact, reading.absent);
  if (reading.value === undefined) return undefined;
  const parts = [labelValue(reading.labels, "compute"), labelValue(reading.labels, "memory")];
  return parts.filter((part) => part !== undefined).join("/");
}

export function peersOf(view: GpuView, missing: MissingFacts): Record<string, boolean> {
  const { values, absent } = splitByLabel(view, gpu.p2pAccessible, "peer");
  const fact = `p2p.${view.device.uuid}`;
  for (const [peer, reason] of absent) missing.note(`${fact}.${peer}`, reason);
  if (
    isReportedBy(view.device, gpu.p2pAccessible) &&
    reasonWithout(view, gpu.p2pAccessible) === "not-read"
  )
    missing.note(fact, "not-read");
  return Object.fromEntries(Object.entries(values).map(([uuid, value]) => [uuid, value === 1]));
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
  const temperatures = splitByLabel(view, gpu.temperature, "sensor").values;
  const clocks = splitByLabel(view, gpu.clock, "domain").values;
  return {
    uuid: device.uuid,
    index: device.index,
    ...optionalFact("up", state(gpu.up)),
    ...optionalFact("asleep", state(gpu.asleep)),
    ...optionalFact("memoryUsedBytes", number(gpu.memoryUsed)),
    ...optionalFact("powerWatts", powerWatts),
    ...(powerWatts === undefined ? {} : { powerKind: board === undefined ? "chip" : "board" }),
    ...optionalFact("powerWindowSeconds", averagePower?.windowSeconds),
    ...optionalFact("powerSamples", averagePower?.samples),
    ...optionalFact("utilizationRatio", number(gpu.utilization)),
    ...optionalFact("temperatureCelsius", temperatures["edge"] ?? Object.values(temperatures)[0]),
    ...(Object.keys(clocks).length === 0 ? {} : { clockHertz: clocks }),
    ...optionalFact("performanceState", number(gpu.performanceState)),
    ...optionalFact("pcieGeneration", number(gpu.pcieLinkGeneration)),
    ...optionalFact("pcieWidth", number(gpu.pcieLinkWidth)),
    ...optionalFact("processes", number(gpu.processes)),
  };
}

/** The GPU's processes, if the source is configured to list them. */
export function processesOf(view: GpuView): GpuProcessReading[] {
  return view.readings.flatMap(({ metric, labels, value }) => {
    if (metric !== gpu.processMemory) return [];
    const pid = Number(labelValue(labels, "pid"));
    if (!Number.isInteger(pid) || pid <= 0) return [];
    return [
      {
        uuid: view.device.uuid,
        pid,
        ...optionalFact("name", labelValue(labels, "process")),
        ...optionalFact("kind", labelValue(labels, "kind")),
        ...optionalFact("memoryBytes", value),
        ...optionalFact("container", labelValue(labels, "container")),
        ...optionalFact("pod", labelValue(labels, "pod")),
        ...optionalFact("namespace", labelValue(labels, "namespace")),
        ...optionalFact("workload", labelValue(labels, "workload")),
      },
    ];
  });
}
