import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import {
  otlpProtobuf,
  readOtlpResponse,
  textAttributes,
} from "../../../test/fixtures/formats/otlp-decode.ts";
import {
  nowMs,
  openReceiverFixture,
  type ReceiverFixture,
} from "../../../test/fixtures/hub/receive.ts";
import { receiverNames } from "./receiver-counts.ts";

let receivers: ReceiverFixture;
beforeAll(async () => {
  receivers = await openReceiverFixture();
});
beforeEach(() => receiverNames.forEach((way) => receivers.counted(way)));
afterAll(() => receivers.close());

const post = (url: string, payload: Buffer | string, headers: Record<string, string> = {}) =>
  receivers.app.inject({ method: "POST", url, payload, headers });

const gauges = (name: string, ...points: object[]): object => ({
  resourceMetrics: [
    {
      resource: { attributes: textAttributes({ "service.name": "cart" }) },
      scopeMetrics: [
        {
          metrics: [
            {
              name,
              gauge: {
                dataPoints: points.map((point) => ({ timeUnixNano: `${nowMs}000000`, ...point })),
              },
            },
          ],
        },
      ],
    },
  ],
});
const protobufType = { "content-type": "application/x-protobuf" };
const jsonType = { "content-type": "application/json" };

test.each([
  ["/v1/metrics", protobufType, otlpProtobuf(gauges("otlp.a", { asInt: 1 })), "otlp_a", ""],
  [
    "/api/v1/otlp/v1/metrics",
    protobufType,
    otlpProtobuf(gauges("otlp.b", { asInt: 1 })),
    "otlp_b",
    "",
  ],
  [
    "/v1/metrics",
    jsonType,
    Buffer.from(JSON.stringify(gauges("otlp.c", { asInt: 1 }))),
    "otlp_c",
    "{}",
  ],
  [
    "/v1/metrics",
    { ...jsonType, "content-encoding": "gzip" },
    gzipSync(JSON.stringify(gauges("otlp.d", { asInt: 1 }))),
    "otlp_d",
    "{}",
  ],
])("OTLP on %s: %#", async (url, headers, body, name, answered) => {
  const answer = await post(url, body, headers);
  expect([answer.statusCode, answer.body]).toEqual([200, answered]);
  expect(answer.headers["content-type"]).toBe(headers["content-type"]);
  expect(await receivers.query(name)).toEqual([`__name__=${name},job=cart 1`]);
  expect(receivers.counted("otlp")).toEqual({ stored: 1 });
});

test("OTLP: what is not kept is a partial success in the encoding it came in", async () => {
  const request = gauges("otlp.partial", { asInt: 1 }, {});
  const reported = {
    rejectedDataPoints: 1,
    errorMessage: 'a point of "otlp_partial" has no value',
  };
  const bytes = await post("/v1/metrics", otlpProtobuf(request), protobufType);
  expect(readOtlpResponse("Response", bytes.rawPayload)).toEqual({ partialSuccess: reported });
  const json = await post("/v1/metrics", JSON.stringify(request), jsonType);
  expect(json.json()).toEqual({ partialSuccess: { ...reported, rejectedDataPoints: "1" } });
  expect(receivers.counted("otlp")).toEqual({ stored: 1, duplicate: 1, malformed: 2 });
});

test("OTLP: what is no request is refused in the encoding it came in", async () => {
  const bytes = await post("/v1/metrics", Buffer.from([0x0a, 0x7f]), protobufType);
  expect([bytes.statusCode, readOtlpResponse("Status", bytes.rawPayload)]).toEqual([
    400,
    { code: 3, message: "not a valid metrics request: a field runs past the end of its message" },
  ]);
  const json = await post("/v1/metrics", '{"resourceMetrics":{}}', jsonType);
  expect([json.statusCode, json.json()]).toEqual([
    400,
    { code: 3, message: "not a valid metrics request: resourceMetrics is not a list" },
  ]);
  expect((await post("/v1/metrics", "x", { "content-type": "text/plain" })).statusCode).toBe(415);
  expect(
    (await post("/v1/metrics", "x", { ...jsonType, "content-encoding": "zstd" })).statusCode,
  ).toBe(415);
  expect(receivers.counted("otlp")).toEqual({ malformed_request: 2, unsupported_request: 2 });
});

test.each([
  [
    "/write?db=gpus&precision=s",
    `cpu1,host=a load=0.5 ${nowMs / 1_000}`,
    {},
    "cpu1_load{db='gpus',host='a'}",
  ],
  ["/write?precision=ms&u=me&p=secret", `cpu2 value=0.5 ${nowMs}`, {}, "cpu2"],
  [
    "/api/v2/write?org=o&bucket=b&precision=ns",
    `cpu3 value=0.5 ${nowMs}000000`,
    {},
    "cpu3{db='b'}",
  ],
  ["/write", gzipSync(`cpu4 value=0.5 ${nowMs}000000`), { "content-encoding": "gzip" }, "cpu4"],
  ["/write", "cpu5 value=0.5", { "content-type": "text/plain; charset=utf-8" }, "cpu5"],
  ["/write", "cpu6 value=0.5", { "content-type": "application/x-www-form-urlencoded" }, "cpu6"],
])("Influx on %s", async (url, body, headers, selector) => {
  const answer = await post(url, body, headers);
  expect([answer.statusCode, answer.body]).toEqual([204, ""]);
  expect(await receivers.query(`count(${selector})`)).toEqual([" 1"]);
});

