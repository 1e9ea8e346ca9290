/** GPUs and hosts over any time range of the history, as subjects of a comparison. Work comes from a query, never from utilisation. */
import { meanOf, weigh } from "../../analytics/compare/distribution.ts";
import type { GpuSeries, RunSeries } from "../../analytics/compare/series.ts";
import type { WorkIn } from "../../analytics/compare/windows.ts";
import type { History } from "../../history/history.ts";
import type { LabelSet } from "../../model/labels.ts";
import type { MatrixSeries } from "../../query/result.ts";

export interface LiveSubject {
  readonly kind: "gpu" | "host";
  /** A uuid, or a host's name. */
  readonly name: string;
  readonly fromMs: number;
  readonly toMs: number;
}

export interface LiveOptions {
  readonly history: Pick<History, "range" | "instant">;
  /** PromQL whose value is work per second. */
  readonly workQuery?: string;
  readonly workUnit?: string;
  readonly signal?: AbortSignal;
}

export interface Watched {
  readonly whole: RunSeries;
  readonly workIn: WorkIn;
  /** How the GPU calls itself; undefined for a host. */
  readonly model?: string;
}

/** `%` is the selector's inside. Labels beyond uuid go to the column's name in this order. */
const asked: readonly {
  readonly metric: string;
  readonly label?: string;
  readonly counter?: boolean;
}[] = [
  { metric: "gpu_power_watts" },
  { metric: "gpu_chip_power_watts" },
  { metric: "gpu_utilization_ratio" },
  { metric: "gpu_temperature_celsius", label: "sensor" },
  { metric: "gpu_clock_hertz", label: "domain" },
  { metric: "gpu_memory_used_bytes" },
  { metric: "gpu_fan_speed_ratio", label: "fan" },
  { metric: "gpu_throttle_active", label: "reason" },
  { metric: "gpu_energy_joules_total", counter: true },
];

const MOST_POINTS = 3_600;
/** Slow readings come every ten seconds or so: a longer lookback would hold what has ended. */
const lookbackMs = 15_000;

export const stepMsFor = (rangeMs: number): number =>
  Math.max(1_000, Math.ceil(rangeMs / MOST_POINTS / 1_000) * 1_000);

export async function watch(subject: LiveSubject, options: LiveOptions): Promise<Watched> {
  const { history, signal } = options;
  const { kind, name, fromMs, toMs } = subject;
  const stepMs = stepMsFor(toMs - fromMs);
  const inner = `${kind === "gpu" ? "uuid" : "host"}=${JSON.stringify(name)}`;
  const limits = {
    lookbackMs: Math.max(lookbackMs, stepMs),
    ...(signal === undefined ? {} : { signal }),
  };
  const ask = async (query: string): Promise<readonly MatrixSeries[]> => {
    const { data } = await history.range(query, fromMs, toMs, stepMs, limits);
    return data.type === "matrix" ? data.series : [];
  };
  const answers = await Promise.all(
    asked.map(async ({ metric, label, counter }) => {
      const selector = `${metric}{${inner}}`;
      // A point that stands for many readings is their mean; of a counter it is the last.
      const over =
        stepMs > 2_000 && counter !== true
          ? `avg_over_time(${selector}[${Math.round(stepMs / 1_000)}s])`
          : selector;
      return {
        metric,
        label,
        series: await ask(`max by (uuid${label === undefined ? "" : `, ${label}`}) (${over})`),
      };
    }),
  );
  const { data: info } = await history.instant(
    `last_over_time(gpu_info{${inner}}[${Math.max(60, Math.ceil((toMs - fromMs) / 1_000))}s])`,
    toMs,
    signal === undefined ? {} : { signal },
  );
  const gpus = gpusOf(
    answers,
    info.type === "vector" ? info.samples.map(({ labels }) => labels) : [],
    { fromMs, toMs, stepMs },
  );
  const [first] = gpus;
  return {
    whole: {
      name,
      startMs: fromMs,
      endMs: toMs,
      samplingMs: stepMs,
      gpus,
      work: { why: "no work counter given" },
      doubts: gpus.length === 0 ? ["there is no reading of it in this range."] : [],
    },
    workIn: await workOf(subject, stepMs, ask, options),
    ...(kind === "gpu" && first !== undefined ? { model: first.model } : {}),
  };
}

interface Answer {
  readonly metric: string;
  readonly label: string | undefined;
  readonly series: readonly MatrixSeries[];
}

function gpusOf(
  answers: readonly Answer[],
  infos: readonly LabelSet[],
  {
    fromMs,
    toMs,
    stepMs,
  }: { readonly fromMs: number; readonly toMs: number; readonly stepMs: number },
): readonly GpuSeries[] {
  const count = Math.floor((toMs - fromMs) / stepMs) + 1;
  const timeMs = Float64Array.from({ length: count }, (_, at) => fromMs + at * stepMs);
  const byUuid = new Map<string, Map<string, Float64Array>>();
  for (const { metric, label, series } of answers)
    for (const { labels, times, values } of series) {
      const uuid = valueOf(labels, "uuid") ?? "";
      const columns = byUuid.get(uuid) ?? new Map<string, Float64Array>();
      const own = label === undefined ? undefined : valueOf(labels, label);
      const column = new Float64Array(count).fill(Number.NaN);
      times.forEach((at, index) => {
        column[Math.round((at - fromMs) / stepMs)] = values[index] ?? Number.NaN;
      });
      columns.set(
        own === undefined ? metric : `${metric}_${own.replaceAll(/[^a-z0-9_]/g, "_")}`,
        column,
      );
      byUuid.set(uuid, columns);
    }
  return [...byUuid].map(([uuid, columns]) => {
    const info = infos.find((labels) => valueOf(labels, "uuid") === uuid) ?? [];
    return {
      uuid,
      model: valueOf(info, "model") ?? uuid,
      host: valueOf(info, "host") ?? "",
      simulated: valueOf(info, "simulated") === "true",
      power: columns.has("gpu_power_watts")
        ? ("board" as const)
        : columns.has("gpu_chip_power_watts")
          ? ("chip" as const)
          : ("none" as const),
      timeMs,
      columns,
    };
  });
}

const valueOf = (labels: LabelSet, name: string): string | undefined =>
  labels.find(([label]) => label === name)?.[1];

/** A series counts for a subject only by its own label, never by a guess. */
async function workOf(
  { kind, name }: LiveSubject,
  stepMs: number,
  ask: (query: string) => Promise<readonly MatrixSeries[]>,
  { workQuery, workUnit = "units" }: LiveOptions,
): Promise<WorkIn> {
  if (workQuery === undefined || workQuery.trim() === "")
    return () => ({ why: "no work counter given" });
  const label = kind === "gpu" ? "uuid" : "host";
  const series = await ask(workQuery);
  const own = series.filter(({ labels }) => valueOf(labels, label) === name);
  if (own.length === 0) {
    const why =
      series.length === 0
        ? "the work query has no result in this range"
        : series.some(({ labels }) => valueOf(labels, label) !== undefined)
          ? `the work query tells nothing of this ${kind === "gpu" ? "GPU" : "host"}`
          : `the work query's series have no ${label} label`;
    return () => ({ why });
  }
  return (fromMs, toMs) => {
    let rate = 0;
    for (const { times, values } of own) {
      const found = weigh(times, values, fromMs, toMs, stepMs);
      if (found === undefined)
        return { why: "the work query has no result in a part of this range" };
      rate += meanOf(found);
    }
    return { amount: (rate * (toMs - fromMs)) / 1_000, unit: workUnit };
  };
}
