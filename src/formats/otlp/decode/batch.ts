/**
 * Converts OTLP metrics to samples, as Prometheus's own receiver does: exponential histograms become native ones, explicit ones
 * classic or with custom buckets, `job` and `instance` come from the resource, its other attributes go into `target_info`. Points
 * that cannot be stored are counted.
 */
import { type HistogramFault, isFault } from "../../../model/histogram/check.ts";
import type { Histogram } from "../../../model/histogram/histogram.ts";
import type { Label } from "../../../model/labels.ts";
import { customHistogram, exponentialHistogram } from "./histogram.ts";
import {
  type Attributes,
  OtlpError,
  type OtlpKind,
  type OtlpMetric,
  type OtlpPoint,
  type OtlpResource,
} from "./model.ts";
import { labelName, metricName, plainDecimal } from "./names.ts";
import type { SampleBatch } from "../../samples/batch.ts";
import { labelBlock, LabelBlockWriter } from "../../samples/block.ts";
import { BatchBuilder } from "../../samples/builder.ts";
import { BatchTooLargeError, maxBatchLabelBytes, maxBatchSeries } from "../../samples/labels.ts";
import { OtlpCache } from "./cache.ts";
import { EncodedLabels } from "./labels.ts";

/* The labels of an OTLP resource: `job` and `instance` on every series, all other attributes on one `target_info`. */

const identifying = ["service.namespace", "service.name", "service.instance.id"];
/** Half of the look-back, so that a query that finds a sample also finds its target_info. */
const infoStepMs = 150_000;
/** A request with a longer time range comes from a wrong clock: only its end gets a target_info. */
const maxInfoSteps = 1_000;

function identityLabels(attributes: Attributes): Label[] {
  const given = new Map(attributes);
  const namespace = given.get("service.namespace");
  const name = given.get("service.name");
  const instance = given.get("service.instance.id");
  const labels: Label[] = [];
  if (instance !== undefined && instance !== "") labels.push(["instance", instance]);
  if (name !== undefined && name !== "")
    labels.push(["job", namespace === undefined ? name : `${namespace}/${name}`]);
  return labels;
}

/** Attributes as sorted labels; attributes that map to the same name are joined, and the identity labels override both. */
function attributeLabels(attributes: Attributes, identity: readonly Label[]): Label[] {
  const labels = new Map<string, string>();
  for (const [key, value] of attributes) {
    const name = labelName(key);
    const before = labels.get(name);
    labels.set(name, before === undefined ? value : `${before};${value}`);
  }
  for (const [name, value] of identity) labels.set(name, value);
  return [...labels]
    .filter(([, value]) => value !== "")
    .sort(([left], [right]) => (left < right ? -1 : left > right ? 1 : 0));
}

interface TargetInfo {
  readonly labels: readonly Label[];
  readonly timesMs: readonly number[];
}

/** Undefined if it would add nothing to `job` and `instance`, or could not be joined with any series. */
function targetInfo(
  attributes: Attributes,
  identity: readonly Label[],
  firstMs: number,
  lastMs: number,
): TargetInfo | undefined {
  const others = attributes.filter(([key]) => !identifying.includes(key));
  if (others.length === 0 || identity.length === 0) return undefined;
  const timesMs: number[] = [];
  if ((lastMs - firstMs) / infoStepMs <= maxInfoSteps)
    for (let timeMs = firstMs; timeMs < lastMs; timeMs += infoStepMs) timesMs.push(timeMs);
  timesMs.push(lastMs);
  return { labels: attributeLabels(others, identity), timesMs };
}

export interface OtlpBatch {
  readonly batch: SampleBatch;
  /** Series of the batch with delta temporality: their samples are the increase since the last export. */
  readonly deltaSeries: readonly number[];
  /** Points refused because their metric has no aggregation temporality. */
  readonly unspecified: number;
  /** Points without a value, a name or a kind. */
  readonly malformed: number;
  /** Why the first point was refused. */
  readonly problem: string | undefined;
}

export interface OtlpBatchOptions {
  /** Histograms with explicit bounds become native ones with custom buckets. */
  readonly toCustomBuckets?: boolean | undefined;
  /** Limit of buckets of a native histogram; 0 for none. */
  readonly bucketLimit?: number | undefined;
  /** True if start times are collected. */
  readonly usesStarts?: boolean | undefined;
}

