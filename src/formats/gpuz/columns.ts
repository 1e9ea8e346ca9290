/**
 * Maps the columns of GPU-Z to metrics: one table for every vendor and version. A column without a rule, or for a quantity that an
 * earlier column already has, is stored as gpuz_sensor_value under its own name. The order decides between two columns for one
 * metric.
 */
import { gpu, gpuz, host, type MetricEntry } from "../../model/catalogue/index.ts";
import type { GpuzColumn, GpuzHeader } from "./header.ts";
import { asWritten, converter, type GpuzQuantity, type UnitConversion } from "./units.ts";

type Labels = Readonly<Record<string, string>>;

interface Rule {
  readonly pattern: RegExp;
  readonly quantity: GpuzQuantity;
  readonly metric: MetricEntry;
  readonly labels: Labels | ((match: RegExpExecArray, column: GpuzColumn) => Labels);
}

const rule = (
  pattern: RegExp,
  quantity: GpuzQuantity,
  metric: MetricEntry,
  labels: Rule["labels"] = {},
): Rule => ({ pattern, quantity, metric, labels });

const connector = (pins = "", number?: string): string =>
  number === undefined ? `${pins}pin` : `${pins}pin_${number}`;
const fan = ([, number]: RegExpExecArray): Labels => ({ fan: number ?? "1" });

const rules: readonly Rule[] = [
  rule(/^(?:GPU |GPU Core |Core )Clock$/i, "clock", gpu.clock, { domain: "graphics" }),
  rule(/^(?:GPU )?Memory Clock$/i, "clock", gpu.clock, { domain: "memory" }),
  rule(/^(?:GPU )?Shader Clock$/i, "clock", gpu.clock, { domain: "sm" }),
  rule(/^SoC Clock$/i, "clock", gpu.clock, { domain: "soc" }),
  // AMD logs use one name for both clocks of the video unit; the second is the decoder's.
  rule(/^(?:UVD|VCE|VCN|Video|Video Engine) Clock$/i, "clock", gpu.clock, (_, { occurrence }) => ({
    domain: occurrence === 1 ? "video" : `video_${occurrence}`,
  })),

  rule(/^GPU (?:Core )?Temp(?:erature|\.)?$/i, "temperature", gpu.temperature, { sensor: "edge" }),
  rule(
    /^(?:GPU )?Hot ?Spot(?: Temperature)?$|^GPU Temperature \(Hot ?Spot\)$/i,
    "temperature",
    gpu.temperature,
    { sensor: "hotspot" },
  ),
  rule(
    /^(?:GPU )?Memory Temperature$|^GPU Temperature \(Memory\)$/i,
    "temperature",
    gpu.temperature,
    { sensor: "memory" },
  ),
  rule(/^(?:GPU )?VRM Temperature(?: 1)?$|^VRM1? Temp/i, "temperature", gpu.temperature, {
    sensor: "vrm",
  }),
  rule(/^SoC VRM Temperature$/i, "temperature", gpu.temperature, { sensor: "vrm_soc" }),
  rule(/^Mem(?:ory)?1? VRM Temperature$/i, "temperature", gpu.temperature, {
    sensor: "vrm_memory",
  }),
  rule(/^Mem(?:ory)?2 VRM Temperature$/i, "temperature", gpu.temperature, {
    sensor: "vrm_memory2",
  }),
  rule(/^(?:PCB|Board) Temperature$/i, "temperature", gpu.temperature, { sensor: "board" }),
  rule(/^CPU Temperature$/i, "temperature", host.cpuTemperature, { sensor: "package" }),

  rule(/^Fan(?: (\d))? Speed(?: \(%\))?$/i, "share", gpu.fanSpeed, fan),
  rule(/^Fan(?: (\d))? Speed(?: \(RPM\))?$/i, "turns", gpu.fanRpm, fan),

  rule(/^GPU Load$/i, "share", gpu.utilization),
  rule(/^Memory Controller Load$/i, "share", gpu.memoryControllerUtilization),
  rule(/^Video Engine Load$/i, "share", gpu.decoderUtilization),
  rule(/^Bus Interface Load$/i, "share", gpuz.busUtilization),
  rule(/^Memory (?:Used|Usage)(?: \(Dedicated\))?$/i, "memory", gpu.memoryUsed),
  rule(/^Memory (?:Used|Usage) \(Dynamic\)$/i, "memory", gpu.sharedMemoryUsed),
  rule(/^System Memory Used$/i, "memory", host.memoryUsed),
  rule(/^PCIe (TX|RX)$/i, "throughput", gpu.pcieThroughput, ([, way]) => ({
    direction: way?.toUpperCase() === "TX" ? "transmit" : "receive",
  })),

  rule(/^Board Power Draw$/i, "power", gpu.power),
  rule(/^Power Consumption(?: \(W\))?$/i, "power", gpu.power),
  rule(/^GPU Chip Power Draw$/i, "power", gpu.chipPower),
  rule(/^GPU(?: only)? Power(?: Draw)?$/i, "power", gpu.chipPower),
  rule(/^MVDDC Power Draw$/i, "power", gpu.memoryPower),
  rule(/^MVDDQ Power Draw$/i, "power", gpu.memoryPower),
  // Only the board's inputs, so that their sum is its power; PWR_SRC is behind them and would count twice.
  rule(/^PCIe Slot Power(?: Draw)?$/i, "power", gpu.railPower, { rail: "slot" }),
  rule(
    /^(\d{1,2})-Pin(?: #(\d))? Power(?: Draw)?$/i,
    "power",
    gpu.railPower,
    ([, pins, number]) => ({
      rail: connector(pins, number),
    }),
  ),
  rule(/^12VHPWR Power(?: Draw)?$/i, "power", gpu.railPower, { rail: "16pin" }),
  rule(/^Power Consumption \(%\)$|^Power Consumption$/i, "share", gpu.powerOfTdp),

  rule(/^GPU(?: Core)? Voltage$|^VDDC$/i, "voltage", gpu.voltage, { rail: "gfx" }),
  rule(/^Memory Voltage$|^MVDDC$/i, "voltage", gpu.voltage, { rail: "memory" }),
  rule(/^SoC Voltage$/i, "voltage", gpu.voltage, { rail: "soc" }),
  rule(/^VDDCI(?: Voltage)?$/i, "voltage", gpu.voltage, { rail: "vddci" }),
  rule(/^PWR_SRC Voltage$/i, "voltage", gpu.voltage, { rail: "pwr_src" }),
  rule(/^PCIe Slot Voltage$/i, "voltage", gpu.voltage, { rail: "slot" }),
  rule(/^(\d{1,2})-Pin(?: #(\d))? Voltage$/i, "voltage", gpu.voltage, ([, pins, number]) => ({
    rail: connector(pins, number),
  })),
  rule(/^12VHPWR Voltage$/i, "voltage", gpu.voltage, { rail: "16pin" }),
  rule(/^VDDC Current$/i, "current", gpuz.current, { rail: "gfx" }),
  rule(/^VDDCI Current$/i, "current", gpuz.current, { rail: "vddci" }),
  rule(/^MVDDC Current$/i, "current", gpuz.current, { rail: "memory" }),
];

