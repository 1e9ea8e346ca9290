/** Encodes an export as OTLP's JSON: 64-bit numbers as strings, and numbers that JSON does not have as their names. */
import type { LabelSet } from "../../../model/labels.ts";
import type {
  ExportBuckets,
  ExportExponential,
  ExportMetric,
  ExportPoint,
  ExportResource,
} from "./model.ts";
import { noRecordedValue } from "./protobuf.ts";
import { ProtoError, ProtoReader } from "../../protobuf/reader.ts";

export function encodeOtlpJson(resources: readonly ExportResource[], version: string): string {
  return JSON.stringify({
    resourceMetrics: resources.map(({ attributes, metrics }) => ({
      resource: { attributes: keyValues(attributes) },
      scopeMetrics: [{ scope: { name: "gpulse", version }, metrics: metrics.map(metricOf) }],
    })),
  });
}

function metricOf({ name, help, unit, kind, falls, points }: ExportMetric): object {
  const aggregationTemporality = 2;
  const dataPoints = points.map((point) =>
    point.exponential !== undefined
      ? exponentialPoint(point, point.exponential)
      : kind === "histogram"
        ? histogramPoint(point)
        : numberPoint(point),
  );
  return {
    name,
    ...(help !== "" && { description: help }),
    ...(unit !== "" && { unit }),
    ...(kind === "gauge" && { gauge: { dataPoints } }),
    ...(kind === "sum" && {
      sum: { dataPoints, aggregationTemporality, isMonotonic: falls !== true },
    }),
    ...(kind === "histogram" && { histogram: { dataPoints, aggregationTemporality } }),
    ...(kind === "exponential" && {
      exponentialHistogram: { dataPoints, aggregationTemporality },
    }),
  };
}

const common = ({ attributes, timeMs }: ExportPoint) => ({
  attributes: keyValues(attributes),
  timeUnixNano: String(BigInt(Math.round(timeMs)) * 1_000_000n),
});

const numberPoint = (point: ExportPoint): object => ({
  ...common(point),
  ...(point.value === undefined ? { flags: noRecordedValue } : { asDouble: number(point.value) }),
});

const histogramPoint = (point: ExportPoint): object => ({
  ...common(point),
  ...(point.histogram === undefined
    ? { flags: noRecordedValue }
    : {
        count: String(point.histogram.count),
        ...(point.histogram.sum !== undefined && { sum: number(point.histogram.sum) }),
        bucketCounts: point.histogram.counts.map(String),
        explicitBounds: point.histogram.bounds,
      }),
});

const exponentialPoint = (point: ExportPoint, native: ExportExponential): object => ({
  ...common(point),
  count: String(native.count),
  sum: number(native.sum),
  scale: native.scale,
  zeroCount: String(native.zeroCount),
  zeroThreshold: native.zeroThreshold,
  positive: bucketsOf(native.positive),
  negative: bucketsOf(native.negative),
});

const bucketsOf = ({ offset, counts }: ExportBuckets): object => ({
  offset,
  bucketCounts: counts.map(String),
});

const number = (value: number): number | string => (Number.isFinite(value) ? value : String(value));

const keyValues = (labels: LabelSet): object[] =>
  labels.map(([key, stringValue]) => ({ key, value: { stringValue } }));

/*
 * The samples that an OTLP receiver rejected although the request succeeded. An unreadable response counts as none rejected.
 *
 *   ExportMetricsServiceResponse { PartialSuccess { int64 rejected_data_points = 1; string error_message = 2; } = 1; }
 */

interface PartialSuccess {
  readonly rejected: number;
  readonly message: string;
}

const nothing: PartialSuccess = { rejected: 0, message: "" };

export function readPartialSuccess(body: Buffer, isJson: boolean): PartialSuccess {
  if (body.length === 0) return nothing;
  try {
    return isJson ? readJson(body) : readProtobuf(body);
  } catch (thrown) {
    if (thrown instanceof ProtoError || thrown instanceof SyntaxError) return nothing;
    throw thrown;
  }
}

function readJson(body: Buffer): PartialSuccess {
  // The body may be any JSON, including null.
  const answer = JSON.parse(body.toString("utf8")) as {
    partialSuccess?: { rejectedDataPoints?: unknown; errorMessage?: unknown };
  } | null;
  const { rejectedDataPoints, errorMessage } = answer?.partialSuccess ?? {};
  const rejected = Number(rejectedDataPoints ?? 0);
  return {
    rejected: Number.isFinite(rejected) ? rejected : 0,
    message: typeof errorMessage === "string" ? errorMessage : "",
  };
}

function readProtobuf(body: Buffer): PartialSuccess {
  const reader = new ProtoReader(body, 0, body.length);
  let [rejected, message] = [0, ""];
  while (reader.next()) {
    if (reader.field !== 1 || reader.wireType !== 2) {
      reader.skip();
      continue;
    }
    const partial = reader.message();
    while (partial.next()) {
      if (partial.field === 1 && partial.wireType === 0) rejected = partial.int64();
      else if (partial.field === 2 && partial.wireType === 2) message = partial.text();
      else partial.skip();
    }
  }
  return { rejected, message };
}