/** Parsed attributes and names go to the cache, which may be shared by all requests. */
export function otlpBatch(
  resources: readonly OtlpResource[],
  cache = new OtlpCache(),
  options: OtlpBatchOptions = {},
): OtlpBatch {
  const writer = new OtlpWriter(cache, options);
  for (const resource of resources) writer.resource(resource);
  return writer.finish();
}

const typeOf = ({ kind, monotonic }: OtlpMetric): string =>
  kind === "sum" ? (monotonic ? "counter" : "gauge") : kind === "exponential" ? "histogram" : kind;

/** Values of AggregationTemporality. */
const [delta, cumulative] = [1, 2];
/** Kinds with a temporality: they count since the last export, or since a start. */
const temporal: readonly OtlpKind[] = ["sum", "histogram", "exponential"];

class OtlpWriter {
  readonly #builder = new BatchBuilder(maxBatchLabelBytes);
  readonly #block = new LabelBlockWriter();
  readonly #spare = new LabelBlockWriter();
  readonly #cache: OtlpCache;
  #encoded = new Map<Attributes, EncodedLabels>();
  #identity: readonly Label[] = [];
  readonly #deltaSeries = new Set<number>();
  #isDelta = false;
  #unspecified = 0;
  #malformed = 0;
  #problem: string | undefined;

  readonly #options: OtlpBatchOptions;

  constructor(cache: OtlpCache, options: OtlpBatchOptions) {
    this.#cache = cache;
    this.#options = options;
  }

  finish(): OtlpBatch {
    return {
      batch: this.#builder.finish(),
      deltaSeries: [...this.#deltaSeries],
      unspecified: this.#unspecified,
      malformed: this.#malformed,
      problem: this.#problem,
    };
  }

  resource({ attributes, metrics }: OtlpResource): void {
    this.#identity = identityLabels(attributes);
    this.#encoded = this.#cache.labelsOf(JSON.stringify(this.#identity));
    let [first, last] = [Infinity, -Infinity];
    for (const metric of metrics) {
      this.#metric(metric);
      for (const { timeMs } of metric.points) {
        first = Math.min(first, timeMs);
        last = Math.max(last, timeMs);
      }
    }
    if (last < first) return;
    this.#isDelta = false;
    const info = this.#attempt(0, () => targetInfo(attributes, this.#identity, first, last));
    if (info === undefined) return;
    const series = this.#series(
      "target_info",
      new EncodedLabels(info.labels, this.#spare),
      undefined,
    );
    for (const timeMs of info.timesMs) this.#builder.add(series, timeMs, 1);
  }

  #metric(metric: OtlpMetric): void {
    const { kind, points } = metric;
    if (kind === "none") return;
    const isTemporal = temporal.includes(kind);
    if (isTemporal && metric.temporality !== cumulative && metric.temporality !== delta) {
      this.#unspecified += points.length;
      this.#problem ??= `"${metric.name.slice(0, 100)}" has no temporality: set it to cumulative or delta`;
      return;
    }
    this.#isDelta = isTemporal && metric.temporality === delta;
    const name = this.#attempt(points.length, () => nameOf(metric));
    if (name === undefined) return;
    const { description: help, unit } = metric;
    this.#builder.learn({ family: name, type: typeOf(metric), help, unit });
    for (const point of points) {
      try {
        this.#point(name, metric, point);
      } catch (thrown) {
        this.#refuse(thrown, 1);
      }
    }
  }

