// A target that serves the protobuf exposition with changing native histograms: growing, with negative buckets, reset
// half-way, as gauges, as classic buckets, with exemplars. Its samples carry timestamps, so that all scrapers store the
// same ones.

import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

import { ProtoWriter } from "../../src/formats/protobuf/writer.ts";
import type { Buckets, Histogram } from "../../src/model/histogram/histogram.ts";
import {
  expositionFields,
  putDouble,
  putHistogram,
  putMessage,
  putText,
  putVarint,
} from "../fixtures/formats/native-histogram-proto.ts";

const contentType =
  "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited";
const [counter, gauge, histogramType, gaugeHistogram] = [0, 1, 4, 5];

export interface NativeEndpoint {
  /** `host:port`. */
  readonly address: string;
  stop(): Promise<void>;
}

/** The page changes every `everyMs`; each scraper must scrape at least as often. */
export async function startNativeEndpoint(
  everyMs: number,
  resetAfter: number,
): Promise<NativeEndpoint> {
  const beganMs = Math.floor(Date.now() / everyMs) * everyMs;
  const server = createServer((_request, response) => {
    const state = Math.floor((Date.now() - beganMs) / everyMs);
    response.setHeader("content-type", contentType);
    response.end(pageOf(state, beganMs + state * everyMs, resetAfter));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

type Labels = Readonly<Record<string, string>>;

function pageOf(state: number, timeMs: number, resetAfter: number): Buffer {
  const page = new ProtoWriter();
  const family = (
    name: string,
    type: number,
    metrics: readonly (readonly [labels: Labels, write: (writer: ProtoWriter) => void])[],
  ): void => {
    const writer = new ProtoWriter();
    putText(writer, 1, name);
    putVarint(writer, 3, type);
    for (const [labels, write] of metrics)
      putMessage(writer, 4, () => {
        for (const [label, value] of Object.entries(labels))
          putMessage(writer, 1, () => {
            putText(writer, 1, label);
            putText(writer, 2, value);
          });
        write(writer);
        putVarint(writer, 6, timeMs);
      });
    const bytes = writer.finish();
    page.varint(bytes.length);
    page.raw(bytes);
  };
  const since = state % resetAfter;
  family("request_latency_seconds", histogramType, [
    [{ gpu: "0" }, native(steady(state + 1, 3, 0), timeMs, `trace${state}`)],
    [{ gpu: "1" }, native(steady(since + 1, 2, 4), timeMs)],
    [{ gpu: "2" }, native(drifting(state), timeMs)],
  ]);
  family("margin_celsius", histogramType, [[{ gpu: "0" }, native(signed(state), timeMs)]]);
  family("queue_depth", gaugeHistogram, [
    [{ gpu: "0" }, native(steady((state % 5) + 1, 1, 0), timeMs)],
  ]);
  family("batch_bytes", histogramType, [
    [{ gpu: "0" }, classic([1, 5, 25], [state * 2, state * 3, state * 5, state * 6], state * 31)],
    [{ gpu: "1" }, classic([1, 5, 25], [since, since * 2, since * 2, since * 3], since * 17)],
  ]);
  family("tokens_total", counter, [
    [{ gpu: "0" }, (writer) => putMessage(writer, 3, () => putDouble(writer, 1, state * 7))],
  ]);
  family("power_watts", gauge, [
    [
      { gpu: "0" },
      (writer) => putMessage(writer, 2, () => putDouble(writer, 1, 300 + (state % 9))),
    ],
  ]);
  return page.finish();
}

const buckets = (first: number, counts: readonly number[]): Buckets => ({
  indexes: Int32Array.from(counts, (_, at) => first + at),
  counts: Float64Array.from(counts),
});

function made(schema: number, positive: Buckets, rest: Partial<Histogram> = {}): Histogram {
  const total = ({ counts }: Buckets): number => counts.reduce((sum, count) => sum + count, 0);
  const negative = rest.negative ?? buckets(0, []);
  const zeroCount = rest.zeroCount ?? 0;
  const count = total(positive) + total(negative) + zeroCount;
  return {
    resetHint: "unknown",
    schema,
    zeroThreshold: 1e-3,
    zeroCount,
    count,
    sum: count * 1.75,
    positive,
    negative,
    bounds: new Float64Array(0),
    ...rest,
  };
}

const steady = (times: number, schema: number, offset: number): Histogram =>
  made(schema, buckets(offset, [3 * times, 7 * times, 0, 2 * times, times]), { zeroCount: times });

/** Adds new buckets over time, at both ends. */
const drifting = (state: number): Histogram =>
  made(4, {
    indexes: Int32Array.from({ length: state + 2 }, (_, at) => at * 3 - state),
    counts: Float64Array.from(
      { length: state + 2 },
      (_, at) => 5 + state - Math.abs(at - state / 2),
    ).map(Math.ceil),
  });

const signed = (state: number): Histogram =>
  made(0, buckets(-1, [state, 2 * state]), {
    negative: buckets(1, [state, 0, state]),
    zeroCount: state,
    sum: -3 * state,
  });

const native =
  (histogram: Histogram, timeMs: number, trace?: string) =>
  (writer: ProtoWriter): void =>
    putMessage(writer, 7, () => {
      putHistogram(writer, expositionFields, histogram);
      if (trace === undefined) return;
      putMessage(writer, 16, () => {
        putMessage(writer, 1, () => {
          putText(writer, 1, "trace_id");
          putText(writer, 2, trace);
        });
        putDouble(writer, 2, 1.5);
        putMessage(writer, 3, () => putVarint(writer, 1, Math.floor(timeMs / 1_000)));
      });
    });

/** Cumulative counts for each bound and +Inf. */
const classic =
  (bounds: readonly number[], counts: readonly number[], sum: number) =>
  (writer: ProtoWriter): void =>
    putMessage(writer, 7, () => {
      putVarint(writer, 1, counts.at(-1) ?? 0);
      putDouble(writer, 2, sum);
      for (const [at, bound] of [...bounds, Infinity].entries())
        putMessage(writer, 3, () => {
          putVarint(writer, 1, counts[at] ?? 0);
          putDouble(writer, 2, bound);
        });
    });
