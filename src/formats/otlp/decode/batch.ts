/**
 * OTLP metrics as samples, in the way of Prometheus's own receiver: classic histograms, `job` and `instance` from the
 * resource, its other attributes in `target_info`. What cannot be kept is counted, by point.
 */
import type { Label } from "../../../model/labels.ts";
import {
  type Attributes,
  OtlpError,
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

/* What an OTLP resource is in labels: `job` and `instance` on every series, everything else on one `target_info`. */

const identifying = ["service.namespace", "service.name", "service.instance.id"];
/** Half of the look-back, so that a query finds it wherever it finds the samples it belongs to. */
const infoStepMs = 150_000;
/** A request that spans more has a clock that is wrong: only its end gets a target_info. */
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

/** Attributes as labels, in order; those that become one name are joined, the identity wins over both. */
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

/** None where it would say no more than `job` and `instance`, or could not be joined to anything. */
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
  /** Points refused because their metric counts from one export to the next, or does not say how it counts. */
  readonly delta: number;
  /** Points without a value, a name or a kind. */
  readonly malformed: number;
  /** Why the first point was refused. */
  readonly problem: string | undefined;
}

/** What was made of attributes and names goes to the cache, where there is one for all requests. */
export function otlpBatch(resources: readonly OtlpResource[], cache = new OtlpCache()): OtlpBatch {
  const writer = new OtlpWriter(cache);
  for (const resource of resources) writer.resource(resource);
  return writer.finish();
}

const typeOf = ({ kind, monotonic }: OtlpMetric): string =>
  kind === "sum" ? (monotonic ? "counter" : "gauge") : kind === "exponential" ? "histogram" : kind;

class OtlpWriter {
  readonly #builder = new BatchBuilder(maxBatchLabelBytes);
  readonly #block = new LabelBlockWriter();
  readonly #spare = new LabelBlockWriter();
  readonly #cache: OtlpCache;
  #encoded = new Map<Attributes, EncodedLabels>();
  #identity: readonly Label[] = [];
  #delta = 0;
  #malformed = 0;
  #problem: string | undefined;

  constructor(cache: OtlpCache) {
    this.#cache = cache;
  }

  finish(): OtlpBatch {
    return {
      batch: this.#builder.finish(),
      delta: this.#delta,
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
    if (kind === "exponential") {
      this.#malformed += points.length;
      this.#problem ??= "exponential histograms are not supported: use explicit buckets";
      return;
    }
    if ((kind === "sum" || kind === "histogram") && metric.temporality !== 2) {
      this.#delta += points.length;
      this.#problem ??= `"${metric.name.slice(0, 100)}" is not cumulative: set its temporality to cumulative`;
      return;
    }
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

  #point(name: string, { kind }: OtlpMetric, point: OtlpPoint): void {
    const labels = this.#labels(point.attributes);
    if (kind === "gauge" || kind === "sum") {
      if (point.value === undefined && !point.noRecordedValue)
        throw new OtlpError(`a point of "${name}" has no value`);
      return this.#put(name, labels, undefined, point, point.value);
    }
    const put = (suffix: string, value: number | undefined, extra?: Label): void => {
      if (value !== undefined || point.noRecordedValue)
        this.#put(name + suffix, labels, extra, point, value);
    };
    // A sum that was left out stays left out, also where the series ends.
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
      put("_bucket", below, ["le", plainDecimal(point.bounds[i] as number)]);
    }
    put("_bucket", point.count, ["le", "+Inf"]);
  }

  #put(
    name: string,
    labels: EncodedLabels,
    extra: Label | undefined,
    { timeMs, noRecordedValue }: OtlpPoint,
    value: number | undefined,
  ): void {
    const series = this.#series(name, labels, extra);
    if (noRecordedValue) this.#builder.addStale(series, timeMs);
    else this.#builder.add(series, timeMs, value ?? Number.NaN);
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
    return this.#builder.rawSeries(block.bytes, 0, block.length);
  }

  /** Points of one place share their attributes: they are made into labels once. */
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
