/**
 * The lines of one page that belong together: the parts of a classic histogram, which become one histogram with custom
 * buckets, and `_created` lines, which state the start of the series beside them. Lives as long as the page.
 */
import { checkHistogram, type HistogramFault } from "../../../model/histogram/check.ts";
import { customSchema, type Histogram } from "../../../model/histogram/histogram.ts";
import { type LabelSet, labelValue } from "../../../model/labels.ts";

/** Which part of a metric a series is. */
export interface MetricPart {
  readonly kind: "bucket" | "sum" | "count" | "created" | "value";
  /** Equal for all parts of one metric: its family and labels. */
  readonly key: string;
  /** The upper bound of a bucket. */
  readonly bound: number;
  /** The whole metric's, without `le`. */
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
 * Undefined for a series of no family that counts.
 * @param usesStarts otherwise a `_created` line is a series like any other
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

/** A classic histogram as its lines are read. */
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

  /** With custom buckets; a cumulative count that goes down is a negative one and refused. */
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
