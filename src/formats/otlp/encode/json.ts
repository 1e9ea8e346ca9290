/** An export as OTLP's JSON: 64-bit numbers as text, and the numbers JSON has not as their names. */
import type { LabelSet } from "../../../model/labels.ts";
import type { ExportMetric, ExportPoint, ExportResource } from "./model.ts";
import { noRecordedValue } from "./protobuf.ts";

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
  const dataPoints = points.map(kind === "histogram" ? histogramPoint : numberPoint);
  return {
    name,
    ...(help !== "" && { description: help }),
    ...(unit !== "" && { unit }),
    ...(kind === "gauge" && { gauge: { dataPoints } }),
    ...(kind === "sum" && {
      sum: { dataPoints, aggregationTemporality, isMonotonic: falls !== true },
    }),
    ...(kind === "histogram" && { histogram: { dataPoints, aggregationTemporality } }),
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

const number = (value: number): number | string => (Number.isFinite(value) ? value : String(value));

const keyValues = (labels: LabelSet): object[] =>
  labels.map(([key, stringValue]) => ({ key, value: { stringValue } }));