  #point(name: string, metric: OtlpMetric, point: OtlpPoint): void {
    const { kind } = metric;
    const labels = this.#labels(point.attributes);
    if (kind === "gauge" || kind === "sum") {
      if (point.value === undefined && !point.noRecordedValue)
        throw new OtlpError(`a point of "${name}" has no value`);
      const startMs = kind === "sum" && metric.monotonic ? point.startMs : 0;
      const series = this.#put(name, labels, undefined, point, point.value, startMs);
      for (const exemplar of point.exemplars) this.#builder.addExemplar(series, exemplar);
      return;
    }
    const { exponential } = point;
    const { bucketLimit = 0, toCustomBuckets } = this.#options;
    if (exponential !== undefined)
      return this.#native(
        name,
        labels,
        point,
        exponentialHistogram(point, exponential, bucketLimit),
      );
    if (kind === "histogram" && toCustomBuckets === true)
      return this.#native(name, labels, point, customHistogram(point, bucketLimit));
    this.#classic(name, kind, labels, point);
  }

  #native(
    name: string,
    labels: EncodedLabels,
    point: OtlpPoint,
    checked: Histogram | HistogramFault,
  ): void {
    const { timeMs, startMs, noRecordedValue, exemplars } = point;
    const series = this.#series(name, labels, undefined);
    if (noRecordedValue) return this.#builder.addStale(series, timeMs);
    this.#builder.addChecked(series, timeMs, checked);
    if (isFault(checked)) return;
    if (startMs > 0 && this.#options.usesStarts === true)
      this.#builder.addStart({ series, startMs, sampleMs: timeMs, histogram: checked });
    for (const exemplar of exemplars) this.#builder.addExemplar(series, exemplar);
  }

  #classic(name: string, kind: OtlpKind, labels: EncodedLabels, point: OtlpPoint): void {
    const put = (suffix: string, value: number | undefined, extra?: Label): number | undefined =>
      value !== undefined || point.noRecordedValue
        ? this.#put(name + suffix, labels, extra, point, value, point.startMs)
        : undefined;
    let exemplars = [...point.exemplars].sort((a, b) => a.value - b.value);
    /** Writes a bucket with its exemplars: those at or below its bound that no earlier bucket has. */
    const bucket = (bound: number, value: number): void => {
      const le = bound === Infinity ? "+Inf" : plainDecimal(bound);
      const series = put("_bucket", value, ["le", le]);
      if (exemplars.length === 0 || series === undefined) return;
      for (const exemplar of exemplars)
        if (exemplar.value <= bound) this.#builder.addExemplar(series, exemplar);
      exemplars = exemplars.filter((exemplar) => !(exemplar.value <= bound));
    };
    // An omitted sum stays omitted, also when the series ends.
    if (point.sum !== undefined || kind === "summary") put("_sum", point.sum ?? 0);
    put("_count", point.count);
    if (kind === "summary") {
      for (const [quantile, value] of point.quantiles)
        put("", value, ["quantile", plainDecimal(quantile)]);
      return;
    }
    let below = 0;
    const buckets = Math.min(point.bounds.length, point.bucketCounts.length);
    for (let i = 0; i < buckets; i++) {
      below += point.bucketCounts[i] as number;
      bucket(point.bounds[i] as number, below);
    }
    bucket(Infinity, point.count);
  }

  #put(
    name: string,
    labels: EncodedLabels,
    extra: Label | undefined,
    { timeMs, noRecordedValue }: OtlpPoint,
    value: number | undefined,
    startMs: number,
  ): number {
    const series = this.#series(name, labels, extra);
    if (noRecordedValue) this.#builder.addStale(series, timeMs);
    else {
      this.#builder.add(series, timeMs, value ?? Number.NaN);
      if (startMs > 0 && this.#options.usesStarts === true)
        this.#builder.addStart({ series, startMs, sampleMs: timeMs });
    }
    return series;
  }

  #series(name: string, labels: EncodedLabels, extra: Label | undefined): number {
    if (this.#builder.seriesCount >= maxBatchSeries) throw new BatchTooLargeError();
    let encoded = this.#cache.name(name);
    if (encoded === undefined) {
      encoded = labelBlock("__name__", name);
      this.#cache.keepName(name, encoded);
    }
    const block = this.#block;
    block.clear();
    labels.write(block, encoded, extra);
    const series = this.#builder.rawSeries(block.bytes, 0, block.length);
    if (this.#isDelta) this.#deltaSeries.add(series);
    return series;
  }

  /** Points of one resource often share attributes: each set is converted to labels once. */
  #labels(attributes: Attributes): EncodedLabels {
    const known = this.#encoded.get(attributes);
    if (known !== undefined) return known;
    const made = new EncodedLabels(attributeLabels(attributes, this.#identity), this.#spare);
    this.#cache.keepLabels(this.#encoded, attributes, made);
    return made;
  }

  #attempt<Result>(points: number, work: () => Result): Result | undefined {
    try {
      return work();
    } catch (thrown) {
      this.#refuse(thrown, points);
      return undefined;
    }
  }

  #refuse(thrown: unknown, points: number): void {
    if (!(thrown instanceof OtlpError)) throw thrown;
    this.#malformed += points;
    this.#problem ??= thrown.message;
  }
}

const nameOf = (metric: OtlpMetric): string =>
  metricName(
    metric.name,
    metric.unit,
    metric.kind === "gauge"
      ? "gauge"
      : metric.kind === "sum" && metric.monotonic
        ? "counter"
        : "other",
  );
