/** Chooses the charts of a result. Pure. */
import type { AnalysisResult, ResultCell } from "../analysis.ts";
import type { Chart } from "./chart.ts";

interface ReportChart {
  readonly title: string;
  readonly unit: string;
  readonly along: string;
  readonly column: string;
  readonly scale?: number;
  readonly kind: Chart["kind"];
}

const wanted: Readonly<Record<string, readonly ReportChart[]>> = {
  daily: [
    {
      title: "Mean utilization",
      unit: "%",
      along: "day",
      column: "utilization_mean",
      scale: 100,
      kind: "line",
    },
    {
      title: "Highest temperature",
      unit: "°C",
      along: "day",
      column: "temperature_max_celsius",
      kind: "line",
    },
    { title: "Mean power", unit: "W", along: "day", column: "power_mean_watts", kind: "line" },
  ],
  hourly: [
    {
      title: "Mean utilization by hour",
      unit: "%",
      along: "hour",
      column: "utilization_mean",
      scale: 100,
      kind: "line",
    },
    {
      title: "Mean power by hour",
      unit: "W",
      along: "hour",
      column: "power_mean_watts",
      kind: "line",
    },
  ],
  energy: [{ title: "Energy", unit: "kWh", along: "day", column: "energy_kwh", kind: "bar" }],
  efficiency: [
    {
      title: "Degrees over ambient per watt",
      unit: "°C/W",
      along: "day",
      column: "celsius_per_watt",
      kind: "line",
    },
  ],
};

export function chartsOf(result: AnalysisResult): readonly Chart[] {
  if (result.name === "idle") return idleChart(result);
  if (result.name === "spikes") return spikesChart(result);
  return (wanted[result.name] ?? []).map((one) => chartOf(result, one));
}

function chartOf(
  result: AnalysisResult,
  { title, unit, along, column, scale = 1, kind }: ReportChart,
): Chart {
  const at = placesOf(result);
  const value = (row: readonly ResultCell[], name: string): ResultCell =>
    row[at.get(name) ?? -1] ?? null;
  const labels = [...new Set(result.rows.map((row) => value(row, along)))].sort((a, b) =>
    typeof a === "number" && typeof b === "number" ? a - b : String(a) < String(b) ? -1 : 1,
  );
  const lines = new Map<string, Map<ResultCell, number>>();
  for (const row of result.rows) {
    const name = `${value(row, "host") ?? ""} GPU ${value(row, "gpu") ?? "?"}`.trim();
    const points = lines.get(name) ?? new Map<ResultCell, number>();
    const reading = value(row, column);
    if (typeof reading === "number") points.set(value(row, along), reading * scale);
    lines.set(name, points);
  }
  return {
    title,
    unit,
    kind,
    labels: labels.map(String),
    series: [...lines].map(([name, points]) => ({
      name,
      values: labels.map((label) => points.get(label) ?? null),
    })),
  };
}

function idleChart(result: AnalysisResult): readonly Chart[] {
  const at = placesOf(result);
  const values = (name: string): (number | null)[] =>
    result.rows.map((row) => {
      const value = row[at.get(name) ?? -1];
      return typeof value === "number" ? value : null;
    });
  return [
    {
      title: "Idle hours, and those with memory held",
      unit: "h",
      kind: "bar",
      labels: result.rows.map((row) => `GPU ${row[at.get("gpu") ?? -1] ?? "?"}`),
      series: [
        { name: "idle", values: values("idle_hours") },
        { name: "memory held", values: values("held_idle_hours") },
      ],
    },
  ];
}

function spikesChart(result: AnalysisResult): readonly Chart[] {
  const at = placesOf(result).get("cause") ?? -1;
  const causes = ["load", "fan", "ambient", "unknown"];
  const counts = causes.map((cause) => result.rows.filter((row) => row[at] === cause).length);
  if (result.rows.length === 0) return [];
  return [
    {
      title: "Spikes by cause",
      unit: "",
      kind: "bar",
      labels: causes,
      series: [{ name: "spikes", values: counts }],
    },
  ];
}

const placesOf = ({ columns }: AnalysisResult): ReadonlyMap<string, number> =>
  new Map(columns.map(({ name }, place) => [name, place]));
