/** Builds the machine inventory of `/stats` and `gpulse stats` from the newest frames. Reads no hardware. */
import { gpu, type MetricEntry } from "../../model/catalogue/index.ts";
import { labelValue } from "../../model/labels.ts";
import type { Delivery } from "../../pipeline/sink.ts";
import { type DeviceView, findReading, viewDevices } from "../../sinks/latest/devices.ts";
import type { AveragePower, RecentPower } from "../../sinks/recent/power.ts";
import type { ReadResult } from "../../machine/sysfs/read-result.ts";
import { linkBytesPerSecond } from "../../machine/snapshot-gpu.ts";
import type { GpuStats, NumberField, Stats } from "./schema.ts";

/** Facts about the machine; undefined if a fact could not be read. */
export interface HostFacts {
  readonly name: string;
  readonly processor: string | undefined;
  readonly sockets: number | undefined;
  readonly cores: number | undefined;
  readonly threads: number | undefined;
  readonly availableThreads: number;
  readonly memoryBytes: number;
  /** `unsupported` if no limit is set. */
  readonly memoryLimitBytes: ReadResult<number>;
}

export interface StatsInput {
  readonly nowMs: number;
  readonly version: string;
  readonly host: HostFacts;
  readonly fresh: readonly Delivery[];
  readonly power: RecentPower;
}

export function createStats({ nowMs, version, host, fresh, power }: StatsInput): Stats {
  const views = viewDevices(fresh, host.name);
  const whole = views.filter(({ device }) => device.parent === undefined);
  return {
    schema: "gpulse.stats/1",
    time: new Date(nowMs).toISOString(),
    gpulse: { version },
    simulated: views.some(({ device }) => device.simulated),
    host: hostStats(host),
    gpu_count: { value: whole.length, mlperf: "accelerators_per_node" },
    gpus: views.map((view) => {
      const averageOf = (metric: MetricEntry): AveragePower | undefined =>
        power.average(view.host, view.device.uuid, nowMs, metric);
      return gpuStats(view, nowMs, {
        board: averageOf(gpu.power),
        chip: averageOf(gpu.chipPower),
      });
    }),
  };
}

function hostStats(host: HostFacts): Stats["host"] {
  const { sockets, cores, threads, memoryLimitBytes: limit } = host;
  const count = (value: number | undefined, mlperf: string | null = null) => ({
    value: value ?? null,
    mlperf,
  });
  const each = sockets === undefined || cores === undefined ? undefined : cores / sockets;
  return {
    name: host.name,
    processor: { value: host.processor ?? null, mlperf: "host_processor_model_name" },
    processors: count(sockets, "host_processors_per_node"),
    // MLPerf counts the cores of one processor; machines with different processors have no such number.
    cores_per_processor: count(
      Number.isInteger(each) ? each : undefined,
      "host_processor_core_count",
    ),
    processor_cores: count(cores),
    processor_threads: count(threads),
    available_threads: count(host.availableThreads),
    memory_total: { value: host.memoryBytes, unit: "bytes", mlperf: "host_memory_capacity" },
    memory_limit: {
      value: limit.ok ? limit.value : null,
      unit: "bytes",
      mlperf: null,
      ...(limit.ok ? {} : { absent: limit.reason }),
    },
  };
}

interface AveragePowers {
  readonly board: AveragePower | undefined;
  readonly chip: AveragePower | undefined;
}

