/**
 * deploy/grafana/influxdb/: one dashboard of GPU-Z's readings twice, asked in InfluxQL (first API) and in Flux (second). Both are
 * made from one list of panels over the names that the sink's preset gpuz writes, so that they cannot part ways.
 */
import { gpuzMeasurement } from "../../src/sinks/influxdb/names.ts";

type Language = "influxql" | "flux";

interface Panel {
  readonly title: string;
  readonly kind: "timeseries" | "gauge" | "stat";
  /** Grafana's name of the unit. */
  readonly unit: string;
  /** Legend to field. */
  readonly fields: Readonly<Record<string, string>>;
  /** How readings of an interval become one. */
  readonly by: "mean" | "max" | "last" | "count";
  readonly range?: readonly [min: number, max: number];
  /** Where it turns yellow and red. */
  readonly steps?: readonly [warm: number, hot: number];
  readonly width: number;
}

export const panels: readonly Panel[] = [
  {
    title: "GPU load",
    kind: "gauge",
    unit: "percent",
    fields: { Load: "gpu_load" },
    by: "last",
    range: [0, 100],
    steps: [80, 95],
    width: 6,
  },
  {
    title: "GPU temperature now",
    kind: "gauge",
    unit: "celsius",
    fields: { GPU: "gpu_temperature" },
    by: "last",
    range: [0, 110],
    steps: [85, 90],
    width: 6,
  },
  {
    title: "Board power now",
    kind: "stat",
    unit: "watt",
    fields: { Board: "board_power" },
    by: "last",
    steps: [300, 350],
    width: 6,
  },
  {
    title: "Anomalies",
    kind: "stat",
    unit: "short",
    fields: { Anomalies: "tags" },
    by: "count",
    steps: [1, 100],
    width: 6,
  },
  {
    title: "GPU temperatures",
    kind: "timeseries",
    unit: "celsius",
    fields: {
      GPU: "gpu_temperature",
      "Hot spot": "hot_spot_temperature",
      Memory: "memory_temperature",
    },
    by: "max",
    steps: [85, 90],
    width: 12,
  },
  {
    title: "CPU temperature",
    kind: "timeseries",
    unit: "celsius",
    fields: { CPU: "cpu_temperature" },
    by: "max",
    steps: [80, 90],
    width: 12,
  },
  {
    title: "Power",
    kind: "timeseries",
    unit: "watt",
    fields: { Board: "board_power", Chip: "gpu_chip_power", Slot: "pcie_slot_power" },
    by: "mean",
    steps: [300, 350],
    width: 12,
  },
  {
    title: "Load",
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
    kind: "timeseries",
    unit: "mbytes",
    fields: { Used: "memory_used" },
    by: "max",
    width: 12,
  },
  {
    title: "System memory",
    kind: "timeseries",
    unit: "mbytes",
    fields: { Used: "system_memory_used" },
    by: "max",
    width: 12,
  },
  {
    title: "Clocks",
    kind: "timeseries",
    unit: "rotmhz",
    fields: { GPU: "gpu_clock", Memory: "memory_clock" },
    by: "mean",
    width: 12,
  },
  {
    title: "Fans",
    kind: "timeseries",
    unit: "rotrpm",
    fields: { "Fan 1": "fan_1_rpm", "Fan 2": "fan_2_rpm" },
    by: "mean",
    width: 12,
  },
  {
    title: "Anomalies over time",
    kind: "timeseries",
    unit: "short",
    fields: { Anomalies: "anomalies" },
    by: "count",
    width: 24,
  },
];

const chosen = '"host" =~ /^$host$/ AND "model" =~ /^$model$/';

function influxQl({ kind, by }: Panel, field: string): string {
  const where = `FROM "${gpuzMeasurement}" WHERE $timeFilter AND ${chosen}`;
  if (kind !== "timeseries")
    return `SELECT ${by}("${field}") ${where} GROUP BY "host", "model", "gpu"`;
  return `SELECT ${by}("${field}") ${where} GROUP BY time($__interval), "host", "model", "gpu" fill(none)`;
}

function flux({ kind, by }: Panel, field: string): string {
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

const letters = "ABCDEFGH";

function panelJson(panel: Panel, id: number, place: object, language: Language): object {
  const { title, kind, unit, fields, range, steps } = panel;
  return {
    id,
    title,
    type: kind,
    datasource: { type: "influxdb", uid: "${datasource}" },
    gridPos: place,
    fieldConfig: {
      defaults: {
        unit,
        ...(range !== undefined && { min: range[0], max: range[1] }),
        ...(steps !== undefined && {
          thresholds: {
            mode: "absolute",
            steps: [
              { color: "green", value: null },
              { color: "orange", value: steps[0] },
              { color: "red", value: steps[1] },
            ],
          },
        }),
        // A gap is a gap: a line across it would be a reading nobody made.
        ...(kind === "timeseries" && { custom: { drawStyle: "line", spanNulls: false } }),
      },
      overrides: [],
    },
    options:
      kind === "timeseries"
        ? { legend: { displayMode: "list", placement: "bottom" }, tooltip: { mode: "multi" } }
        : { reduceOptions: { calcs: ["lastNotNull"], fields: "", values: false } },
    targets: Object.entries(fields).map(([legend, field], index) => ({
      refId: letters[index],
      ...(language === "influxql"
        ? {
            rawQuery: true,
            query: influxQl(panel, field),
            resultFormat: "time_series",
            alias: `${legend} $tag_host/$tag_gpu`,
          }
        : { query: flux(panel, field) }),
    })),
  };
}

function variables(language: Language): object[] {
  const datasource = {
    name: "datasource",
    type: "datasource",
    query: "influxdb",
    label: "InfluxDB",
  };
  const ask = (tag: string): string =>
    language === "influxql"
      ? `SHOW TAG VALUES FROM "${gpuzMeasurement}" WITH KEY = "${tag}"`
      : `import "influxdata/influxdb/schema"\nschema.tagValues(bucket: "\${bucket}", tag: "${tag}")`;
  const tag = (name: string, label: string): object => ({
    name,
    label,
    type: "query",
    datasource: { type: "influxdb", uid: "${datasource}" },
    query: ask(name),
    refresh: 2,
    multi: true,
    includeAll: true,
    allValue: ".*",
    current: { text: "All", value: "$__all" },
  });
  const bucket = { name: "bucket", label: "Bucket", type: "textbox", query: "gpu" };
  return [
    datasource,
    ...(language === "flux" ? [bucket] : []),
    tag("host", "Host"),
    tag("model", "Model"),
  ];
}

export function dashboardFile(language: Language): string {
  let [x, y] = [0, 0];
  const placed = panels.map((panel, index) => {
    if (x + panel.width > 24) [x, y] = [0, y + 8];
    const place = { h: 8, w: panel.width, x, y };
    x += panel.width;
    return panelJson(panel, index + 1, place, language);
  });
  const dashboard = {
    uid: `gpulse-gpuz-${language}`,
    title: `GPU-Z readings (${language === "flux" ? "Flux" : "InfluxQL"})`,
    tags: ["gpulse", "gpu"],
    schemaVersion: 39,
    editable: true,
    timezone: "browser",
    refresh: "10s",
    time: { from: "now-1h", to: "now" },
    templating: { list: variables(language) },
    panels: placed,
  };
  return `${JSON.stringify(dashboard, undefined, 2)}\n`;
}
