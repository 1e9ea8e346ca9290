// Network input from agents, exporters and programs: metrics in every format that the hub and the pipes accept.

import { parsePushResponse } from "../../../src/formats/frames/push-response.ts";
import { FramesError } from "../../../src/formats/frames/bytes.ts";
import {
  decodeDevices,
  encodeDevices,
  decodeLayout,
  encodeLayout,
  type LayoutDefinition,
} from "../../../src/formats/frames/layout.ts";
import { devices, hello, someLayout, wireFrame } from "../../fixtures/formats/frames.ts";
import { FrameEncoder } from "../../../src/formats/frames/frame.ts";
import { decodeHello, encodeHello } from "../../../src/formats/frames/hello.ts";
import { decodeMetric, encodeMetric } from "../../../src/formats/frames/metric.ts";
import { RequestWriter, readRequest, recordKind } from "../../../src/formats/frames/request.ts";
import { LineDecoder, TooManyBadLinesError } from "../../../src/formats/influx/decode.ts";
import { decodeOtlp } from "../../../src/formats/otlp/decode/protobuf.ts";
import { OtlpError } from "../../../src/formats/otlp/decode/model.ts";
import { decodeOtlpJson } from "../../../src/formats/otlp/decode/json.ts";
import { otlpProtobuf, textAttributes } from "../../fixtures/formats/otlp-decode.ts";
import { readPartialSuccess } from "../../../src/formats/otlp/encode/json.ts";
import { parsePage } from "../../../src/formats/exposition/parse.ts";
import { SeriesMemory } from "../../../src/formats/exposition/series-memory.ts";
import type { TextFormat } from "../../../src/formats/exposition/visit.ts";
import { ProtoError } from "../../../src/formats/protobuf/reader.ts";
import { decodePush } from "../../../src/formats/push/decode.ts";
import { encodeWriteRequest } from "../../../src/formats/remote-write/encode.ts";
import { encodeWriteRequestV2 } from "../../../src/formats/remote-write/encode-v2.ts";
import { decodeWriteRequest } from "../../../src/formats/remote-write/decode.ts";
import { decodeWriteRequestV2 } from "../../../src/formats/remote-write/decode-v2.ts";
import type { SampleBatch } from "../../../src/formats/samples/batch.ts";
import { BatchBuilder } from "../../../src/formats/samples/builder.ts";
import { BatchTooLargeError, readLabelBlock } from "../../../src/formats/samples/labels.ts";
import { readHistogram } from "../../../src/model/histogram/notation.ts";
import { parseProtobufPage } from "../../../src/formats/exposition/protobuf.ts";
import { exampleFamilies, protobufPage } from "../../fixtures/formats/exposition-proto.ts";
import { batchOf } from "../../fixtures/formats/samples-text.ts";
import { compressSnappy } from "../../../src/formats/snappy/compress.ts";
import { SnappyError, decompressSnappy } from "../../../src/formats/snappy/decompress.ts";
import { labelSet } from "../../../src/model/labels.ts";
import { BodyLimitError, ResponseReader } from "../../../src/net/http/response-reader.ts";
import { openMetricsPages, textPages } from "../../exposition/pages.ts";
import type { FuzzTarget } from "../contract.ts";

const nowMs = 1_790_000_000_000;

const batch = batchOf([
  [labelSet({ __name__: "gpu_power_watts", uuid: "GPU-a", host: "lab" }), nowMs, 93.5],
  [labelSet({ __name__: "gpu_power_watts", uuid: "GPU-b", host: "lab" }), nowMs, Number.NaN],
  [labelSet({ __name__: "up" }), nowMs + 1, 1],
]);

/** Labels are normally decoded only for new series; here immediately. */
function readBatch(given: SampleBatch): number {
  for (let series = 0; series < given.seriesCount; series++)
    readLabelBlock(
      given.bytes,
      given.labelStarts[series] as number,
      given.labelEnds[series] as number,
    );
  return given.seriesCount;
}

function readPage(bytes: Buffer, format: TextFormat): unknown {
  const memory = new SeriesMemory<number>();
  let opened = 0;
  const visitor = {
    open: () => opened++,
    sample: () => undefined,
    metadata: () => undefined,
  };
  return parsePage(bytes, format, memory, visitor as Parameters<typeof parsePage<number>>[3]);
}

const pagesOf = (pages: typeof textPages): (Uint8Array | string)[] =>
  pages.map(({ page }) => page).filter((page) => page.length < 2_000);

const layout = someLayout();
const layoutSent = encodeLayout(layout);
const devicesSent = encodeDevices(devices);

