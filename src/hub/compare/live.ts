/** GPUs and hosts over any time range of the history, as subjects of a comparison. Work comes from a query, never from utilisation. */
import { usualDistance } from "../../runs/compare/distribution.ts";
import type { GpuSeries, RunSeries } from "../../runs/compare/series.ts";
import type { WorkIn } from "../../runs/compare/windows.ts";
import { deviceKey } from "../../model/device.ts";
import { labelValue, type LabelSet } from "../../model/labels.ts";
import { readSamples, stepMsFor, type SampleSeries } from "./samples.ts";
import { isOfHost, readWork, type WorkOptions, type WorkSubject } from "./work.ts";

export type LiveSubject = WorkSubject;
export type LiveOptions = WorkOptions;

export interface SubjectSeries {
  readonly whole: RunSeries;
  readonly workIn: WorkIn;
  /** Model name reported by the GPU; undefined for a host. */
  readonly model?: string;
}

/** The value of `label` is appended to the column's name. */
const columns: readonly {
  readonly metric: string;
  readonly label?: string;
  readonly isCounter?: boolean;
}[] = [
  { metric: "gpu_power_watts" },
  { metric: "gpu_chip_power_watts" },
  { metric: "gpu_utilization_ratio" },
  { metric: "gpu_temperature_celsius", label: "sensor" },
  { metric: "gpu_clock_hertz", label: "domain" },
  { metric: "gpu_memory_used_bytes" },
  { metric: "gpu_fan_speed_ratio", label: "fan" },
  { metric: "gpu_throttle_active", label: "reason" },
  { metric: "gpu_energy_joules_total", isCounter: true },
];

/** Counters are read beyond the range, so that their increase covers it from end to end. */
const COUNTER_MARGIN_MS = 60_000;

export async function readSubjectSeries(
  subject: LiveSubject,
  options: LiveOptions,
): Promise<SubjectSeries> {
  const { history, signal } = options;
  const { kind, name, fromMs, toMs } = subject;
  const own = kind === "gpu" ? "uuid" : "host";
  const found: ColumnSamples[] = [];
  // Reads sequentially to limit memory: all metrics of a long range are large.
  for (const { metric, label, isCounter = false } of columns) {
    const margin = isCounter ? COUNTER_MARGIN_MS : 0;
    const matchers = [
      { name: own, op: "=", value: name },
      { name: "__name__", op: "=", value: metric },
    ] as const;
    const range = { fromMs: fromMs - margin, toMs: toMs + margin };
    const sampled = isCounter ? "counter" : "gauge";
    for (const series of await readSamples(history, matchers, sampled, range, signal))
      if (isOfHost(subject, series.labels))
        found.push({ ...series, column: columnName(metric, label, series.labels) });
  }
  const { data: info } = await history.instant(
    `last_over_time(gpu_info{${own}=${JSON.stringify(name)}}[${Math.max(60, Math.ceil((toMs - fromMs) / 1_000))}s])`,
    toMs,
    signal === undefined ? {} : { signal },
  );
  const all = gpusOf(found, info.type === "vector" ? info.samples.map(({ labels }) => labels) : []);
  const [first] = all;
  const gpus = kind === "gpu" && first !== undefined ? [first] : all;
  const { workIn, workRate } = await readWork(subject, options);
  return {
    whole: {
      name,
      startMs: fromMs,
      endMs: toMs,
      samplingMs: samplingOf(gpus) ?? stepMsFor(subject),
      gpus,
      work: workIn(fromMs, toMs),
      ...(workRate === undefined ? {} : { workRate }),
      doubts: [
        ...(gpus.some(({ timeMs }) => timeMs.some((at) => at >= fromMs && at <= toMs))
          ? []
          : ["it has no reading in this range."]),
        ...(all.length > gpus.length
          ? [
              `several hosts report this uuid (${all.map(({ host }) => host).join(", ")}): this is the GPU of ${first?.host ?? ""}. Name another with UUID@HOST.`,
            ]
          : []),
      ],
    },
    workIn,
    ...(kind === "gpu" && first !== undefined ? { model: first.model } : {}),
  };
}

function columnName(metric: string, label: string | undefined, labels: LabelSet): string {
  const own = label === undefined ? undefined : labelValue(labels, label);
  return own === undefined ? metric : `${metric}_${own.replaceAll(/[^a-z0-9_]/g, "_")}`;
}

interface ColumnSamples extends SampleSeries {
  readonly column: string;
}