test("Influx: good lines are kept, the first bad one is reported in the shape of the version", async () => {
  const lines = `good value=1 ${nowMs}000000\nbad\nworse f=x\ngood,s=t s="text",value=2 ${nowMs}000000\n`;
  const message = "partial write: unable to parse line 2: it has no fields, and 1 more lines";
  const v1 = await post("/write", lines);
  expect([v1.statusCode, v1.json()]).toEqual([400, { error: message }]);
  expect(receivers.counted("influx")).toEqual({ stored: 2, text: 1, malformed: 2 });
  const v2 = await post("/api/v2/write?bucket=x", lines);
  expect([v2.statusCode, v2.json()]).toEqual([400, { code: "invalid", message }]);
  expect(await receivers.query("good{db=''}")).toEqual(["__name__=good 1", "__name__=good,s=t 2"]);
});

test("Influx: what clients ask first is answered", async () => {
  const ping = await receivers.app.inject({ method: "GET", url: "/ping" });
  expect([ping.statusCode, ping.headers["x-influxdb-version"]]).toEqual([204, "1.8.10"]);
  const form = { "content-type": "application/x-www-form-urlencoded" };
  const created = await post("/query", "q=CREATE+DATABASE+%22gpus%22", form);
  expect([created.statusCode, created.json()]).toEqual([200, { results: [{ statement_id: 0 }] }]);
  const asked = await receivers.app.inject({ method: "GET", url: "/query?q=SELECT+1" });
  expect([asked.statusCode, asked.json()]).toEqual([
    400,
    { error: "InfluxQL queries are not supported: query in PromQL on /api/v1/query" },
  ]);
  expect((await post("/write?precision=fortnight", "m f=1")).json()).toEqual({
    error: "unknown precision fortnight: use ns, us, ms, s, m or h",
  });
});

test("JSON: a short script is enough, and its mistakes are named", async () => {
  const good = { job: "bench", instance: "box1", metrics: { tokens_total: 42 } };
  const answer = await post("/push", JSON.stringify(good));
  expect([answer.statusCode, answer.body]).toEqual([204, ""]);
  expect(await receivers.query("tokens_total")).toEqual([
    "__name__=tokens_total,instance=box1,job=bench 42",
  ]);
  const mixed = {
    metrics: [
      { name: "kept", value: 1 },
      { name: "lost", value: "x" },
    ],
  };
  const zipped = await post("/push", gzipSync(JSON.stringify(mixed)), {
    ...jsonType,
    "content-encoding": "gzip",
  });
  const error = 'must be a number, true, false, "NaN", "+Inf" or "-Inf"';
  expect([zipped.statusCode, zipped.json()]).toEqual([
    400,
    {
      error: `metrics[1].value ${error}`,
      kept: 1,
      malformed: 1,
      errors: [{ at: "metrics[1].value", error }],
    },
  ]);
  expect((await post("/push", "{")).json<{ error: string }>().error).toMatch(
    /^the body is not valid JSON: /,
  );
  expect((await post("/push", "")).statusCode).toBe(400);
  expect(receivers.counted("json")).toEqual({ stored: 2, malformed: 1, malformed_request: 2 });
});

test("federate gives the newest of each series with its time, in order, types where known, and leaves out what ended", async () => {
  const time = (nowMs - 60_000) / 1_000;
  await post(
    "/push",
    JSON.stringify({
      time,
      labels: { who: "fed" },
      metrics: [
        { name: "fed_b", value: 2, labels: { instance: "i", quote: 'a"b\\c\nd' } },
        { name: "fed_a_total", value: 1e21, type: "counter" },
        { name: "fed_old", value: 1, time: time - 400 },
        { name: "fed.dotted", value: 1 },
      ],
    }),
  );
  await post("/v1/metrics", JSON.stringify(gauges("fed.gone", { asInt: 1 })), jsonType);
  await post("/v1/metrics", JSON.stringify(gauges("fed.ended", { flags: 1 })), jsonType);
  const page = await receivers.app.inject({
    method: "GET",
    url: "/federate?match[]={__name__=~'fed.*'}&match[]=fed_b",
  });
  expect(page.headers["content-type"]).toBe("text/plain; version=0.0.4; charset=utf-8");
  expect(page.body).toBe(
    [
      '# TYPE "fed.dotted" untyped',
      `{"fed.dotted",instance="",who="fed"} 1 ${nowMs - 60_000}`,
      "# TYPE fed_a_total counter",
      `fed_a_total{instance="",who="fed"} 1e+21 ${nowMs - 60_000}`,
      "# TYPE fed_b untyped",
      `fed_b{instance="i",quote="a\\"b\\\\c\\nd",who="fed"} 2 ${nowMs - 60_000}`,
      "# TYPE fed_gone gauge",
      `fed_gone{instance="",job="cart"} 1 ${nowMs}`,
      "",
    ].join("\n"),
  );
  const none = await receivers.app.inject({ method: "GET", url: "/federate" });
  expect([none.statusCode, none.json<{ error: string }>().error]).toEqual([
    400,
    "no match[] parameter provided",
  ]);
});