function request(): Buffer {
  const writer = new RequestWriter();
  writer.record(recordKind.hello, encodeHello(hello));
  for (const { metric } of layout.series) writer.record(recordKind.metric, encodeMetric(metric));
  writer.record(recordKind.layout, layoutSent.content);
  writer.record(recordKind.devices, devicesSent.content);
  const names = { layout: layoutSent.hash, devices: devicesSent.hash };
  const frames = new FrameEncoder();
  const { resolutions } = decodeLayout(layoutSent.content);
  for (const [sequence, values] of [
    [200, 0, 5, 200, 61, 7, 3, 0.5],
    [201.5, 1, 5, "failed", 62, 8, 4, "asleep"],
  ].entries())
    writer.record(
      recordKind.frame,
      frames.encode(wireFrame(names, sequence + 1, values as number[]), resolutions),
    );
  writer.record(recordKind.goodbye, Buffer.alloc(0));
  return writer.finish();
}

function readWhole(bytes: Buffer): unknown {
  const layouts = new Map<string, LayoutDefinition>();
  return readRequest(bytes, () => ({
    // Any received layout stands in for the one that a frame references, so that mutated hashes do not hide the frames.
    layout: (hash) => layouts.get(hash) ?? layouts.values().next().value,
    learnLayout: (given) => void layouts.set(String(layouts.size), given),
    learnDevices: () => undefined,
    learnMetric: () => undefined,
  }));
}

const otlp = {
  resourceMetrics: [
    {
      resource: { attributes: textAttributes({ "service.name": "cart", "host.name": "box" }) },
      scopeMetrics: [
        {
          scope: { name: "s", version: "1" },
          metrics: [
            {
              name: "a.gauge",
              unit: "W",
              gauge: {
                dataPoints: [
                  {
                    timeUnixNano: "1790000000000000000",
                    asDouble: 2.5,
                    attributes: textAttributes({ a: "b" }),
                  },
                  { timeUnixNano: "1790000000000000000", asInt: "7", flags: 1 },
                ],
              },
            },
            {
              name: "a.sum",
              sum: {
                isMonotonic: true,
                aggregationTemporality: 2,
                dataPoints: [
                  { startTimeUnixNano: "1", timeUnixNano: "1790000000000000000", asDouble: 3 },
                ],
              },
            },
            {
              name: "a.histogram",
              histogram: {
                aggregationTemporality: 2,
                dataPoints: [
                  {
                    timeUnixNano: "1790000000000000000",
                    count: "3",
                    sum: 4,
                    bucketCounts: ["1", "2"],
                    explicitBounds: [0.5],
                  },
                ],
              },
            },
            {
              name: "a.exponential",
              exponentialHistogram: {
                aggregationTemporality: 2,
                dataPoints: [
                  {
                    startTimeUnixNano: "1789999990000000000",
                    timeUnixNano: "1790000000000000000",
                    count: "6",
                    sum: 4,
                    scale: 3,
                    zeroCount: "1",
                    zeroThreshold: 0.5,
                    positive: { offset: -2, bucketCounts: ["1", "2"] },
                    negative: { offset: 4, bucketCounts: ["2"] },
                    exemplars: [
                      { timeUnixNano: "1790000000000000000", asDouble: 1, traceId: "YWJj" },
                    ],
                  },
                ],
              },
            },
            {
              name: "a.summary",
              summary: {
                dataPoints: [
                  {
                    timeUnixNano: "1790000000000000000",
                    count: "3",
                    sum: 4,
                    quantileValues: [{ quantile: 0.5, value: 1 }],
                  },
                ],
              },
            },
          ],
        },
      ],
    },
  ],
};

const lines = new LineDecoder();

function histogramBatch(): SampleBatch {
  const builder = new BatchBuilder();
  const series = builder.series(labelSet({ __name__: "h" }));
  for (const text of [
    "{{schema:1 count:12 sum:18.4 z_bucket:2 z_bucket_w:0.001 buckets:[1 3 1] n_offset:1 n_buckets:[2 3]}}",
    "{{count:2.5 sum:3 buckets:[2.5]}}",
    "{{schema:-53 count:3 sum:5 custom_values:[0.5 1] buckets:[1 0 2]}}",
  ])
    builder.addHistogram(series, nowMs, readHistogram(text));
  builder.addExemplar(series, { labels: labelSet({ trace_id: "a" }), value: 1, timeMs: nowMs });
  return builder.finish();
}
const histograms = histogramBatch();

