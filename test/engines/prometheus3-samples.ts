// Converts samples in the notation of Prometheus's unit tests to the same remote-write requests for both engines.

import type { InputPoint } from "../../src/alerting/unit-tests/points.ts";
import { ProtoWriter } from "../../src/formats/protobuf/writer.ts";
import { compressSnappy } from "../../src/formats/snappy/compress.ts";
import {
  type Buckets,
  type Histogram,
  isCustom,
  type ResetHint,
} from "../../src/model/histogram/histogram.ts";
import {
  putDouble,
  putHistogram,
  putMessage,
  putText,
  putVarint,
  remoteWriteFields,
} from "../fixtures/formats/native-histogram-proto.ts";
import { readSeries, type SeriesLine } from "../promql/script.ts";

export const gapMs = 15_000;

export function readSamples(lines: string): readonly SeriesLine[] {
  return lines
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "" && !line.startsWith("#"))
    .map(readSeries);
}

const hints: Readonly<Record<ResetHint, number>> = {
  unknown: 0,
  reset: 1,
  "no-reset": 2,
  gauge: 3,
};
/** The staleness marker. */
const staleWords = [2, 0x7ff00000] as const;
const valueTag = (1 << 3) | 1;

/** Compressed remote-write 1.0 requests, one per timestamp like from a scraper, the first at `startMs`. */
export function* writeRequests(
  series: readonly SeriesLine[],
  startMs: number,
): Generator<Buffer, void> {
  const length = Math.max(...series.map(({ points }) => points.length));
  for (let index = 0; index < length; index++) yield writeRequest(series, index, startMs);
}

function writeRequest(series: readonly SeriesLine[], index: number, startMs: number): Buffer {
  const timeMs = startMs + index * gapMs;
  const writer = new ProtoWriter();
  for (const { labels, points } of series) {
    const point = points[index];
    if (point === undefined) continue;
    putMessage(writer, 1, () => {
      for (const [name, value] of labels)
        putMessage(writer, 1, () => {
          putText(writer, 1, name);
          putText(writer, 2, value);
        });
      putPoint(writer, point, timeMs);
    });
  }
  return compressSnappy(writer.finish());
}

function putPoint(
  writer: ProtoWriter,
  { histogram, stale, value }: InputPoint,
  timeMs: number,
): void {
  if (histogram === undefined)
    return putMessage(writer, 2, () => {
      if (stale) writer.fixed64(valueTag, ...staleWords);
      else putDouble(writer, 1, value);
      putVarint(writer, 2, timeMs);
    });
  putMessage(writer, 4, () => {
    putHistogram(writer, remoteWriteFields, histogram);
    putVarint(writer, 14, hints[histogram.resetHint]);
    putVarint(writer, 15, timeMs);
    for (const bound of histogram.bounds) putDouble(writer, 16, bound);
  });
}

/** Returns the start time of a sample, 0 for unknown. */
export type StartTimes = (series: number, index: number) => number;

/**
 * The same samples in OTLP, for which Prometheus stores start times: floats as sums, exponential histograms. Histograms
 * with custom buckets, and gaps, are left out.
 */
export function* otlpRequests(
  series: readonly SeriesLine[],
  startMs: number,
  starts: StartTimes,
): Generator<string, void> {
  const length = Math.max(...series.map(({ points }) => points.length));
  for (let index = 0; index < length; index++) {
    const metrics = series.flatMap(({ labels, points }, number): object[] => {
      const point = points[index];
      const name = labels.find(([label]) => label === "__name__")?.[1];
      if (point === undefined || isCustom(point.histogram ?? { schema: 0 })) return [];
      const dataPoint = {
        attributes: labels.flatMap(([key, value]) =>
          key === "__name__" ? [] : [{ key, value: { stringValue: value } }],
        ),
        startTimeUnixNano: `${starts(number, index)}000000`,
        timeUnixNano: `${startMs + index * gapMs}000000`,
        ...(point.stale && { flags: 1 }),
      };
      const kind = { aggregationTemporality: 2, isMonotonic: true };
      return point.histogram === undefined
        ? [
            {
              name,
              sum: {
                ...kind,
                dataPoints: [{ ...dataPoint, asDouble: point.stale ? 0 : point.value }],
              },
            },
          ]
        : [
            {
              name,
              exponentialHistogram: {
                ...kind,
                dataPoints: [{ ...dataPoint, ...exponential(point.histogram) }],
              },
            },
          ];
    });
    yield JSON.stringify({ resourceMetrics: [{ scopeMetrics: [{ metrics }] }] });
  }
}

function exponential({ schema, positive, negative, ...rest }: Histogram): object {
  const side = ({ indexes, counts }: Buckets): object => {
    const [first = 1, last = 0] = [indexes.at(0), indexes.at(-1)];
    const bucketCounts = Array.from({ length: last - first + 1 }, () => "0");
    indexes.forEach((at, place) => (bucketCounts[at - first] = String(counts[place])));
    // OTLP numbers buckets by their lower bound.
    return { offset: first - 1, bucketCounts };
  };
  return {
    scale: schema,
    count: String(rest.count),
    sum: rest.sum,
    zeroCount: String(rest.zeroCount),
    // The value that Prometheus assumes for all of them.
    zeroThreshold: 1e-128,
    positive: side(positive),
    negative: side(negative),
  };
}

export async function sendOtlp(url: string, body: string): Promise<void> {
  const headers = { "content-type": "application/json" };
  const response = await fetch(`${url}/api/v1/otlp/v1/metrics`, { method: "POST", headers, body });
  const answer = await response.text();
  if (!response.ok) throw new Error(`${url} refused: ${response.status} ${answer}`);
}

/** Sends a request like an agent. */
export async function sendRequest(url: string, body: Buffer): Promise<void> {
  const response = await fetch(`${url}/api/v1/write`, {
    method: "POST",
    headers: {
      "content-type": "application/x-protobuf",
      "content-encoding": "snappy",
      "x-prometheus-remote-write-version": "0.1.0",
    },
    body: new Uint8Array(body),
  });
  if (!response.ok) throw new Error(`${url} refused: ${response.status} ${await response.text()}`);
}
