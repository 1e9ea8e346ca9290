/** The inventory of a machine as `/stats` and `gpulse stats` give it, made from the newest frames. Reads no hardware. */
import { gpu } from "../../model/catalogue/index.ts";
import type { MetricEntry } from "../../model/catalogue/index.ts";
import { labelValue } from "../../model/labels.ts";
import type { Delivery } from "../../pipeline/sink.ts";
import { findReading, viewDevices } from "../../sinks/latest/devices.ts";
import type { DeviceView } from "../../sinks/latest/devices.ts";
import type { AveragePower, RecentPower } from "../../sinks/recent/power.ts";
import type { GpuStats, NumberField, Stats } from "./schema.ts";

export interface HostFacts {
  readonly name: string;
  readonly processor: string | undefined;
  readonly cores: number;
  readonly memoryBytes: number;
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
    host: {
      name: host.name,
      processor: { value: host.processor ?? null, mlperf: "host_processor_model_name" },
      processor_cores: { value: host.cores, mlperf: "host_processor_core_count" },
      memory_total: { value: host.memoryBytes, unit: "bytes", mlperf: "host_memory_capacity" },
    },
    gpu_count: { value: whole.length, mlperf: "accelerators_per_node" },
    gpus: views.map((view) =>
      gpuStats(view, nowMs, power.average(view.host, view.device.uuid, nowMs)),
    ),
  };
}

function gpuStats(view: DeviceView, nowMs: number, average: AveragePower | undefined): GpuStats {
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
    simulated: device.simulated,
    up: up === undefined ? null : up === 1,
    memory_total: number(gpu.memoryTotal, "accelerator_memory_capacity"),
    memory_used: number(gpu.memoryUsed),
    average_power: averagePower(view, average),
    power_limit: number(gpu.powerLimit),
    pcie_link: {
      type: plain(device.linkType, "accelerator_host_interconnect"),
      generation: number(gpu.pcieLinkGeneration, "accelerator_host_interconnect"),
      generation_max: number(gpu.pcieLinkGenerationMax),
      width: number(gpu.pcieLinkWidth, "accelerator_host_interconnect"),
      width_max: number(gpu.pcieLinkWidthMax),
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

/** On-die power is no MLPerf power, which is measured at the wall: the field says so by naming none. */
function averagePower(
  view: DeviceView,
  average: AveragePower | undefined,
): GpuStats["average_power"] {
  if (average === undefined)
    return {
      ...numberField(view, gpu.power, null),
      value: null,
      absent: findReading(view, gpu.power)?.absent ?? "failed",
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

function peersOf(view: DeviceView): GpuStats["p2p"]["peers"] {
  return view.readings
    .filter(({ metric, value }) => metric === gpu.p2pAccessible && value !== undefined)
    .map(({ labels, value }) => ({
      uuid: labelValue(labels, "peer") ?? "",
      accessible: value === 1,
    }));
}
