/**
 * OTLP's ExportMetricsServiceRequest from protobuf.
 *
 *   Request { ResourceMetrics = 1 }        ResourceMetrics { Resource resource = 1; ScopeMetrics = 2 }
 *   Resource { KeyValue attributes = 1 }   ScopeMetrics { Metric metrics = 2 }
 *   Metric { name = 1; description = 2; unit = 3; gauge = 5; sum = 7; histogram = 9; exponential = 10; summary = 11 }
 *   each of these five { points = 1; aggregation_temporality = 2; is_monotonic = 3 }
 */
import { ProtoReader } from "../../protobuf/reader.ts";
import { BatchTooLargeError, maxBatchSeries } from "../../samples/labels.ts";
import { OtlpCache } from "./cache.ts";
import { readAttribute } from "./attributes.ts";
import {
  type Attributes,
  maxAttributes,
  OtlpError,
  type OtlpKind,
  type OtlpMetric,
  type OtlpPoint,
  type OtlpResource,
  sortAttributes,
} from "./model.ts";
import { PointReader } from "./points.ts";

const kinds = new Map<number, OtlpKind>([
  [5, "gauge"],
  [7, "sum"],
  [9, "histogram"],
  [10, "exponential"],
  [11, "summary"],
]);

/** @throws ProtoError, OtlpError or BatchTooLargeError if the bytes are not such a request, or exceed a limit. */
export function decodeOtlp(bytes: Uint8Array, cache = new OtlpCache()): OtlpResource[] {
  const reader = new ProtoReader(bytes, 0, bytes.length);
  const points = new PointReader(bytes, cache);
  const resources: OtlpResource[] = [];
  let metricCount = 0;
  while (reader.next()) {
    if (reader.field !== 1 || reader.wireType !== 2) reader.skip();
    else {
      const resource = readResource(reader.message(), points);
      metricCount += 1 + resource.metrics.length;
      if (metricCount > maxBatchSeries) throw new BatchTooLargeError();
      resources.push(resource);
    }
  }
  return resources;
}

function readResource(reader: ProtoReader, points: PointReader): OtlpResource {
  let attributes: Attributes = [];
  const metrics: OtlpMetric[] = [];
  while (reader.next()) {
    if (reader.wireType !== 2) reader.skip();
    else if (reader.field === 1) attributes = readAttributes(reader.message());
    else if (reader.field === 2) readScope(reader.message(), points, metrics);
    else reader.skip();
  }
  return { attributes, metrics };
}

function readAttributes(reader: ProtoReader): Attributes {
  const found: (readonly [string, string])[] = [];
  while (reader.next()) {
    if (reader.field !== 1 || reader.wireType !== 2) reader.skip();
    else if (found.push(readAttribute(reader.message())) > maxAttributes)
      throw new OtlpError(`a resource has more than ${maxAttributes} attributes`);
  }
  return sortAttributes(found);
}

function readScope(reader: ProtoReader, points: PointReader, into: OtlpMetric[]): void {
  while (reader.next()) {
    if (reader.field !== 2 || reader.wireType !== 2) reader.skip();
    else if (into.push(readMetric(reader.message(), points)) > maxBatchSeries)
      throw new BatchTooLargeError();
  }
}

function readMetric(reader: ProtoReader, points: PointReader): OtlpMetric {
  const texts = ["", "", "", ""];
  let kind: OtlpKind = "none";
  let data: Data = { temporality: 0, monotonic: false, points: [] };
  while (reader.next()) {
    const { field } = reader;
    const dataKind = kinds.get(field);
    if (reader.wireType !== 2) reader.skip();
    else if (field <= 3) texts[field] = reader.text();
    else if (dataKind !== undefined) {
      kind = dataKind;
      data = readData(reader.message(), dataKind, points);
    } else reader.skip();
  }
  const [, name = "", description = "", unit = ""] = texts;
  return { name, description, unit, kind, ...data };
}

interface Data {
  temporality: number;
  monotonic: boolean;
  points: OtlpPoint[];
}

function readData(reader: ProtoReader, kind: OtlpKind, points: PointReader): Data {
  const data: Data = { temporality: 0, monotonic: false, points: [] };
  while (reader.next()) {
    const { field, wireType } = reader;
    if (field === 1 && wireType === 2) data.points.push(points.read(reader.message(), kind));
    else if (field === 2 && wireType === 0) data.temporality = reader.int64();
    else if (field === 3 && wireType === 0) data.monotonic = reader.int64() !== 0;
    else reader.skip();
  }
  return data;
}
