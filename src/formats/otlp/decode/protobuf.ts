/**
 * OTLP's ExportMetricsServiceRequest from protobuf.
 *
 *   Request { ResourceMetrics = 1 }        ResourceMetrics { Resource resource = 1; ScopeMetrics = 2 }
 *   Resource { KeyValue attributes = 1 }   ScopeMetrics { Metric metrics = 2 }
 *   Metric { name = 1; description = 2; unit = 3; gauge = 5; sum = 7; histogram = 9; exponential = 10; summary = 11 }
 *   each of these five { points = 1; aggregation_temporality = 2; is_monotonic = 3 }
 */
import { ProtoReader } from "../../protobuf/reader.ts";
import { readAttribute } from "./attributes.ts";
import type { Attributes, OtlpKind, OtlpMetric, OtlpPoint, OtlpResource } from "./model.ts";
import { inOrder } from "./model.ts";
import { PointReader } from "./points.ts";

const kinds = new Map<number, OtlpKind>([
  [5, "gauge"],
  [7, "sum"],
  [9, "histogram"],
  [10, "exponential"],
  [11, "summary"],
]);

/** @throws ProtoError or OtlpError where the bytes are no such request. */
export function decodeOtlp(bytes: Uint8Array): OtlpResource[] {
  const reader = new ProtoReader(bytes, 0, bytes.length);
  const points = new PointReader(bytes);
  return messages(reader, 1).map((resource) => readResource(resource, points));
}

/** The messages of one repeated field; every other field is passed over. */
function messages(reader: ProtoReader, field: number): ProtoReader[] {
  const found: ProtoReader[] = [];
  while (reader.next()) {
    if (reader.field === field && reader.wireType === 2) found.push(reader.message());
    else reader.skip();
  }
  return found;
}

function readResource(reader: ProtoReader, points: PointReader): OtlpResource {
  let attributes: Attributes = [];
  const metrics: OtlpMetric[] = [];
  while (reader.next()) {
    if (reader.wireType !== 2) reader.skip();
    else if (reader.field === 1)
      attributes = inOrder(messages(reader.message(), 1).map((each) => readAttribute(each)));
    else if (reader.field === 2)
      for (const metric of messages(reader.message(), 2)) metrics.push(readMetric(metric, points));
    else reader.skip();
  }
  return { attributes, metrics };
}

function readMetric(reader: ProtoReader, points: PointReader): OtlpMetric {
  const texts = ["", "", "", ""];
  let kind: OtlpKind = "none";
  let data: Data = { temporality: 0, monotonic: false, points: [] };
  while (reader.next()) {
    const { field } = reader;
    const told = kinds.get(field);
    if (reader.wireType !== 2) reader.skip();
    else if (field <= 3) texts[field] = reader.text();
    else if (told !== undefined) {
      kind = told;
      data = readData(reader.message(), told, points);
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
