/** The newest or last value, min, avg and max of a GPU's series, shared by the readings table and the legends of its charts. Pure. */
import { type Gpu, read } from "../../../../src/view/gpu.ts";
import { type StatisticName, statisticQuery } from "../../../../src/view/range-statistics.ts";
import type { InstantSample } from "../../query/client.ts";
import { keyOf, type Labels } from "../../query/columns.ts";
import { charts } from "./charts.ts";
import { type GpuReadingSpec, readings } from "./readings.ts";

/** The length of an address limits a query to about this many metrics. */
const METRICS_PER_QUERY = 6;

export type SeriesStatistic = StatisticName | "newest";

export class SeriesStatistics {
  readonly #samples: ReadonlyMap<SeriesStatistic, readonly InstantSample[]>;
  readonly #byKey: ReadonlyMap<string, number>;
  /** True for a range in the past: the last value of the range counts, not the present one. */
  readonly isPast: boolean;

  constructor(
    samples: ReadonlyMap<SeriesStatistic, readonly InstantSample[]>,
    { isPast }: { readonly isPast: boolean },
  ) {
    this.#samples = samples;
    this.isPast = isPast;
    this.#byKey = new Map(
      [...samples].flatMap(([name, all]) =>
        all.map(({ labels, value }) => [keyFor(name, metricOf(labels), labels), value]),
      ),
    );
  }

  /** Statistic of one series. */
  find(name: SeriesStatistic, metric: string, labels: Labels): number | undefined {
    const own = this.#byKey.get(keyFor(name, metric, labels));
    return this.#withNewest(name, own, () => this.#byKey.get(keyFor("newest", metric, labels)));
  }

  /** Statistics are refreshed less often than the newest value, so that a new extreme is taken into account at once. */
  #withNewest(
    name: SeriesStatistic,
    own: number | undefined,
    newestOf: () => number | undefined,
  ): number | undefined {
    if (this.isPast || own === undefined || (name !== "min" && name !== "max")) return own;
    const newest = newestOf() ?? own;
    return name === "min" ? Math.min(own, newest) : Math.max(own, newest);
  }

  /** Combines all series with these labels: the lowest of the minima, the highest of the maxima and of the newest values. */
  combine(name: SeriesStatistic, spec: GpuReadingSpec): number | undefined {
    return this.#withNewest(name, this.#combined(name, spec), () => this.#combined("newest", spec));
  }

  #combined(
    name: SeriesStatistic,
    { metric, labels: wanted = {} }: GpuReadingSpec,
  ): number | undefined {
    const values = (this.#samples.get(name) ?? []).flatMap(({ labels, value }) =>
      metricOf(labels) === metric && hasLabels(labels, wanted) ? [value] : [],
    );
    if (values.length === 0) return undefined;
    if (name === "min") return Math.min(...values);
    if (name === "avg") return values.reduce((sum, value) => sum + value, 0) / values.length;
    return Math.max(...values);
  }

  isKnown(name: SeriesStatistic): boolean {
    return this.#samples.has(name);
  }
}

const metricOf = (labels: Labels): string => labels["metric"] ?? labels["__name__"] ?? "";

const hasLabels = (labels: Labels, wanted: Labels): boolean =>
  Object.entries(wanted).every(([key, text]) => labels[key] === text);

function keyFor(name: SeriesStatistic, metric: string, labels: Labels): string {
  const { __name__: _, metric: __, ...rest } = labels;
  return `${name} ${metric} ${keyOf(rest)}`;
}

/** Every metric that the table or a chart shows unmodified; for rates, statistics are computed from the points. */
export const shownMetrics = new Set([
  ...readings.map(({ metric }) => metric),
  ...charts.flatMap(({ lines }) => lines.flatMap(({ metric, rate }) => (rate ? [] : [metric]))),
]);

export function statisticQueries(
  name: StatisticName,
  metrics: readonly string[],
  who: string,
  lengthMs: number,
): string[] {
  const parts = metrics.map(
    (metric) =>
      `label_replace(${statisticQuery(name, `${metric}{${who}}`, lengthMs)},"metric","${metric}","","")`,
  );
  return Array.from({ length: Math.ceil(parts.length / METRICS_PER_QUERY) }, (_, at) =>
    parts.slice(at * METRICS_PER_QUERY, (at + 1) * METRICS_PER_QUERY).join(" or "),
  );
}

/** Replaces stored values by those of the live feed, which are newer by seconds, so that table and legend agree. */
export function withLiveValues(
  samples: readonly InstantSample[],
  gpu: Gpu,
): readonly InstantSample[] {
  const live = new Map<InstantSample, number>();
  for (const spec of readings) {
    const value = spec.live === undefined ? undefined : read(gpu, spec.live);
    const own = samples.filter(
      ({ labels }) => metricOf(labels) === spec.metric && hasLabels(labels, spec.labels ?? {}),
    );
    // For several series the feed has only the highest value.
    if (typeof value === "number" && own.length === 1 && own[0] !== undefined)
      live.set(own[0], value);
  }
  return samples.map((sample) => ({ ...sample, value: live.get(sample) ?? sample.value }));
}
