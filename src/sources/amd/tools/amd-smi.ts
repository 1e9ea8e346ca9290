/**
 * Parses `amd-smi metric --json` and `amd-smi static --json`. The root is a list (ROCm 6) or `{"gpu_data": [...]}` (ROCm 7). A
 * value is a number, `{"value": 6, "unit": "W"}`, "N/A" in either place, or a list of such; a whole section may be "N/A". Pure.
 */
import { failed, present, type ReadResult } from "../../../machine/sysfs/read-result.ts";
import { pcieGeneration } from "../../../machine/sysfs/pci.ts";
import {
  at,
  findJson,
  isRecord,
  isSentinel,
  plausibleValues,
  textAt,
  tidyName,
  type ToolCard,
  type ToolValue,
} from "./tool-card.ts";

type Row = readonly [path: string, metric: ToolValue["metric"], labels?: ToolValue["labels"]];

const metricRows: readonly Row[] = [
  ["usage.gfx_activity", "utilization"],
  ["usage.umc_activity", "memoryControllerUtilization"],
  ["usage.mm_activity", "videoUtilization"],
  ["power.socket_power", "power"],
  ["power.gfx_voltage", "voltage", { rail: "gfx" }],
  ["power.soc_voltage", "voltage", { rail: "soc" }],
  ["power.mem_voltage", "voltage", { rail: "memory" }],
  ["clock.gfx_0.clk", "clock", { domain: "graphics" }],
  ["clock.mem_0.clk", "clock", { domain: "memory" }],
  ["clock.vclk_0.clk", "clock", { domain: "video" }],
  ["clock.socclk_0.clk", "clock", { domain: "soc" }],
  ["clock.fclk_0.clk", "clock", { domain: "fabric" }],
  ["clock.gfx_0.max_clk", "clockMax", { domain: "graphics" }],
  ["clock.mem_0.max_clk", "clockMax", { domain: "memory" }],
  ["temperature.edge", "temperature", { sensor: "edge" }],
  ["temperature.hotspot", "temperature", { sensor: "hotspot" }],
  ["temperature.mem", "temperature", { sensor: "memory" }],
  ["pcie.width", "pcieLinkWidth"],
  ["pcie.speed", "pcieLinkGeneration"],
  ["pcie.replay_count", "pcieReplays"],
  ["ecc.total_correctable_count", "eccErrors", { type: "corrected" }],
  ["ecc.total_uncorrectable_count", "eccErrors", { type: "uncorrected" }],
  ["ecc.total_deferred_count", "eccErrors", { type: "deferred" }],
  ["fan.rpm", "fanRpm", { fan: "1" }],
  ["fan.usage", "fanSpeed", { fan: "1" }],
  ["energy.total_energy_consumption", "energy"],
  ["mem_usage.total_vram", "memoryTotal"],
  ["mem_usage.used_vram", "memoryUsed"],
  ["mem_usage.free_vram", "memoryFree"],
  ["mem_usage.total_visible_vram", "visibleMemoryTotal"],
  ["mem_usage.used_visible_vram", "visibleMemoryUsed"],
  ["mem_usage.total_gtt", "sharedMemoryTotal"],
  ["mem_usage.used_gtt", "sharedMemoryUsed"],
];

/** ROCm 6 and ROCm 7 name the power limits differently; the first one present is used. */
const staticRows: readonly Row[] = [
  ["bus.max_pcie_width", "pcieLinkWidthMax"],
  ["bus.max_pcie_speed", "pcieLinkGenerationMax"],
  ["limit.socket_power", "powerLimit"],
  ["limit.ppt0.socket_power_limit", "powerLimit"],
  ["limit.max_power", "powerLimitMax"],
  ["limit.ppt0.max_power_limit", "powerLimitMax"],
  ["limit.min_power", "powerLimitMin"],
  ["limit.ppt0.min_power_limit", "powerLimitMin"],
  ["limit.slowdown_hotspot_temperature", "temperatureLimit", { limit: "slowdown" }],
  ["limit.slowdown_edge_temperature", "temperatureLimit", { limit: "slowdown" }],
  ["limit.shutdown_hotspot_temperature", "temperatureLimit", { limit: "shutdown" }],
  ["limit.shutdown_edge_temperature", "temperatureLimit", { limit: "shutdown" }],
  ["limit.slowdown_vram_temperature", "temperatureLimit", { limit: "memory" }],
  ["vram.size", "memoryTotal"],
];

