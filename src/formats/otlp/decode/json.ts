/**
 * Decodes OTLP's ExportMetricsServiceRequest from JSON: names in camelCase, 64-bit numbers as strings or numbers, enumerations as
 * numbers or names, and non-finite doubles as "NaN", "Infinity" and "-Infinity".
 */
import { BatchTooLargeError, maxBatchSeries } from "../../samples/labels.ts";
import type { Exemplar } from "../../../model/exemplar.ts";
import { textOf } from "./attributes.ts";
import { exemplarLabels } from "./exemplar.ts";
import {
  type Attributes,
  type ExponentialBuckets,
  type ExponentialPoint,
  maxDepth,
  OtlpError,
  type OtlpKind,
  type OtlpMetric,
  type OtlpPoint,
  type OtlpResource,
  sortAttributes,
} from "./model.ts";

type Json = Readonly<Record<string, unknown>>;

const kinds: readonly (readonly [key: string, kind: OtlpKind])[] = [
  ["gauge", "gauge"],
  ["sum", "sum"],
  ["histogram", "histogram"],
  ["exponentialHistogram", "exponential"],
  ["summary", "summary"],
];
const temporalities = new Map<unknown, number>([
  [1, 1],
  [2, 2],
  ["AGGREGATION_TEMPORALITY_DELTA", 1],
  ["AGGREGATION_TEMPORALITY_CUMULATIVE", 2],
]);

/** @throws SyntaxError or OtlpError if the text is not such a request. */
export function decodeOtlpJson(body: string): OtlpResource[] {
  const request: unknown = JSON.parse(body);
  return objects(object(request, "the request"), "resourceMetrics").map((resource) => ({
    attributes: attributesOf(object(resource["resource"] ?? {}, "resource")),
    metrics: objects(resource, "scopeMetrics").flatMap((scope) =>
      objects(scope, "metrics").map(readMetric),
    ),
  }));
}

function readMetric(metric: Json): OtlpMetric {
  const [key = "", kind = "none"] = kinds.find(([name]) => isGiven(metric[name])) ?? [];
  const data = object(metric[key] ?? {}, key);
  return {
    name: text(metric, "name"),
    description: text(metric, "description"),
    unit: text(metric, "unit"),
    kind,
    temporality: temporalities.get(data["aggregationTemporality"]) ?? 0,
    monotonic: data["isMonotonic"] === true,
    points: objects(data, "dataPoints").map((point) => readPoint(point, kind)),
  };
}

function readPoint(point: Json, kind: OtlpKind): OtlpPoint {
  const value = point["asDouble"] ?? point["asInt"];
  return {
    attributes: attributesOf(point),
    timeMs: timeOf(point["timeUnixNano"]),
    noRecordedValue: numberOf(point["flags"] ?? 0, "flags") % 2 === 1,
    startMs: timeOf(point["startTimeUnixNano"]),
    exemplars: objects(point, "exemplars").map(readExemplar),
    value: isGiven(value) ? numberOf(value, "a value") : undefined,
    count: numberOf(point["count"] ?? 0, "count"),
    sum: isGiven(point["sum"]) ? numberOf(point["sum"], "sum") : undefined,
    bucketCounts: list(point, "bucketCounts").map((each) => numberOf(each, "bucketCounts")),
    bounds: list(point, "explicitBounds").map((each) => numberOf(each, "explicitBounds")),
    quantiles: objects(point, "quantileValues").map(
      ({ quantile, value: at }) =>
        [numberOf(quantile ?? 0, "quantile"), numberOf(at ?? 0, "value")] as const,
    ),
    exponential: kind === "exponential" ? readExponential(point) : undefined,
  };
}

function readExponential(point: Json): ExponentialPoint {
  return {
    scale: numberOf(point["scale"] ?? 0, "scale"),
    zeroCount: numberOf(point["zeroCount"] ?? 0, "zeroCount"),
    zeroThreshold: numberOf(point["zeroThreshold"] ?? 0, "zeroThreshold"),
    positive: bucketsOf(point["positive"] ?? {}, "positive"),
    negative: bucketsOf(point["negative"] ?? {}, "negative"),
  };
}

