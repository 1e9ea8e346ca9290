/**
 * The fields of other exporters in a benchmark of detection: dcgm-exporter with its default counters or with those that `gpulse
 * doctor` recommends to add, and AMD's exporter. Also which faults are not visible in those fields.
 */
import { megahertz, percent } from "../src/formats/compat/convert.ts";
import { type CompatRow, type CompatTable, largest } from "../src/formats/compat/row.ts";
import { compatTables } from "../src/formats/compat/tables.ts";
import { gpu, type MetricEntry } from "../src/model/catalogue/index.ts";
import type { FaultName } from "../src/sources/sim/fleet/faults.ts";

export const scrapedExporters = ["gpulse", "dcgm", "dcgm-default"] as const;
export type ScrapedExporter = (typeof scrapedExporters)[number];

/** The counters that are enabled in dcgm-exporter's `dcp-metrics-included.csv`, which the GPU operator installs. */
const defaultFields: ReadonlySet<string> = new Set(
  [
    "SM_CLOCK MEM_CLOCK MEMORY_TEMP GPU_TEMP POWER_USAGE TOTAL_ENERGY_CONSUMPTION PCIE_REPLAY_COUNTER",
    "GPU_UTIL MEM_COPY_UTIL ENC_UTIL DEC_UTIL XID_ERRORS FB_FREE FB_USED FB_RESERVED RETIRED_SBE RETIRED_DBE",
    "NVLINK_BANDWIDTH_TOTAL UNCORRECTABLE_REMAPPED_ROWS CORRECTABLE_REMAPPED_ROWS ROW_REMAP_FAILURE",
  ]
    .join(" ")
    .split(" ")
    .map((field) => `DCGM_FI_DEV_${field}`)
    .concat(
      [
        "GR_ENGINE_ACTIVE",
        "PIPE_TENSOR_ACTIVE",
        "DRAM_ACTIVE",
        "PCIE_TX_BYTES",
        "PCIE_RX_BYTES",
      ].map((field) => `DCGM_FI_PROF_${field}`),
    ),
);

const field = (
  name: string,
  from: MetricEntry,
  options: Omit<Partial<CompatRow>, "name" | "from"> = {},
): CompatRow => ({
  name: `DCGM_FI_DEV_${name}`,
  kind: "gauge",
  unit: "",
  help: name,
  from,
  ...options,
});

/** DCGM fields that are neither in its counters files nor written by `--compat dcgm`. */
const addedFields: readonly CompatRow[] = [
  field("ENFORCED_POWER_LIMIT", gpu.powerLimit),
  field("CLOCKS_EVENT_REASONS", gpu.clockEventReasons),
  field("FAN_SPEED", gpu.fanSpeed, { fold: largest, convert: percent }),
  field("SLOWDOWN_TEMP", gpu.temperatureLimit, { match: { limit: "slowdown" } }),
  field("MAX_SM_CLOCK", gpu.clockMax, {
    match: { domain: "sm" },
    otherwise: [{ from: gpu.clockMax, match: { domain: "graphics" } }],
    convert: megahertz,
  }),
  field("PCIE_LINK_GEN", gpu.pcieLinkGeneration),
  field("PCIE_LINK_WIDTH", gpu.pcieLinkWidth),
  field("PCIE_MAX_LINK_GEN", gpu.pcieLinkGenerationMax),
  field("PCIE_MAX_LINK_WIDTH", gpu.pcieLinkWidthMax),
];

export function tablesOf(exporter: Exclude<ScrapedExporter, "gpulse">): readonly CompatTable[] {
  const { dcgm, amd } = compatTables;
  const rows =
    exporter === "dcgm"
      ? [...dcgm.rows, ...addedFields]
      : dcgm.rows.filter(({ name }) => defaultFields.has(name));
  return [{ ...dcgm, rows }, amd];
}

/** Why a fault is not detectable from an exporter's fields at all; undefined if it is. */
export function hidingReason(
  exporter: ScrapedExporter | undefined,
  fault: FaultName,
  vendor: string | undefined,
): string | undefined {
  if (exporter === "dcgm-default" && fault === "ecc-growth" && vendor === "nvidia")
    return "ECC counters are commented out in the counters file";
  return undefined;
}
