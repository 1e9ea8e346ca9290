/** Utilisation, power, temperature, memory and waste of all GPUs together. */
import { useMemo } from "preact/hooks";
import { ACTIVE_FROM_RATIO } from "../../../../src/view/gpu.ts";
import { scaled } from "../../chart/edges.ts";
import type { ChartQuery, ChartStyle } from "../../chart/model.ts";
import { QueryChart } from "../../chart/query-chart.tsx";
import { useJson } from "../../query/use-fetch.ts";
import type { TimeWindow } from "../../view-state/range.ts";
import { following, timeWindow } from "../../view-state/time.ts";

const HEIGHT_PX = 96;
/** A hub with less history shows all of it, and at least this much, instead of a mostly empty range. */
const LEAST_SHOWN_MS = 60_000;

/** A GPU read by two sources counts once. */
const each = (metric: string): string => `max by (host, uuid) (${metric})`;
const celsius = `(${each('gpu_temperature_celsius{sensor="edge"}')} or ${each('gpu_temperature_celsius{sensor="hotspot"}')})`;
const idle = `${each("gpu_utilization_ratio")} < ${ACTIVE_FROM_RATIO}`;

interface RoomChart extends ChartStyle {
  readonly queries: readonly ChartQuery[];
}

const charts: readonly RoomChart[] = [
  {
    title: "Utilisation",
    family: "utilization",
    unit: "ratio",
    min: 0,
    max: 1,
    queries: [{ query: `avg(${each("gpu_utilization_ratio")})`, label: "mean" }],
  },
  {
    title: "Power",
    family: "power",
    unit: "watts",
    min: 0,
    queries: [
      { query: `sum(${each("gpu_power_watts")})`, label: "power" },
      { query: `sum(${each("gpu_power_limit_watts")})`, label: "limit", dashed: true },
    ],
  },
  {
    title: "Temperature",
    family: "temperature",
    unit: "celsius",
    queries: [
      { query: `max(${celsius})`, label: "hottest" },
      { query: `avg(${celsius})`, label: "mean" },
    ],
  },
  {
    title: "Memory",
    family: "memory",
    unit: "bytes",
    min: 0,
    queries: [
      { query: `sum(${each("gpu_memory_used_bytes")})`, label: "used" },
      { query: `sum(${each("gpu_memory_total_bytes")})`, label: "total", dashed: true },
    ],
  },
  {
    title: "Waste",
    family: "count",
    unit: "watts",
    min: 0,
    // 0 only where power has a reading: a gap stays a gap.
    queries: [
      {
        query: `sum(${each("gpu_power_watts")} and on (host, uuid) (${idle})) or 0 * sum(gpu_power_watts)`,
        label: "power of idle GPUs",
      },
    ],
  },
];

export function RoomCharts() {
  const window = useFilledWindow();
  return (
    <>
      {charts.map(({ title, ...chart }) => (
        <QueryChart
          key={title}
          {...chart}
          title={title}
          heightPx={scaled(HEIGHT_PX)}
          legend={false}
          empty="No reading in this range."
          {...(window === undefined ? {} : { window })}
        />
      ))}
    </>
  );
}

interface StoreStatus {
  readonly data: { readonly headStats: { readonly minTime: number } };
}

/** The window from the first sample on, for a new hub. Undefined if the current range is filled, or is in the past. */
function useFilledWindow(): TimeWindow | undefined {
  const { value } = useJson<StoreStatus>("api/v1/status/tsdb?limit=1");
  const { fromMs, toMs } = timeWindow.value;
  const firstMs = value?.data.headStats.minTime ?? 0;
  const isYoung = following.value && firstMs > fromMs && firstMs < toMs;
  const startMs = isYoung ? Math.min(firstMs, toMs - LEAST_SHOWN_MS) : fromMs;
  return useMemo(() => (isYoung ? { fromMs: startMs, toMs } : undefined), [isYoung, startMs, toMs]);
}
