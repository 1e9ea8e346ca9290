/** The charts of a GPU, one entry each: its lines, and the metrics that show whether the device reports them. */
import type { ChartQuery, ChartStyle } from "../../chart/model.ts";
import type { Labels } from "../../query/columns.ts";

interface LineSpec {
  readonly metric: string;
  readonly label: string | ((labels: Labels) => string);
  readonly matcher?: string;
  readonly dashed?: boolean;
  /** Aggregation of many samples in one point: the mean, or the maximum if a short peak matters. */
  readonly over?: "avg" | "max";
  /** A counter drawn as its rate. */
  readonly rate?: boolean;
}

export interface ChartSpec extends ChartStyle {
  readonly key: string;
  readonly lines: readonly LineSpec[];
}

const byLabel =
  (name: string, first = "") =>
  (labels: Labels): string =>
    (labels[name] ?? first).replaceAll("_", " ");

export const charts: readonly ChartSpec[] = [
  {
    key: "utilization",
    title: "Utilisation",
    family: "utilization",
    unit: "ratio",
    min: 0,
    max: 1,
    lines: [
      { metric: "gpu_utilization_ratio", label: "GPU" },
      { metric: "gpu_sm_activity_ratio", label: "SM activity" },
      { metric: "gpu_tensor_activity_ratio", label: "tensor activity" },
      { metric: "gpu_dram_activity_ratio", label: "memory activity" },
    ],
  },
  {
    key: "memory",
    title: "Memory",
    family: "memory",
    unit: "bytes",
    min: 0,
    lines: [
      { metric: "gpu_memory_used_bytes", label: "used" },
      { metric: "gpu_memory_shared_used_bytes", label: "shared with the host" },
      { metric: "gpu_memory_total_bytes", label: "total", dashed: true },
    ],
  },
  {
    key: "temperature",
    title: "Temperatures",
    family: "temperature",
    unit: "celsius",
    lines: [
      { metric: "gpu_temperature_celsius", label: byLabel("sensor", "edge"), over: "max" },
      {
        metric: "gpu_temperature_limit_celsius",
        label: (labels) => `${byLabel("limit")(labels)} limit`,
        dashed: true,
      },
    ],
  },
  {
    key: "power",
    title: "Power",
    family: "power",
    unit: "watts",
    min: 0,
    lines: [
      { metric: "gpu_power_watts", label: "board" },
      { metric: "gpu_chip_power_watts", label: "chip" },
      { metric: "gpu_memory_power_watts", label: "memory" },
      { metric: "gpu_rail_power_watts", label: byLabel("rail", "rail") },
      { metric: "gpu_power_limit_watts", label: "limit", dashed: true },
    ],
  },
  {
    key: "clocks",
    title: "Clocks",
    family: "clock",
    unit: "hertz",
    min: 0,
    lines: [{ metric: "gpu_clock_hertz", label: byLabel("domain", "graphics") }],
  },
  {
    key: "fans",
    title: "Fans",
    family: "fan",
    unit: "ratio",
    min: 0,
    max: 1,
    lines: [{ metric: "gpu_fan_speed_ratio", label: ({ fan = "0" }) => `fan ${fan}` }],
  },
  {
    key: "rpm",
    title: "Fan speed",
    family: "fan",
    unit: "rpm",
    min: 0,
    lines: [{ metric: "gpu_fan_rpm", label: ({ fan = "0" }) => `fan ${fan}` }],
  },
  {
    key: "voltage",
    title: "Voltage",
    family: "count",
    unit: "volts",
    lines: [{ metric: "gpu_voltage_volts", label: byLabel("rail", "chip") }],
  },
  {
    key: "media",
    title: "Encoders, decoders, engines",
    family: "utilization",
    unit: "ratio",
    min: 0,
    max: 1,
    lines: [
      { metric: "gpu_encoder_utilization_ratio", label: "encoder" },
      { metric: "gpu_decoder_utilization_ratio", label: "decoder" },
      { metric: "gpu_video_utilization_ratio", label: "video" },
      { metric: "gpu_engine_utilization_ratio", label: byLabel("engine") },
      { metric: "gpu_memory_controller_utilization_ratio", label: "memory controller" },
    ],
  },
  {
    key: "pcie",
    title: "PCIe",
    family: "count",
    unit: "bytes_per_second",
    min: 0,
    lines: [{ metric: "gpu_pcie_throughput_bytes_per_second", label: byLabel("direction") }],
  },
  {
    key: "links",
    title: "Links to other GPUs",
    family: "count",
    unit: "bytes_per_second",
    min: 0,
    lines: [
      {
        metric: "gpu_interconnect_bytes_total",
        label: ({ link = "", direction = "" }) => `${link} ${direction}`,
        rate: true,
      },
    ],
  },
  {
    key: "errors",
    title: "Errors, counted since the driver started",
    family: "count",
    unit: "none",
    min: 0,
    max: 1,
    lines: [
      { metric: "gpu_ecc_errors_total", label: ({ type = "" }) => `ECC ${type}`, over: "max" },
      { metric: "gpu_xid_errors_total", label: ({ xid = "" }) => `XID ${xid}`, over: "max" },
      { metric: "gpu_pcie_replays_total", label: "PCIe replays", over: "max" },
      {
        metric: "gpu_pcie_errors_total",
        label: ({ severity = "" }) => `PCIe ${severity}`,
        over: "max",
      },
      {
        metric: "gpu_block_errors_total",
        label: ({ block = "", type = "" }) => `${block} ${type}`,
        over: "max",
      },
      { metric: "gpu_retired_pages", label: "retired pages", over: "max" },
      { metric: "gpu_remapped_rows", label: "remapped rows", over: "max" },
    ],
  },
];

/** From this range on a point covers so many samples that they have to be aggregated. */
const CONDENSED_FROM_MS = 3 * 3_600_000;

export const isCondensed = (rangeMs: number): boolean => rangeMs > CONDENSED_FROM_MS;

export const isChartReported = ({ lines }: ChartSpec, reported: ReadonlySet<string>): boolean =>
  lines.some(({ metric, dashed }) => dashed !== true && reported.has(metric));

/** `who` are the matchers of one GPU. */
export function queriesOf(
  { lines }: ChartSpec,
  who: string,
  reported: ReadonlySet<string>,
  rangeMs: number,
): ChartQuery[] {
  return lines.flatMap(({ metric, label, dashed, over = "avg", rate }) => {
    if (!reported.has(metric)) return [];
    const series = `${metric}{${who}}`;
    const condensed = isCondensed(rangeMs) ? `${over}_over_time(${series}[$step])` : series;
    return [
      {
        query: rate === true ? `rate(${series}[1m])` : condensed,
        ...(rate === true ? {} : { metric }),
        label,
        ...(dashed === true ? { dashed } : {}),
      },
    ];
  });
}
