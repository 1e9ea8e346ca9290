/** The charts of a host, one entry each: its queries, and the metrics that must be reported for it. */
import type { ChartQuery, ChartStyle } from "../../chart/model.ts";
import type { ColourBy } from "../../chart/query-chart.tsx";
import type { Labels } from "../../query/columns.ts";

export interface HostChart extends ChartStyle {
  readonly key: string;
  /** Drawn if one of these is reported. */
  readonly metrics: readonly string[];
  readonly colourBy: ColourBy;
  /** `who`: the matcher of the host. */
  readonly queries: (who: string) => readonly ChartQuery[];
}

const rate = (metric: string, who: string): string => `rate(${metric}{${who}}[1m])`;
const gpuLabel = ({ gpu = "", uuid = "" }: Labels): string =>
  gpu === "" ? uuid.slice(0, 12) : `#${gpu}`;
/** A GPU read by two sources is one line. */
const byGpu = (query: string): ChartQuery => ({
  query: `max by (host, uuid, gpu) (${query})`,
  label: gpuLabel,
});

export const gpuCharts: readonly HostChart[] = [
  {
    key: "gpu-utilization",
    title: "GPU utilisation",
    family: "utilization",
    unit: "ratio",
    min: 0,
    max: 1,
    metrics: ["gpu_utilization_ratio"],
    colourBy: "gpu",
    queries: (who) => [byGpu(`gpu_utilization_ratio{${who}}`)],
  },
  {
    key: "gpu-memory",
    title: "GPU memory",
    family: "memory",
    unit: "ratio",
    min: 0,
    max: 1,
    metrics: ["gpu_memory_used_ratio"],
    colourBy: "gpu",
    queries: (who) => [byGpu(`gpu_memory_used_ratio{${who}}`)],
  },
  {
    key: "gpu-power",
    title: "GPU power",
    family: "power",
    unit: "watts",
    min: 0,
    metrics: ["gpu_power_watts"],
    colourBy: "gpu",
    queries: (who) => [byGpu(`gpu_power_watts{${who}}`)],
  },
  {
    key: "gpu-temperature",
    title: "GPU temperature",
    family: "temperature",
    unit: "celsius",
    metrics: ["gpu_temperature_celsius"],
    colourBy: "gpu",
    queries: (who) => [byGpu(`gpu_temperature_celsius{${who},sensor=~"edge|hotspot|"}`)],
  },
];