/** MB is 1024² here: 8176 MB are the 8573157376 bytes of an 8 GiB card. */
const unitFactors: Readonly<Record<string, number>> = {
  "": 1,
  "%": 0.01,
  W: 1,
  C: 1,
  MHz: 1e6,
  mV: 0.001,
  V: 1,
  J: 1,
  KB: 1_024,
  MB: 1_048_576,
  GB: 1_073_741_824,
  RPM: 1,
};

export function parseAmdSmiMetric(output: string): ReadResult<readonly ToolCard[]> {
  return parseCards(output, (entry, number) => ({ number, values: valuesOf(entry, metricRows) }));
}

export function parseAmdSmiStatic(output: string): ReadResult<readonly ToolCard[]> {
  return parseCards(output, (entry, number) => {
    const pciBusId = textAt(entry, "bus.bdf")?.toLowerCase();
    const deviceId = textAt(entry, "asic.device_id");
    const serial = textAt(entry, "asic.asic_serial");
    const model = tidyName(
      textAt(entry, "board.product_name") ?? textAt(entry, "asic.market_name") ?? "",
    );
    const vbios = textAt(entry, "vbios.version") ?? textAt(entry, "vbios.name");
    const driver = textAt(entry, "driver.version");
    const partNumber = textAt(entry, "board.model_number");
    return {
      number,
      values: valuesOf(entry, staticRows),
      pciBusId,
      deviceId: deviceId === undefined ? undefined : Number.parseInt(deviceId, 16),
      uniqueId: serial,
      model,
      vbios,
      driver,
      partNumber,
    };
  });
}

function parseCards(
  output: string,
  parse: (entry: unknown, number: number) => ToolCard,
): ReadResult<readonly ToolCard[]> {
  const json = findJson(output);
  if (!json.ok) return json;
  const list = isRecord(json.value) ? at(json.value, "gpu_data") : json.value;
  if (!Array.isArray(list)) return failed;
  const cards = list.flatMap((entry: unknown) => {
    const number = at(entry, "gpu");
    return typeof number === "number" && Number.isInteger(number) ? [parse(entry, number)] : [];
  });
  return cards.length === 0 && list.length > 0 ? failed : present(cards);
}

function valuesOf(entry: unknown, rows: readonly Row[]): readonly ToolValue[] {
  const values: ToolValue[] = [];
  const seen = new Set<string>();
  for (const [path, metric, labels] of rows) {
    const key = `${metric} ${Object.values(labels ?? {}).join()}`;
    const value = seen.has(key) ? undefined : toBase(at(entry, path));
    if (value === undefined || isNothing(metric, value)) continue;
    seen.add(key);
    values.push({ metric, value, labels });
  }
  return plausibleValues(values);
}

/** An energy of 0 J means that there is no counter, and nothing runs below 100 mV. */
function isNothing(metric: ToolValue["metric"], value: number): boolean {
  return (metric === "energy" && value === 0) || (metric === "voltage" && value < 0.1);
}

function toBase(found: unknown): number | undefined {
  const raw = isRecord(found) ? at(found, "value") : found;
  const unit = isRecord(found) ? at(found, "unit") : "";
  if (typeof raw !== "number" || typeof unit !== "string" || isSentinel(raw)) return undefined;
  if (unit === "GT/s") {
    const generation = pcieGeneration(raw);
    return generation.ok ? generation.value : undefined;
  }
  const factor = Object.hasOwn(unitFactors, unit) ? unitFactors[unit] : undefined;
  if (factor === undefined) return undefined;
  return factor < 1 ? raw / Math.round(1 / factor) : raw * factor;
}