export interface ColumnMapping {
  /** Index in the header's columns. */
  readonly column: number;
  readonly metric: MetricEntry;
  readonly labels: Labels;
  readonly quantity: GpuzQuantity;
  readonly convert: UnitConversion;
}

/** PerfCap Reason is a bit mask with one series per reason; it is also stored as a plain number. */
export function perfCapColumn(header: GpuzHeader): number {
  return header.columns.findIndex(({ name }) => /^PerfCap Reason$/i.test(name));
}

/** Bits of NVIDIA's performance policies. 16 means that there is little load, which is not a limit. */
export const perfCapBits: readonly (readonly [mask: number, reason: string])[] = [
  [1, "power_cap"],
  [2, "thermal"],
  [4 | 8, "voltage"],
  [32, "sync_boost"],
];

/** One reading per column, each with its own series. */
export function mapColumns(header: GpuzHeader): readonly ColumnMapping[] {
  const found = header.columns.map((column, index) => ({ index, ...match(column) }));
  const taken = new Set<string>();
  const readings: ColumnMapping[] = [];
  for (const { index, order: _, reading } of found.sort(
    (a, b) => a.order - b.order || a.index - b.index,
  )) {
    const key = reading === undefined ? "" : seriesOf(reading);
    if (reading === undefined || taken.has(key)) {
      readings.push({ column: index, ...generic(header.columns[index], taken) });
    } else {
      taken.add(key);
      readings.push({ column: index, ...reading });
    }
  }
  return readings.sort((a, b) => a.column - b.column);
}

type MetricMapping = Omit<ColumnMapping, "column">;

function match(column: GpuzColumn): { order: number; reading?: MetricMapping } {
  for (const [order, { pattern, quantity, metric, labels }] of rules.entries()) {
    const found = pattern.exec(column.name);
    const convert = found === null ? undefined : converter(quantity, column.unit);
    if (found === null || convert === undefined) continue;
    const named = typeof labels === "function" ? labels(found, column) : labels;
    return { order, reading: { metric, labels: named, quantity, convert } };
  }
  return { order: rules.length };
}

function generic(column: GpuzColumn | undefined, taken: Set<string>): MetricMapping {
  const { name = "", unit = "", occurrence = 1 } = column ?? {};
  const base = (name || "unnamed").replace(/[^\x20-\x7e\u00a0-\u00ff]/g, "?").slice(0, 120);
  for (let number = occurrence; ; number++) {
    const sensor = number === 1 ? base : `${base} #${number}`;
    const reading: MetricMapping = {
      metric: gpuz.sensorValue,
      labels: { sensor, unit: unit.slice(0, 40) },
      quantity: "plain",
      convert: asWritten,
    };
    const key = seriesOf(reading);
    if (taken.has(key)) continue;
    taken.add(key);
    return reading;
  }
}

const seriesOf = ({ metric, labels }: MetricMapping): string =>
  `${metric.name} ${JSON.stringify(labels)}`;
