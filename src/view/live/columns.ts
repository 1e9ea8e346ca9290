/** The catalogue metrics that the page shows, with their keys on the wire. Names and units come from the catalogue alone. */
import { gpu, type MetricEntry } from "../../model/catalogue/index.ts";
import { type ColumnKey, columnKeys, type FactKey, factKeys, type WireColumn } from "./protocol.ts";

export interface ReadingSpec {
  readonly metric: MetricEntry;
  /** Labels that the series must have. If several series match (one per fan), the highest value is shown. */
  readonly labels: Readonly<Record<string, string>>;
  /** Sums the series that differ in this label (one per link) instead of showing the highest. */
  readonly sumOver?: string;
  /** The same reading under the name that other devices report. */
  readonly or?: ReadingSpec;
}

const of = (metric: MetricEntry, labels: Readonly<Record<string, string>> = {}): ReadingSpec => ({
  metric,
  labels,
});

export const columnSpecs: Readonly<Record<ColumnKey, ReadingSpec>> = {
  up: of(gpu.up),
  utilization: of(gpu.utilization),
  memoryUsed: of(gpu.memoryUsed),
  memoryUsedRatio: of(gpu.memoryUsedRatio),
  power: of(gpu.power),
  powerLimit: of(gpu.powerLimit),
  temperatureEdge: of(gpu.temperature, { sensor: "edge" }),
  temperatureHotspot: of(gpu.temperature, { sensor: "hotspot" }),
  temperatureMemory: of(gpu.temperature, { sensor: "memory" }),
  temperatureMargin: of(gpu.temperatureMargin),
  clockSm: of(gpu.clock, { domain: "sm" }),
  clockGraphics: of(gpu.clock, { domain: "graphics" }),
  clockMemory: of(gpu.clock, { domain: "memory" }),
  fan: of(gpu.fanSpeed),
  eccUncorrected: of(gpu.eccErrors, { type: "uncorrected" }),
  encoder: of(gpu.encoderUtilization),
  decoder: of(gpu.decoderUtilization),
  video: { ...of(gpu.videoUtilization), or: of(gpu.engineUtilization, { engine: "video" }) },
  pcieRx: of(gpu.pcieThroughput, { direction: "receive" }),
  pcieTx: of(gpu.pcieThroughput, { direction: "transmit" }),
  linkGeneration: of(gpu.pcieLinkGeneration),
  linkWidth: of(gpu.pcieLinkWidth),
  interconnectRxTotal: { ...of(gpu.interconnectBytes, { direction: "receive" }), sumOver: "link" },
  interconnectTxTotal: { ...of(gpu.interconnectBytes, { direction: "transmit" }), sumOver: "link" },
  energyTotal: of(gpu.energy),
  energyIntegratedTotal: of(gpu.energyIntegrated),
  smActivity: of(gpu.smActivity),
  tensorActivity: of(gpu.tensorActivity),
  dramActivity: of(gpu.dramActivity),
  healthState: of(gpu.healthState),
};

const factSpecs: Readonly<Record<FactKey, ReadingSpec>> = {
  memoryTotal: of(gpu.memoryTotal),
  powerLimitDefault: of(gpu.powerLimitDefault),
  limitTarget: of(gpu.temperatureLimit, { limit: "target" }),
  limitSlowdown: of(gpu.temperatureLimit, { limit: "slowdown" }),
  limitShutdown: of(gpu.temperatureLimit, { limit: "shutdown" }),
  limitMemory: of(gpu.temperatureLimit, { limit: "memory" }),
  clockMaxSm: of(gpu.clockMax, { domain: "sm" }),
  clockMaxGraphics: of(gpu.clockMax, { domain: "graphics" }),
  linkGenerationMax: of(gpu.pcieLinkGenerationMax),
  linkWidthMax: of(gpu.pcieLinkWidthMax),
};

/** Columns, then facts, in one list, so that one pass over a frame fills both. */
export const readingSpecs: readonly ReadingSpec[] = [
  ...columnKeys.map((key) => columnSpecs[key]),
  ...factKeys.map((key) => factSpecs[key]),
];

export const wireColumns: readonly WireColumn[] = columnKeys.map((key) => {
  const { metric, labels } = columnSpecs[key];
  return {
    key,
    metric: metric.name,
    labels,
    unit: metric.unit,
    tier: metric.tier,
    help: metric.help,
  };
});
