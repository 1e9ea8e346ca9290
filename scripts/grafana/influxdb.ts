/**
 * deploy/grafana/influxdb/: one dashboard of GPU-Z's readings twice, in InfluxQL (first API) and in Flux (second). Both are
 * generated from one list of panels over the names that the sink's preset gpuz writes, so that they cannot diverge.
 */
import { gpuzMeasurement } from "../../src/sinks/influxdb/names.ts";
import { boardFile } from "./dashboard.ts";
import { type Board, type Panel, rising, type Variable } from "./shape.ts";

export type Language = "influxql" | "flux";

interface Fields extends Omit<Panel, "targets"> {
  readonly kind: "timeseries" | "gauge" | "stat";
  /** Field by legend. */
  readonly fields: Readonly<Record<string, string>>;
  /** How the readings of an interval are aggregated. */
  readonly by: "mean" | "max" | "last" | "count";
}

export const panels: readonly Fields[] = [
  {
    title: "GPU load",
    about: "Share of time in which the GPU was busy, as GPU-Z reports it.",
    kind: "gauge",
    unit: "percent",
    fields: { Load: "gpu_load" },
    by: "last",
    range: [0, 100],
    steps: rising(80, 95),
    width: 6,
  },
  {
    title: "GPU temperature now",
    about: "Over 85 °C is an anomaly, over 90 °C a critical one.",
    kind: "gauge",
    unit: "celsius",
    fields: { GPU: "gpu_temperature" },
    by: "last",
    range: [0, 110],
    steps: rising(85, 90),
    width: 6,
  },
  {
    title: "Board power now",
    about: "Over 300 W is an anomaly, over 350 W a critical one.",
    kind: "stat",
    unit: "watt",
    fields: { Board: "board_power" },
    by: "last",
    steps: rising(300, 350),
    width: 6,
  },
  {
    title: "Anomalies",
    about: "Readings in the chosen time that the stream tagged.",
    kind: "stat",
    unit: "short",
    fields: { Anomalies: "tags" },
    by: "count",
    steps: rising(1, 100),
    width: 6,
  },
  {
    title: "GPU temperatures",
    about: "The hottest of each interval. A hot spot far above the GPU is paste that wears.",
    kind: "timeseries",
    unit: "celsius",
    fields: {
      GPU: "gpu_temperature",
      "Hot spot": "hot_spot_temperature",
      Memory: "memory_temperature",
    },
    by: "max",
    steps: rising(85, 90),
    width: 12,
  },
  {
    title: "CPU temperature",
    about: "Over 80 °C is an anomaly.",
    kind: "timeseries",
    unit: "celsius",
    fields: { CPU: "cpu_temperature" },
    by: "max",
    steps: rising(80, 90),
    width: 12,
  },
  {
    title: "Power",
    about: "The board, the chip alone, and what comes through the slot.",
    kind: "timeseries",
    unit: "watt",
    fields: { Board: "board_power", Chip: "gpu_chip_power", Slot: "pcie_slot_power" },
    by: "mean",
    steps: rising(300, 350),
    width: 12,
  },
  {
    title: "Load",
    about: "What part of the card is at work.",
    kind: "timeseries",
    unit: "percent",
    fields: {
      GPU: "gpu_load",
      "Memory controller": "memory_controller_load",
      "Video engine": "video_engine_load",
      Bus: "bus_interface_load",
    },
    by: "mean",
    range: [0, 100],
    width: 12,
  },
  {
    title: "GPU memory",
    about: "In use on the card.",
    kind: "timeseries",
    unit: "mbytes",
    fields: { Used: "memory_used" },
    by: "max",
    width: 12,
  },
  {
    title: "System memory",
    about: "In use on the machine.",
    kind: "timeseries",
    unit: "mbytes",
    fields: { Used: "system_memory_used" },
    by: "max",
    width: 12,
  },
  {
    title: "Clocks",
    about: "Low under load: the card is held back by heat or power.",
    kind: "timeseries",
    unit: "rotmhz",
    fields: { GPU: "gpu_clock", Memory: "memory_clock" },
    by: "mean",
    width: 12,
  },
  {
    title: "Fans",
    about: "Turning while hot, or it is a fan to replace.",
    kind: "timeseries",
    unit: "rotrpm",
    fields: { "Fan 1": "fan_1_rpm", "Fan 2": "fan_2_rpm" },
    by: "mean",
    width: 12,
  },
  {
    title: "Anomalies over time",
    about: "Tagged readings by interval.",
    kind: "timeseries",
    unit: "short",
    fields: { Anomalies: "anomalies" },
    by: "count",
    width: 24,
  },
];

const chosen = '"host" =~ /^$host$/ AND "model" =~ /^$model$/';

function influxQl({ kind, by }: Fields, field: string): string {
  const where = `FROM "${gpuzMeasurement}" WHERE $timeFilter AND ${chosen}`;
  if (kind !== "timeseries")
    return `SELECT ${by}("${field}") ${where} GROUP BY "host", "model", "gpu"`;
  return `SELECT ${by}("${field}") ${where} GROUP BY time($__interval), "host", "model", "gpu" fill(none)`;
}

function flux({ kind, by }: Fields, field: string): string {
  return [
    'from(bucket: "${bucket}")',
    "  |> range(start: v.timeRangeStart, stop: v.timeRangeStop)",
    `  |> filter(fn: (r) => r._measurement == "${gpuzMeasurement}" and r._field == "${field}")`,
    "  |> filter(fn: (r) => r.host =~ /^${host:regex}$/ and r.model =~ /^${model:regex}$/)",
    kind === "timeseries"
      ? `  |> aggregateWindow(every: v.windowPeriod, fn: ${by}, createEmpty: false)`
      : `  |> ${by}()`,
  ].join("\n");
}

const targets = (panel: Fields, language: Language): Panel["targets"] =>
  Object.entries(panel.fields).map(([legend, field]) =>
    language === "influxql"
      ? { query: influxQl(panel, field), alias: `${legend} $tag_host/$tag_gpu` }
      : { query: flux(panel, field) },
  );

function variables(language: Language): Variable[] {
  const ask = (tag: string): string =>
    language === "influxql"
      ? `SHOW TAG VALUES FROM "${gpuzMeasurement}" WITH KEY = "${tag}"`
      : `import "influxdata/influxdb/schema"\nschema.tagValues(bucket: "\${bucket}", tag: "${tag}")`;
  const tag = (name: string, label: string): Variable => ({
    name,
    label,
    type: "query",
    query: ask(name),
    takes: "all",
  });
  const bucket: Variable = {
    name: "bucket",
    label: "Bucket",
    type: "textbox",
    query: "gpu",
    takes: "one",
  };
  return [...(language === "flux" ? [bucket] : []), tag("host", "Host"), tag("model", "Model")];
}

export const gpuzBoard = (language: Language): Board => ({
  uid: `gpulse-gpuz-${language}`,
  title: `gpulse: GPU-Z readings (${language === "flux" ? "Flux" : "InfluxQL"})`,
  about:
    "What GPU-Z logged and the sink's preset gpuz wrote, with the anomalies the stream tagged.",
  tags: ["gpu", "gpu-z"],
  source: "influxdb",
  variables: variables(language),
  rows: [
    {
      title: "GPU-Z readings",
      panels: panels.map(({ fields, by, ...panel }) => ({
        ...panel,
        targets: targets({ ...panel, fields, by }, language),
      })),
    },
  ],
});

export const dashboardFile = (language: Language): string => boardFile(gpuzBoard(language));
