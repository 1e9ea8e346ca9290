/** Maps readings to OpenTelemetry's hardware conventions (`hw.*`, status: development), for OTLP sinks. Pure. */
import { gpu, type MetricEntry } from "../../model/catalogue/index.ts";
import type { Device } from "../../model/device.ts";
import { labelValue } from "../../model/labels.ts";
import type { Series } from "../../model/layout.ts";
import { vendorTitle } from "../../model/vendor.ts";

export type Instrument = "gauge" | "counter" | "updowncounter";

export interface OtelRow {
  readonly name: string;
  readonly instrument: Instrument;
  /** In UCUM, as in the conventions. */
  readonly unit: string;
  readonly from: MetricEntry;
  readonly match?: Readonly<Record<string, string>>;
  readonly attributes?: Readonly<Record<string, string>>;
  /** A part of the GPU with its own id: its type, and the label that identifies it. */
  readonly part?: { readonly type: string; readonly label: string };
  readonly convert?: (value: number) => number;
}

export interface OtelSeries {
  readonly name: string;
  readonly instrument: Instrument;
  readonly unit: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly convert: (value: number) => number;
}

const utilization = (from: MetricEntry, task: string): OtelRow => ({
  name: "hw.gpu.utilization",
  instrument: "gauge",
  unit: "1",
  from,
  attributes: { "hw.gpu.task": task },
});

const errors = (type: string): OtelRow => ({
  name: "hw.errors",
  instrument: "counter",
  unit: "{error}",
  from: gpu.eccErrors,
  match: { type },
  attributes: { "hw.type": "gpu", "error.type": type },
});

const status = (state: string, convert: (value: number) => number): OtelRow => ({
  name: "hw.status",
  instrument: "updowncounter",
  unit: "1",
  from: gpu.up,
  attributes: { "hw.type": "gpu", "hw.state": state },
  convert,
});

const limit = (ours: string, theirs: string): OtelRow => ({
  name: "hw.temperature.limit",
  instrument: "gauge",
  unit: "Cel",
  from: gpu.temperatureLimit,
  match: { limit: ours },
  attributes: { "hw.limit_type": theirs },
});

export const otelRows: readonly OtelRow[] = [
  utilization(gpu.utilization, "general"),
  utilization(gpu.encoderUtilization, "encoder"),
  utilization(gpu.decoderUtilization, "decoder"),
  { name: "hw.gpu.memory.limit", instrument: "updowncounter", unit: "By", from: gpu.memoryTotal },
  { name: "hw.gpu.memory.usage", instrument: "updowncounter", unit: "By", from: gpu.memoryUsed },
  {
    name: "hw.gpu.memory.utilization",
    instrument: "gauge",
    unit: "1",
    from: gpu.memoryUsedRatio,
  },
  errors("corrected"),
  errors("uncorrected"),
  status("ok", (up) => up),
  status("failed", (up) => 1 - up),
  {
    name: "hw.energy",
    instrument: "counter",
    unit: "J",
    from: gpu.energy,
    attributes: { "hw.type": "gpu" },
  },
  {
    name: "hw.power",
    instrument: "gauge",
    unit: "W",
    from: gpu.power,
    attributes: { "hw.type": "gpu" },
  },
  {
    name: "hw.temperature",
    instrument: "gauge",
    unit: "Cel",
    from: gpu.temperature,
    part: { type: "temperature", label: "sensor" },
  },
  limit("slowdown", "high.degraded"),
  limit("shutdown", "high.critical"),
  {
    name: "hw.fan.speed",
    instrument: "gauge",
    unit: "rpm",
    from: gpu.fanRpm,
    part: { type: "fan", label: "fan" },
  },
  {
    name: "hw.fan.speed_ratio",
    instrument: "gauge",
    unit: "1",
    from: gpu.fanSpeed,
    part: { type: "fan", label: "fan" },
  },
  {
    name: "hw.voltage",
    instrument: "gauge",
    unit: "V",
    from: gpu.voltage,
    part: { type: "voltage", label: "rail" },
  },
];

/** Conventions that gpulse does not follow, and why. */
export const otelLeftOut: readonly (readonly [names: string, why: string])[] = [
  ["hw.gpu.io", "A counter of all bytes moved; PCIe traffic is only reported as a rate."],
  ["hw.serial_number", "We do not put serial numbers on series."],
];

/** The attributes of a GPU's own metrics. */
export function otelDevice(device: Device): Record<string, string> {
  return {
    "hw.id": device.uuid,
    "hw.name": `GPU ${device.index}`,
    "hw.vendor": vendorTitle(device.vendor),
    "hw.model": device.model,
    ...(device.driver === undefined ? {} : { "hw.driver_version": device.driver }),
    ...(device.vbios === undefined ? {} : { "hw.firmware_version": device.vbios }),
    ...(device.simulated ? { simulated: "true" } : {}),
  };
}

/** The OpenTelemetry series of one of ours; several for a state, none if the conventions do not define one. */
export function otelSeries(series: Series, device: Device): OtelSeries[] {
  return otelRows
    .filter(
      ({ from, match = {} }) =>
        from === series.metric &&
        Object.entries(match).every(([name, value]) => labelValue(series.labels, name) === value),
    )
    .map((row) => ({
      name: row.name,
      instrument: row.instrument,
      unit: row.unit,
      attributes: { ...identity(row, series, device), ...row.attributes },
      convert: row.convert ?? ((value) => value),
    }));
}

/** In the conventions a sensor or fan is a component of its own: its id must differ from that of the GPU, its parent. */
function identity({ part }: OtelRow, series: Series, device: Device): Record<string, string> {
  const whole = otelDevice(device);
  if (part === undefined) return whole;
  const which = labelValue(series.labels, part.label) ?? "";
  return {
    "hw.id": `${device.uuid}/${part.type}/${which}`,
    "hw.name": `${whole["hw.name"] ?? ""} ${which}`,
    "hw.parent": device.uuid,
    "hw.sensor_location": which,
    ...(device.simulated ? { simulated: "true" } : {}),
  };
}