function gpusOf(all: readonly ColumnSamples[], infos: readonly LabelSet[]): readonly GpuSeries[] {
  const shared = sharedUuids(all);
  const byGpu = new Map<string, Map<string, ColumnSamples[]>>();
  const keyOf = (labels: LabelSet): string => {
    const uuid = labelValue(labels, "uuid") ?? "";
    return deviceKey(shared.has(uuid) ? (labelValue(labels, "host") ?? "") : "", uuid);
  };
  for (const series of all) {
    const key = keyOf(series.labels);
    const own = byGpu.get(key) ?? new Map<string, ColumnSamples[]>();
    own.set(series.column, [...(own.get(series.column) ?? []), series]);
    byGpu.set(key, own);
  }
  return [...byGpu].map(([key, own]) => {
    const [[sample] = []] = own.values();
    const uuid = labelValue(sample?.labels ?? [], "uuid") ?? "";
    const info = infos.find((labels) => keyOf(labels) === key) ?? [];
    return {
      uuid,
      model: labelValue(info, "model") ?? uuid,
      host: labelValue(info, "host") ?? labelValue(sample?.labels ?? [], "host") ?? "",
      simulated: labelValue(info, "simulated") === "true",
      power: own.has("gpu_power_watts")
        ? ("board" as const)
        : own.has("gpu_chip_power_watts")
          ? ("chip" as const)
          : ("none" as const),
      ...rowsOf(new Map([...own].map(([column, series]) => [column, merge(series)]))),
    };
  });
}

/** Uuids that two hosts report at the same time, and therefore two GPUs. A GPU that returned under another host name is one. */
function sharedUuids(all: readonly ColumnSamples[]): ReadonlySet<string> {
  const spans = new Map<string, Map<string, readonly [fromMs: number, toMs: number]>>();
  for (const { labels, timeMs } of all) {
    const [uuid, host] = [labelValue(labels, "uuid") ?? "", labelValue(labels, "host") ?? ""];
    const hosts = spans.get(uuid) ?? new Map<string, readonly [number, number]>();
    const [from, to] = hosts.get(host) ?? [Infinity, -Infinity];
    hosts.set(host, [Math.min(from, timeMs[0] ?? from), Math.max(to, timeMs.at(-1) ?? to)]);
    spans.set(uuid, hosts);
  }
  const overlaps = (hosts: ReadonlyMap<string, readonly [number, number]>): boolean => {
    const sorted = [...hosts.values()].toSorted(([one], [other]) => one - other);
    return sorted.some(([from], at) => at > 0 && from <= (sorted[at - 1]?.[1] ?? -Infinity));
  };
  return new Set([...spans].flatMap(([uuid, hosts]) => (overlaps(hosts) ? [uuid] : [])));
}

/**
 * Merges the series of a GPU for one column: the longest, plus those entirely before or after it, as when an agent returned
 * under another name. Overlapping series of a second source are dropped.
 */
function merge(series: readonly SampleSeries[]): readonly SampleSeries[] {
  const chosen: SampleSeries[] = [];
  for (const one of [...series].sort((a, b) => b.timeMs.length - a.timeMs.length)) {
    const [from, to] = [one.timeMs[0] ?? 0, one.timeMs.at(-1) ?? 0];
    if (chosen.every(({ timeMs }) => to < (timeMs[0] ?? 0) || from > (timeMs.at(-1) ?? 0)))
      chosen.push(one);
  }
  return chosen;
}

/** Joins columns sampled at different times into rows of all these times. */
function rowsOf(
  byColumn: ReadonlyMap<string, readonly SampleSeries[]>,
): Pick<GpuSeries, "timeMs" | "columns" | "counts"> {
  const all = [...byColumn.values()].flat();
  const timeMs = Float64Array.from(
    new Set(all.flatMap((series) => Array.from(series.timeMs))),
  ).sort();
  const rowOf = new Map(Array.from(timeMs, (at, row) => [at, row]));
  const fill = (of: (series: SampleSeries) => Float64Array | undefined, empty: number) =>
    new Map(
      [...byColumn].map(([name, chosen]) => {
        const column = new Float64Array(timeMs.length).fill(empty);
        for (const series of chosen)
          series.timeMs.forEach((at, index) => {
            column[rowOf.get(at) ?? 0] = of(series)?.[index] ?? 1;
          });
        return [name, column];
      }),
    );
  return {
    timeMs,
    columns: fill(({ values }) => values, Number.NaN),
    counts: fill(({ counts }) => counts, 0),
  };
}

/** The sampling interval of the column with the most frequent samples. */
function samplingOf(gpus: readonly GpuSeries[]): number | undefined {
  const distances = gpus.flatMap(({ timeMs, columns: own }) =>
    [...own.values()].flatMap(
      (column) =>
        usualDistance(timeMs.filter((_, row) => !Number.isNaN(column[row] ?? Number.NaN))) || [],
    ),
  );
  return distances.length === 0 ? undefined : Math.min(...distances);
}
