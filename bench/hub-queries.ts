/** The queries of the hub's benchmark, and the comparison of their results. */
import type { Engine } from "./hub-engines.ts";

export interface BenchQuery {
  readonly name: string;
  readonly query: string;
  /** Present for a range query. */
  readonly range?: { readonly startMs: number; readonly endMs: number; readonly stepMs: number };
  readonly timeMs: number;
}

/** Times between two samples: at a sample, Prometheus before 3.0 includes one more than Prometheus 3 at a range's left end. */
export function questions(startMs: number, endMs: number): BenchQuery[] {
  const timeMs = endMs - 2_500;
  const range = { startMs: startMs + 302_500, endMs: timeMs, stepMs: 60_000 };
  const slow = { ...range, startMs: startMs + 1_802_500, stepMs: 300_000 };
  const long: [string, string][] = [
    ["range, 64 series", "gpu_power_watts"],
    ["range, sum by host", "sum by (host) (gpu_power_watts)"],
    ["range, rate", "sum by (host) (rate(gpu_energy_joules_total[5m]))"],
    ["range, quantile_over_time", "quantile_over_time(0.95, gpu_power_watts[5m])"],
    ["range, max_over_time", "max_over_time(gpu_temperature_celsius[5m])"],
    ["range, topk", "topk(5, gpu_power_watts)"],
    ["range, join", "gpu_power_watts * on (uuid) group_left (model, driver) gpu_info"],
    [
      "range, histogram_quantile",
      "histogram_quantile(0.9, sum by (le) (rate(gpu_step_seconds_bucket[5m])))",
    ],
    ["range, all 2,560 series", 'sum by (host) ({job="gpulse"})'],
  ];
  return [
    { name: "instant, 64 series", query: "gpu_power_watts", timeMs },
    {
      name: "instant, join",
      query: "gpu_power_watts * on (uuid) group_left (model) gpu_info",
      timeMs,
    },
    { name: "instant, all series", query: 'count by (__name__) ({job="gpulse"})', timeMs },
    ...long.map(([name, query]) => ({ name, query, range, timeMs })),
    {
      name: "range, subquery",
      query: "max_over_time((avg by (host) (gpu_power_watts))[30m:1m])",
      range: slow,
      timeMs,
    },
  ];
}

export interface TimedResponse {
  readonly tookMs: number;
  readonly body: string;
}

export async function ask(
  engine: Engine,
  { query, range, timeMs }: BenchQuery,
  timeoutMs = 120_000,
): Promise<TimedResponse> {
  const params = new URLSearchParams({ query });
  if (range === undefined) params.set("time", String(timeMs / 1000));
  else {
    params.set("start", String(range.startMs / 1000));
    params.set("end", String(range.endMs / 1000));
    params.set("step", String(range.stepMs / 1000));
  }
  if (engine.name === "VictoriaMetrics") params.set("nocache", "1");
  const route = range === undefined ? "query" : "query_range";
  const began = performance.now();
  const response = await fetch(`${engine.url}/api/v1/${route}?${params.toString()}`, {
    signal: AbortSignal.timeout(timeoutMs),
  });
  const body = await response.text();
  const tookMs = performance.now() - began;
  if (!response.ok) throw new Error(`${engine.name} answered ${query} with ${body.slice(0, 300)}`);
  return { tookMs, body };
}

interface Series {
  readonly metric: Readonly<Record<string, string>>;
  readonly value?: readonly [number, string];
  readonly values?: readonly (readonly [number, string])[];
}

/** VictoriaMetrics keeps the metric name where Prometheus drops it, so names are not compared. */
function points(body: string): Map<string, number> {
  const { data } = JSON.parse(body) as { data: { result: readonly Series[] } };
  const all = new Map<string, number>();
  const counted = /"__name__"/.test(body) && new Set(data.result.map(nameOf)).size > 1;
  for (const { metric, value, values } of data.result) {
    const labels = Object.entries(metric)
      .filter(([name]) => counted || name !== "__name__")
      .map(([name, text]) => `${name}=${text}`)
      .sort()
      .join();
    for (const [timeS, text] of values ?? (value === undefined ? [] : [value]))
      all.set(`${labels}@${timeS}`, Number(text));
  }
  return all;
}

const nameOf = ({ metric }: Series): string => metric["__name__"] ?? "";

export interface ResultDifference {
  readonly points: number;
  readonly missing: number;
  readonly different: number;
  /** The largest difference, relative to the value. */
  readonly worst: number;
}

const tolerance = 1e-9;

export function compare(ours: string, theirs: string): ResultDifference {
  const [mine, other] = [points(ours), points(theirs)];
  let [missing, different, worst] = [0, 0, 0];
  for (const [key, value] of other) {
    const got = mine.get(key);
    if (got === undefined) missing++;
    else {
      const share = Math.abs(got - value) / Math.max(Math.abs(value), Number.MIN_VALUE);
      if (Object.is(got, value) || share <= tolerance) continue;
      different++;
      worst = Math.max(worst, share);
    }
  }
  for (const key of mine.keys()) if (!other.has(key)) missing++;
  return { points: other.size, missing, different, worst };
}