function gpuStats(view: DeviceView, nowMs: number, power: AveragePowers): GpuStats {
  const { device } = view;
  const plain = (value: string | undefined, mlperf: string | null = null) => ({
    value: value ?? null,
    mlperf,
  });
  const number = (metric: MetricEntry, mlperf: string | null = null) =>
    numberField(view, metric, mlperf);
  const up = findReading(view, gpu.up)?.value;
  const newestMs = Math.max(...view.readings.map(({ timeMs }) => timeMs));
  return {
    uuid: plain(device.uuid),
    index: { value: device.index, mlperf: null },
    pci_bus_id: plain(device.pciBusId),
    model: plain(device.model, "accelerator_model_name"),
    parent: plain(device.parent),
    vendor: plain(device.vendor),
    driver: plain(device.driver, "other_software_stack"),
    vbios: plain(device.vbios),
    part_number: plain(device.partNumber),
    simulated: device.simulated,
    up: up === undefined ? null : up === 1,
    memory_total: number(gpu.memoryTotal, "accelerator_memory_capacity"),
    memory_used: number(gpu.memoryUsed),
    average_power: averagePower(view, gpu.power, power.board),
    average_chip_power: averagePower(view, gpu.chipPower, power.chip),
    energy: { ...number(gpu.energy), ...energyCounter(view) },
    power_limit: number(gpu.powerLimit),
    pcie_link: {
      type: plain(device.linkType, "accelerator_host_interconnect"),
      generation: number(gpu.pcieLinkGeneration, "accelerator_host_interconnect"),
      generation_max: number(gpu.pcieLinkGenerationMax),
      width: number(gpu.pcieLinkWidth, "accelerator_host_interconnect"),
      width_max: number(gpu.pcieLinkWidthMax),
      bandwidth_max: linkBandwidth(view),
    },
    p2p: { mlperf: "accelerator_interconnect_topology", peers: peersOf(view) },
    source: view.readings[0]?.source ?? null,
    age_seconds: view.readings.length === 0 ? null : Math.max(0, nowMs - newestMs) / 1_000,
  };
}

function numberField(view: DeviceView, metric: MetricEntry, mlperf: string | null): NumberField {
  const reading = findReading(view, metric);
  if (reading?.value !== undefined) return { value: reading.value, unit: metric.unit, mlperf };
  return { value: null, unit: metric.unit, mlperf, absent: reading?.absent ?? "unsupported" };
}

/** On-die power is not MLPerf power, which is measured at the wall, so its `mlperf` field is null. */
function averagePower(
  view: DeviceView,
  metric: MetricEntry,
  average: AveragePower | undefined,
): GpuStats["average_power"] {
  const reading = findReading(view, metric);
  if (average === undefined)
    return {
      ...numberField(view, metric, null),
      value: null,
      // A card with this reading but no value in the window failed to report it; a card without it does not support it.
      absent: reading === undefined ? "unsupported" : (reading.absent ?? "failed"),
      window_seconds: null,
      samples: 0,
    };
  return {
    value: average.watts,
    unit: "watts",
    mlperf: null,
    window_seconds: average.windowSeconds,
    samples: average.samples,
  };
}

/** Returns the counter the energy is read from, on cards with several. */
function energyCounter(
  view: DeviceView,
): Pick<NonNullable<GpuStats["energy"]>, "counter" | "scope"> {
  const active = view.readings.find(
    ({ metric, value }) => metric === gpu.energyCounterActive && value === 1,
  );
  if (active === undefined) return { counter: null, scope: null };
  const scope = labelValue(active.labels, "scope");
  return {
    counter: labelValue(active.labels, "counter") ?? null,
    scope: scope === "board" || scope === "chip" ? scope : null,
  };
}

function linkBandwidth(view: DeviceView): NumberField {
  const generation = findReading(view, gpu.pcieLinkGenerationMax);
  const width = findReading(view, gpu.pcieLinkWidthMax);
  const value =
    generation?.value === undefined || width?.value === undefined
      ? undefined
      : linkBytesPerSecond(generation.value, width.value);
  const base = { unit: "bytes_per_second", mlperf: null };
  if (value !== undefined) return { value, ...base };
  return { value: null, ...base, absent: generation?.absent ?? width?.absent ?? "unsupported" };
}

function peersOf(view: DeviceView): GpuStats["p2p"]["peers"] {
  return view.readings
    .filter(({ metric, value }) => metric === gpu.p2pAccessible && value !== undefined)
    .map(({ labels, value }) => ({
      uuid: labelValue(labels, "peer") ?? "",
      accessible: value === 1,
    }));
}
