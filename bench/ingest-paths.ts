/**
 * The samples of one fleet in the format of each receiver: the same series, values and instants, about 2,000 samples per request,
 * encoded before the measurement.
 */
import { type LabelSet, labelValue } from "../src/model/labels.ts";
import type { SampleBatch } from "../src/formats/samples/batch.ts";
import { BatchBuilder } from "../src/formats/samples/builder.ts";
import { exportOf } from "../src/formats/otlp/encode/model.ts";
import { encodeOtlp } from "../src/formats/otlp/encode/protobuf.ts";
import { encodeWriteRequestV2 } from "../src/formats/remote-write/encode-v2.ts";
import { encodeWriteRequest } from "../src/formats/remote-write/encode.ts";
import { compressSnappy } from "../src/formats/snappy/compress.ts";
import { fleetSeries, Instants, seriesPerGpu } from "./hub-data.ts";

export const senders = 4;
const gpusPerSender = 50;
export const gpus = senders * gpusPerSender;

export interface IngestPath {
  readonly name: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Requests per sender, in time order. */
  readonly senders: readonly (readonly Buffer[])[];
  readonly samples: number;
}

export interface IngestFleet {
  readonly series: readonly LabelSet[];
  readonly timesMs: readonly number[];
  /** Values per instant, in the order of the series. */
  readonly rows: readonly Float64Array[];
}

export function makeFleet(steps: number, endMs: number): IngestFleet {
  const instants = new Instants(gpus);
  const rows = Array.from({ length: steps }, () => {
    instants.next();
    return instants.row.slice();
  });
  return {
    series: fleetSeries(gpus),
    timesMs: rows.map((_, step) => endMs - (steps - step) * 1_000),
    rows,
  };
}

const protobuf = { "content-type": "application/x-protobuf" };
const snappy = { ...protobuf, "content-encoding": "snappy" };
const v2 = "application/x-protobuf;proto=io.prometheus.write.v2.Request";

export function remoteWritePath(fleet: IngestFleet): IngestPath {
  return way("remote-write 1.0", "/api/v1/write", snappy, fleet, (batch) =>
    compressSnappy(encodeWriteRequest(batch)),
  );
}

export const ingestPaths: readonly ((fleet: IngestFleet) => IngestPath)[] = [
  remoteWritePath,
  (fleet) =>
    way("remote-write 2.0", "/api/v1/write", { ...snappy, "content-type": v2 }, fleet, (batch) =>
      compressSnappy(encodeWriteRequestV2(batch)),
    ),
  (fleet) =>
    way("OTLP", "/v1/metrics", protobuf, fleet, (batch) =>
      encodeOtlp(
        exportOf(batch, () => undefined),
        "bench",
      ),
    ),
  influxPath,
];

function way(
  name: string,
  path: string,
  headers: Readonly<Record<string, string>>,
  fleet: IngestFleet,
  encode: (batch: SampleBatch) => Buffer,
): IngestPath {
  const bySender = Array.from({ length: senders }, (_, sender) =>
    fleet.rows.map((_row, step) => encode(batchOf(fleet, sender, step))),
  );
  return {
    name,
    path,
    headers,
    senders: bySender,
    samples: fleet.series.length * fleet.rows.length,
  };
}

function batchOf(
  { series, timesMs, rows }: IngestFleet,
  sender: number,
  step: number,
): SampleBatch {
  const builder = new BatchBuilder();
  const perSender = gpusPerSender * seriesPerGpu;
  for (let i = sender * perSender; i < (sender + 1) * perSender; i++)
    builder.add(builder.series(series[i] ?? []), timesMs[step] ?? 0, rows[step]?.[i] ?? 0);
  return builder.finish();
}

/** One line per GPU with all its values as fields, as Telegraf writes it. */
export function influxPath({ series, timesMs, rows }: IngestFleet): IngestPath {
  const lines = Array.from({ length: gpus }, (_, gpu) => {
    const own = series.slice(gpu * seriesPerGpu, (gpu + 1) * seriesPerGpu);
    const tags = ["gpu", "host", "uuid"].map((name) => `${name}=${labelValue(own[0] ?? [], name)}`);
    const fields = own.map((labels) =>
      ["__name__", "le"]
        .map((name) => labelValue(labels, name) ?? "")
        .join("")
        .replace(/[^\w]/g, "_"),
    );
    return { head: `card,${tags.join(",")} `, fields };
  });
  const request = (sender: number, step: number): Buffer =>
    Buffer.from(
      lines
        .slice(sender * gpusPerSender, (sender + 1) * gpusPerSender)
        .map(({ head, fields }, at) => {
          const from = (sender * gpusPerSender + at) * seriesPerGpu;
          const values = fields.map((field, i) => `${field}=${rows[step]?.[from + i] ?? 0}`);
          return `${head}${values.join(",")} ${timesMs[step] ?? 0}000000\n`;
        })
        .join(""),
    );
  return {
    name: "Influx line",
    path: "/write?db=bench",
    headers: { "content-type": "text/plain; charset=utf-8" },
    senders: Array.from({ length: senders }, (_, sender) =>
      rows.map((_row, step) => request(sender, step)),
    ),
    samples: series.length * rows.length,
  };
}
