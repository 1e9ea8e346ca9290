/**
 * Converts the members of a gpu_metrics table to base units. Units differ by version: 1.x has whole °C, W and %; 2.x and 3.0 have
 * 0.01 °C and mW, and 2.0 and 2.1 have 0.01 %. Members missing from the table stay undefined.
 */
import type { GpuMetrics } from "./decode.ts";
import type { FieldName } from "./layouts.ts";
import { type Throttle, throttleOf } from "./throttle.ts";

export type MetricsSensor =
  | "edge"
  | "hotspot"
  | "memory"
  | "vrm"
  | "vrm_soc"
  | "vrm_memory"
  | "soc"
  | "skin";
export type MetricsClock = "graphics" | "memory" | "video" | "soc" | "fabric";
export type MetricsRail = "gfx" | "soc" | "memory";
export type PowerRail = "cpu" | "soc" | "gfx" | "npu";

export const pcieEvents = ["recovery", "replay_rollover", "nak_sent", "nak_received"] as const;
export type PcieEvent = (typeof pcieEvents)[number];

export interface MetricsReadings {
  readonly isApu: boolean;
  readonly temperatureCelsius: Readonly<Record<MetricsSensor, number | undefined>>;
  readonly clockHertz: Readonly<Record<MetricsClock, number | undefined>>;
  readonly voltageVolts: Readonly<Record<MetricsRail, number | undefined>>;
  /** Power of the parts of an APU's package; empty on cards. */
  readonly railPowerWatts: Readonly<Record<PowerRail, number | undefined>>;
  readonly utilizationRatio: number | undefined;
  readonly memoryControllerRatio: number | undefined;
  readonly videoRatio: number | undefined;
  /** Compute dies of all partitions, in the table's order; empty if the table does not separate them. */
  readonly dieRatios: readonly number[];
  readonly powerWatts: number | undefined;
  readonly fanRpm: number | undefined;
  /** In steps whose size depends on the chip, see energy.ts. 0 means that there is no counter. */
  readonly energySteps: number | undefined;
  readonly pcieGigatransfers: number | undefined;
  readonly pcieWidth: number | undefined;
  readonly pcieReplays: number | undefined;
  readonly pcieEvents: Readonly<Record<PcieEvent, number | undefined>>;
  readonly throttle: Throttle | undefined;
  readonly partitions: number | undefined;
  /** Links that the table fills, in bytes. */
  readonly xgmi: readonly XgmiLink[];
}

export interface XgmiLink {
  readonly link: number;
  readonly readBytes: number | undefined;
  readonly writtenBytes: number | undefined;
  /** Undefined if the version lacks it or the status is "not available". */
  readonly isUp: boolean | undefined;
}

export function interpretGpuMetrics(metrics: GpuMetrics): MetricsReadings {
  const isApu = metrics.format >= 2;
  const all = (name: FieldName): readonly (number | undefined)[] => metrics.fields.get(name) ?? [];
  const one = (name: FieldName): number | undefined => largest(all(name));
  // A sensor that the card lacks reads 0, such as three regulators of an RX 7600S.
  const celsius = (name: FieldName): number | undefined =>
    scale(one(name) || undefined, isApu ? 0.01 : 1);
  const watts = (name: FieldName): number | undefined => scale(one(name), isApu ? 0.001 : 1);
  const volts = (name: FieldName): number | undefined => scale(one(name), 0.001);
  const clock = (name: "Gfx" | "Soc" | "Memory" | "Fabric" | "Video"): number | undefined =>
    scale(one(`current${name}Clock`) ?? one(`average${name}Clock`), 1e6);
  return {
    isApu,
    temperatureCelsius: {
      edge: isApu ? celsius("temperatureGfx") : celsius("temperatureEdge"),
      hotspot: celsius("temperatureHotspot"),
      memory: celsius("temperatureMemory") ?? celsius("temperatureHbm"),
      vrm: celsius("temperatureVrGfx"),
      vrm_soc: celsius("temperatureVrSoc"),
      vrm_memory: celsius("temperatureVrMemory"),
      soc: celsius("temperatureSoc"),
      skin: celsius("temperatureSkin"),
    },
    clockHertz: {
      graphics: clock("Gfx"),
      memory: clock("Memory"),
      video: clock("Video"),
      soc: clock("Soc"),
      fabric: clock("Fabric"),
    },
    voltageVolts: {
      gfx: volts("gfxVoltage"),
      soc: volts("socVoltage"),
      memory: volts("memoryVoltage"),
    },
    railPowerWatts: {
      cpu: watts("cpuPower") ?? watts("coresPower"),
      soc: watts("socPower"),
      gfx: isApu ? watts("gfxPower") : undefined,
      npu: watts("ipuPower"),
    },
    utilizationRatio: activity(metrics, one("gfxActivity")),
    memoryControllerRatio: activity(metrics, one("memoryActivity")),
    videoRatio: activity(metrics, one("videoActivity") ?? one("vcnActivity")),
    dieRatios: all("dieActivity").flatMap((percent) =>
      percent === undefined ? [] : [percent / 100],
    ),
    powerWatts: watts("socketPower"),
    fanRpm: one("fanRpm"),
    energySteps: one("energy"),
    pcieGigatransfers: scale(one("pcieSpeed"), 0.1),
    pcieWidth: one("pcieWidth"),
    pcieReplays: one("pcieReplays"),
    pcieEvents: {
      recovery: one("pcieRecoveries"),
      replay_rollover: one("pcieReplayRollovers"),
      nak_sent: one("pcieNaksSent"),
      nak_received: one("pcieNaksReceived"),
    },
    throttle: throttleOf(metrics),
    partitions: one("partitions"),
    xgmi: xgmiLinks(all("xgmiRead"), all("xgmiWritten"), all("xgmiStatus")),
  };
}

/** Renoir and Phoenix (2.0, 2.1) report 0.01 %, Van Gogh (2.2 and later) whole %; both have been seen above 100. */
function activity(metrics: GpuMetrics, value: number | undefined): number | undefined {
  if (value === undefined) return undefined;
  const centi = metrics.format === 2 && (metrics.content < 2 || value > 100);
  return value / (centi ? 10_000 : 100);
}

/** Several dies or stacks belong to one GPU: the fastest or hottest counts. */
function largest(values: readonly (number | undefined)[]): number | undefined {
  let found: number | undefined;
  for (const value of values) {
    if (value !== undefined && (found === undefined || value > found)) found = value;
  }
  return found;
}

/** Divides by the inverse, so that 818 mV becomes 0.818 V and not 0.8180000000000001. */
function scale(value: number | undefined, factor: number): number | undefined {
  if (value === undefined) return undefined;
  return factor < 1 ? value / Math.round(1 / factor) : value * factor;
}

/** Totals are in KB of 1024 bytes. Status: 0 down, 1 up, 2 not available. */
function xgmiLinks(
  read: readonly (number | undefined)[],
  written: readonly (number | undefined)[],
  status: readonly (number | undefined)[],
): readonly XgmiLink[] {
  return read.flatMap((readKib, link) => {
    const writtenKib = written[link];
    const state = status[link];
    const isUp = state === 0 ? false : state === 1 ? true : undefined;
    if (readKib === undefined && writtenKib === undefined && isUp === undefined) return [];
    return [
      { link, readBytes: scale(readKib, 1_024), writtenBytes: scale(writtenKib, 1_024), isUp },
    ];
  });
}