export const targets: readonly FuzzTarget[] = [
  {
    name: "exposition-text",
    seeds: pagesOf(textPages),
    parse: (bytes) => readPage(bytes, "text"),
  },
  {
    name: "exposition-protobuf",
    seeds: [protobufPage(exampleFamilies)],
    refuses: [ProtoError, BatchTooLargeError],
    parse: (bytes) => {
      const visitor = { open: () => 0, sample: () => undefined };
      parseProtobufPage(bytes, new SeriesMemory<number>(), visitor, {
        hasNative: true,
        alwaysClassic: true,
      });
    },
  },
  {
    name: "exposition-openmetrics",
    seeds: pagesOf(openMetricsPages),
    parse: (bytes) => readPage(bytes, "openmetrics"),
  },
  {
    name: "remote-write-1",
    seeds: [encodeWriteRequest(batch), encodeWriteRequest(histograms)],
    refuses: [ProtoError],
    parse: (bytes) => readBatch(decodeWriteRequest(bytes)),
  },
  {
    name: "remote-write-2",
    seeds: [encodeWriteRequestV2(batch), encodeWriteRequestV2(histograms)],
    refuses: [ProtoError],
    parse: (bytes) => readBatch(decodeWriteRequestV2(bytes).batch),
  },
  {
    name: "snappy",
    seeds: [compressSnappy(Buffer.from("gpulse ".repeat(40))), compressSnappy(request())],
    refuses: [SnappyError],
    parse: (bytes) => decompressSnappy(bytes, 1 << 20),
  },
  {
    name: "http-response",
    seeds: [
      "HTTP/1.1 200 OK\r\nContent-Type: text/plain; version=0.0.4\r\nContent-Length: 8\r\n\r\nup 1\nx 2",
      "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4;a=b\r\nup 1\r\n0\r\nX-Sum: 1\r\n\r\n",
      "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.0 503 Busy\r\nConnection: keep-alive\r\n\r\nlater",
    ],
    refuses: [Error, BodyLimitError],
    parse: (bytes) => {
      const [whole, halves] = [new ResponseReader(10_000), new ResponseReader(10_000)];
      const middle = bytes.length >> 1;
      whole.push(bytes);
      for (const part of [bytes.subarray(0, middle), bytes.subarray(middle)])
        if (!halves.isComplete) halves.push(part);
      if (!whole.isComplete) whole.end();
      if (!halves.isComplete) halves.end();
      if (whole.status !== halves.status || !whole.body.equals(halves.body))
        throw new Error("BUG: a response in two parts is read differently");
    },
  },
  {
    name: "otlp-protobuf",
    seeds: [otlpProtobuf(otlp)],
    refuses: [ProtoError, OtlpError],
    parse: (bytes) => decodeOtlp(bytes),
  },
  {
    name: "otlp-json",
    seeds: [JSON.stringify(otlp)],
    refuses: [OtlpError, SyntaxError],
    parse: (bytes) => decodeOtlpJson(bytes.toString()),
  },
  {
    name: "otlp-answer",
    seeds: [
      '{"partialSuccess":{"rejectedDataPoints":"3","errorMessage":"late"}}',
      Buffer.of(10, 4, 8, 3, 18, 0),
    ],
    parse: (bytes) => [readPartialSuccess(bytes, true), readPartialSuccess(bytes, false)],
  },
  {
    name: "influx-line",
    seeds: [
      String.raw`m\ 1,ta\,g=a\=b,x=y f=1.5,g=2i,h="te\"xt",i=t 1790000000123456789` + "\ncpu f=1\n",
      "gpu,uuid=GPU-1,host=a watts=93.5,hot=false 1790000000000000000\n".repeat(3),
    ],
    refuses: [TooManyBadLinesError],
    parse: (bytes) => lines.decode(bytes, { unitMs: 1e-6, nowMs, extra: ["db", "x"] }),
  },
  {
    name: "json-push",
    seeds: [
      '{"job":"bench","labels":{"a":"b"},"time":1.5,"metrics":[{"name":"x","value":42,"labels":{"c":"d"}}]}',
      '{"name":"a","value":1}\n{"name":"b","value":"NaN","time":"2030-01-31T12:00:00Z"}\n',
    ],
    refuses: [SyntaxError],
    parse: (bytes) => decodePush(bytes.toString(), nowMs),
  },
  {
    name: "frames-request",
    seeds: [request()],
    refuses: [FramesError],
    parse: readWhole,
  },
  {
    name: "frames-parts",
    seeds: [
      encodeHello(hello),
      layoutSent.content,
      devicesSent.content,
      encodeMetric((layout.series[0] as (typeof layout.series)[number]).metric),
    ],
    parse: (bytes) => {
      for (const decode of [decodeHello, decodeLayout, decodeDevices, decodeMetric])
        try {
          decode(bytes);
        } catch (thrown) {
          if (!(thrown instanceof FramesError)) throw thrown;
        }
    },
  },
  {
    name: "frames-answer",
    seeds: ['{"acknowledged":7,"mood":"good"}', '{"needs":{"layouts":["ab"],"devices":[]}}'],
    parse: (bytes) => parsePushResponse(bytes),
  },
];