export const machineCharts: readonly HostChart[] = [
  {
    key: "cpu",
    title: "CPU",
    family: "utilization",
    unit: "ratio",
    min: 0,
    max: 1,
    metrics: ["host_cpu_seconds_total"],
    colourBy: "family",
    queries: (who) => [
      {
        query: `1 - sum(${rate("host_cpu_seconds_total", `${who},mode=~"idle|iowait"`)}) / sum(${rate("host_cpu_seconds_total", who)})`,
        label: "busy",
      },
      {
        query: `sum by (mode) (${rate("host_cpu_seconds_total", `${who},mode=~"system|iowait|steal"`)}) / on () group_left () sum(${rate("host_cpu_seconds_total", who)})`,
        label: ({ mode = "" }) => ({ iowait: "waiting for disks" })[mode] ?? mode,
      },
    ],
  },
  {
    key: "load",
    title: "Load average",
    family: "count",
    unit: "none",
    min: 0,
    metrics: ["host_load1"],
    colourBy: "line",
    queries: (who) => [
      { query: `host_load1{${who}}`, label: "1 min" },
      { query: `host_load5{${who}}`, label: "5 min" },
      { query: `host_load15{${who}}`, label: "15 min" },
      { query: `last_over_time(host_cpu_threads{${who}}[15m])`, label: "threads", dashed: true },
    ],
  },
  {
    key: "memory",
    title: "Memory",
    family: "memory",
    unit: "bytes",
    min: 0,
    metrics: ["host_memory_used_bytes"],
    colourBy: "family",
    queries: (who) => [
      { query: `host_memory_used_bytes{${who}}`, label: "used" },
      { query: `host_memory_cached_bytes{${who}}`, label: "cached" },
      { query: `host_swap_used_bytes{${who}} > 0`, label: "swap" },
      {
        query: `last_over_time(host_memory_total_bytes{${who}}[15m])`,
        label: "total",
        dashed: true,
      },
    ],
  },
  {
    key: "disk",
    title: "Disk throughput",
    family: "count",
    unit: "bytes_per_second",
    min: 0,
    metrics: ["host_disk_bytes_total"],
    colourBy: "line",
    queries: (who) => [
      {
        query: rate("host_disk_bytes_total", who),
        label: ({ disk = "", action = "" }) => `${disk} ${action}`,
      },
    ],
  },
  {
    key: "disk-busy",
    title: "Disk busy",
    family: "utilization",
    unit: "ratio",
    min: 0,
    max: 1,
    metrics: ["host_disk_busy_seconds_total"],
    colourBy: "line",
    queries: (who) => [
      { query: rate("host_disk_busy_seconds_total", who), label: ({ disk = "" }) => disk },
    ],
  },
  {
    key: "filesystems",
    title: "Disk space used",
    family: "memory",
    unit: "ratio",
    min: 0,
    max: 1,
    metrics: ["host_filesystem_available_bytes"],
    colourBy: "line",
    queries: (who) => [
      {
        query: `1 - host_filesystem_available_bytes{${who}} / host_filesystem_size_bytes{${who}}`,
        label: ({ mountpoint = "" }) => mountpoint,
      },
    ],
  },
  {
    key: "network",
    title: "Network",
    family: "count",
    unit: "bytes_per_second",
    min: 0,
    metrics: ["host_network_bytes_total"],
    colourBy: "line",
    queries: (who) => [
      {
        query: rate("host_network_bytes_total", who),
        label: ({ interface: name = "", direction = "" }) => `${name} ${direction}`,
      },
    ],
  },
  {
    key: "network-problems",
    title: "Network errors and drops, per second",
    family: "count",
    unit: "none",
    min: 0,
    metrics: ["host_network_errors_total", "host_network_drops_total"],
    colourBy: "line",
    queries: (who) => [
      {
        query: `sum by (interface) (${rate("host_network_errors_total", who)})`,
        label: ({ interface: name = "" }) => `${name} errors`,
      },
      {
        query: `sum by (interface) (${rate("host_network_drops_total", who)})`,
        label: ({ interface: name = "" }) => `${name} drops`,
      },
    ],
  },
  {
    key: "pressure",
    title: "Pressure: time with a task waiting",
    family: "utilization",
    unit: "ratio",
    min: 0,
    max: 1,
    metrics: ["host_pressure_waiting_seconds_total"],
    colourBy: "line",
    queries: (who) => [
      {
        query: rate("host_pressure_waiting_seconds_total", who),
        label: ({ resource = "" }) => `for ${resource}`,
      },
    ],
  },
  {
    key: "temperatures",
    title: "Temperatures of the machine",
    family: "temperature",
    unit: "celsius",
    metrics: ["host_cpu_temperature_celsius", "host_temperature_celsius"],
    colourBy: "line",
    queries: (who) => [
      {
        query: `max by (chip) (host_cpu_temperature_celsius{${who}})`,
        label: ({ chip = "" }) => `CPU ${chip}`.trim(),
      },
      {
        query: `max by (chip) (host_temperature_celsius{${who}})`,
        label: ({ chip = "" }) => chip,
      },
    ],
  },
];

export const isHostChartReported = (
  { metrics }: HostChart,
  reported: ReadonlySet<string>,
): boolean => metrics.some((metric) => reported.has(metric));

/** True if any metric of the machine itself is reported, apart from its GPUs. */
export const reportsMachine = (reported: ReadonlySet<string>): boolean =>
  machineCharts.some((chart) => isHostChartReported(chart, reported));
