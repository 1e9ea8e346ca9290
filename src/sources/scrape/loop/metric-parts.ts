/**
 * Combines lines of one page: the parts of a classic histogram become one histogram with custom buckets, and `_created` lines set
 * the start time of their metric's series. Lives as long as the page.
 */
import { checkHistogram, type HistogramFault } from "../../../model/histogram/check.ts";
import { customSchema, type Histogram } from "../../../model/histogram/histogram.ts";
import { type LabelSet, labelValue } from "../../../model/labels.ts";

/** The part of a metric that a series is. */
export interface MetricPart {
  readonly kind: "bucket" | "sum" | "count" | "created" | "value";
  /** Equal for all parts of one metric: its family and labels. */
  readonly key: string;
  /** Upper bound if the series is a bucket. */
  readonly bound: number;
  /** The labels of the whole metric, without `le`. */
  readonly labels: LabelSet;
}

const suffixes = /^(.+)_(bucket|sum|count|created|total)$/;
const kinds: Readonly<Record<string, MetricPart["kind"]>> = {
  bucket: "bucket",
  sum: "sum",
  count: "count",
  created: "created",
};
const counted = ["counter", "histogram", "summary"];

/**
 * Undefined for a series whose metric is not a counter, histogram or summary.
 * @param usesStarts if false, a `_created` line is an ordinary series
 */
export function metricPart(
  labels: LabelSet,
  typeOf: (family: string) => string | undefined,
  usesStarts: boolean,
): MetricPart | undefined {
  const name = labelValue(labels, "__name__") ?? "";
  const [, base, suffix] = suffixes.exec(name) ?? [];
  if (suffix === "created" && !usesStarts) return undefined;
  const isPart = base !== undefined && counted.includes(typeOf(base) ?? "");
  const family = isPart ? base : name;
  if (!isPart && !counted.includes(typeOf(name) ?? "")) return undefined;
  const own = labels
    .filter(([label]) => label !== "le" && label !== "quantile")
    .map(([label, value]) => [label, label === "__name__" ? family : value] as const);
  const le = labelValue(labels, "le");
  const isHistogram = typeOf(family) === "histogram";
  const kind = (isPart ? kinds[suffix ?? ""] : undefined) ?? "value";
  return {
    kind: kind === "created" || isHistogram ? kind : "value",
    key: JSON.stringify(own),
    bound: le === undefined ? Number.NaN : Number(le.replace("Inf", "Infinity")),
    labels: own,
  };
}

/** Collects the lines of a classic histogram. */
export class PageHistogram {
  readonly labels: LabelSet;
  readonly timeMs: number | undefined;
  readonly #buckets = new Map<number, number>();
  #sum = 0;
  #count: number | undefined;

  constructor(labels: LabelSet, timeMs: number | undefined) {
    this.labels = labels;
    this.timeMs = timeMs;
  }

  add({ kind, bound }: MetricPart, value: number): void {
    if (kind === "bucket") this.#buckets.set(bound, value);
    else if (kind === "sum") this.#sum = value;
    else if (kind === "count") this.#count = value;
  }

  /** Converts to custom buckets; a decreasing cumulative count means a negative bucket count and is rejected. */
  convert(): Histogram | HistogramFault {
    const sorted = [...this.#buckets].sort(([left], [right]) => left - right);
    const count = this.#count ?? this.#buckets.get(Infinity) ?? sorted.at(-1)?.[1] ?? 0;
    const finite = sorted.filter(([bound]) => bound !== Infinity);
    const cumulative = [...finite.map(([, below]) => below), count];
    const counts = cumulative.map((below, at) => below - (cumulative[at - 1] ?? 0));
    return checkHistogram({
      resetHint: "unknown",
      schema: customSchema,
      zeroThreshold: 0,
      zeroCount: 0,
      count,
      sum: this.#sum,
      isInteger: cumulative.every(Number.isInteger),
      positive: { spans: [0, counts.length], counts },
      negative: { spans: [], counts: [] },
      bounds: finite.map(([bound]) => bound),
    });
  }
}