function bucketsOf(value: unknown, name: string): ExponentialBuckets {
  const buckets = object(value, name);
  return {
    offset: numberOf(buckets["offset"] ?? 0, "offset"),
    counts: list(buckets, "bucketCounts").map((each) => numberOf(each, "bucketCounts")),
  };
}

function readExemplar(exemplar: Json): Exemplar {
  const value = exemplar["asDouble"] ?? exemplar["asInt"] ?? 0;
  return {
    labels: exemplarLabels(
      idOf(exemplar, "traceId"),
      idOf(exemplar, "spanId"),
      attributesOf(exemplar, "filteredAttributes"),
    ),
    value: numberOf(value, "an exemplar's value"),
    timeMs: timeOf(exemplar["timeUnixNano"]),
  };
}

/** In hexadecimal, unlike other bytes in JSON. */
const idOf = (owner: Json, key: string): string => text(owner, key).toLowerCase();

function attributesOf(owner: Json, key = "attributes"): Attributes {
  return sortAttributes(
    objects(owner, key).map(
      (attribute) => [text(attribute, "key"), textOf(plain(attribute["value"], 0))] as const,
    ),
  );
}

/** An AnyValue: an object with one key, which is its type. */
function plain(value: unknown, depth: number): Parameters<typeof textOf>[0] {
  if (depth > maxDepth) throw new OtlpError("an attribute is nested too deep");
  if (!isGiven(value)) return null;
  const any = object(value, "an attribute's value");
  if (typeof any["stringValue"] === "string") return any["stringValue"];
  if (typeof any["bytesValue"] === "string") return any["bytesValue"];
  if (typeof any["boolValue"] === "boolean") return any["boolValue"];
  if (isGiven(any["intValue"])) return numberOf(any["intValue"], "intValue");
  if (isGiven(any["doubleValue"])) return numberOf(any["doubleValue"], "doubleValue");
  if (isGiven(any["arrayValue"]))
    return list(object(any["arrayValue"], "arrayValue"), "values").map((each) =>
      plain(each, depth + 1),
    );
  if (isGiven(any["kvlistValue"]))
    return Object.fromEntries(
      objects(object(any["kvlistValue"], "kvlistValue"), "values").map((entry) => [
        text(entry, "key"),
        plain(entry["value"], depth + 1),
      ]),
    );
  return null;
}

/** Missing values are null in JSON, or left out. */
const isGiven = (value: unknown): boolean => value !== undefined && value !== null;

const specials = new Map([
  ["NaN", Number.NaN],
  ["Infinity", Infinity],
  ["-Infinity", -Infinity],
]);

function numberOf(value: unknown, name: string): number {
  if (typeof value === "number") return value;
  if (typeof value === "string") {
    const special = specials.get(value);
    if (special !== undefined) return special;
    if (/^-?\d+(\.\d+)?([eE][-+]?\d+)?$/.test(value)) return Number(value);
  }
  throw new OtlpError(`${name} is not a number`);
}

/** Nanoseconds to milliseconds: the last six digits of a string are cut off before the conversion. */
function timeOf(value: unknown): number {
  if (typeof value === "number" && Number.isFinite(value))
    return Number(BigInt(Math.trunc(value)) / 1_000_000n);
  if (value === undefined || value === "") return 0;
  if (typeof value === "string" && /^\d{1,20}$/.test(value)) return Number(value.slice(0, -6));
  throw new OtlpError("timeUnixNano is not a timestamp");
}

function text(owner: Json, key: string): string {
  const value = owner[key] ?? "";
  if (typeof value === "string") return value;
  throw new OtlpError(`${key} is not a string`);
}

function object(value: unknown, name: string): Json {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Json;
  throw new OtlpError(`${name} is not an object`);
}

function list(owner: Json, key: string): readonly unknown[] {
  const value = owner[key] ?? [];
  if (Array.isArray(value) && value.length > maxBatchSeries)
    throw new BatchTooLargeError(`${maxBatchSeries} entries in ${key}`);
  if (Array.isArray(value)) return value;
  throw new OtlpError(`${key} is not a list`);
}

const objects = (owner: Json, key: string): Json[] =>
  list(owner, key).map((each) => object(each, `an entry of ${key}`));
