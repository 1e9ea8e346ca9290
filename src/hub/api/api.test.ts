import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fastify, type FastifyInstance } from "fastify";
import protobuf from "protobufjs";
import { compress } from "snappyjs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { SelfFrames } from "../../model/self-frames.ts";
import { silentLog } from "../../base/log.ts";
import { type EmbeddedStorage, openStorage } from "../storage.ts";
import { ingestOutcomes } from "../../model/catalogue/self-storage.ts";
import { addApi } from "./api.ts";

const folder = mkdtempSync(path.join(tmpdir(), "gpulse-api-"));
const nowMs = 1_700_000_600_000;
let storage: EmbeddedStorage;
let app: FastifyInstance;

const { root } = protobuf.parse(`syntax = "proto3";
message W { repeated T timeseries = 1; repeated M metadata = 3; }
message T { repeated L labels = 1; repeated S samples = 2; }
message L { string name = 1; string value = 2; }
message S { double value = 1; int64 timestamp = 2; }
message M { int32 type = 1; string metric_family_name = 2; string help = 4; string unit = 5; }`);
const W = root.lookupType("W");

type Samples = readonly (readonly [timeMs: number, value: number])[];
function writeBody(series: Readonly<Record<string, Samples>>, metadata: object[] = []): Buffer {
  const timeseries = Object.entries(series).map(([labels, samples]) => ({
    labels: Object.entries(JSON.parse(labels) as Record<string, string>).map(([name, value]) => ({
      name,
      value,
    })),
    samples: samples.map(([timestamp, value]) => ({ timestamp, value })),
  }));
  return Buffer.from(compress(W.encode(W.fromObject({ timeseries, metadata })).finish()));
}

const write = (payload: Buffer, headers: Record<string, string> = {}) =>
  app.inject({
    method: "POST",
    url: "/api/v1/write",
    payload,
    headers: { "content-type": "application/x-protobuf", "content-encoding": "snappy", ...headers },
  });

async function get(url: string): Promise<{ status: number; body: unknown }> {
  const answer = await app.inject({ method: "GET", url });
  return { status: answer.statusCode, body: answer.json() };
}
const ok = (data: unknown) => ({ status: 200, body: { status: "success", data } });

beforeAll(async () => {
  storage = await openStorage({
    dir: path.join(folder, "data"),
    retentionMs: 100 * 365 * 86_400_000,
    log: silentLog,
    nowMs: () => nowMs,
    version: "1.2.3",
  });
  app = fastify();
  await addApi(app, storage.api);
  const ramp = (factor: number): Samples =>
    Array.from({ length: 61 }, (_, index) => [nowMs - 600_000 + index * 10_000, index * factor]);
  const answer = await write(
    writeBody(
      {
        '{"__name__":"watts","gpu":"0"}': ramp(1),
        '{"__name__":"watts","gpu":"1"}': ramp(2),
        '{"__name__":"odd.name","a b":"c"}': [[0, 1]],
      },
      [{ type: 2, metricFamilyName: "watts", help: "Power.", unit: "watts" }],
    ),
  );
  if (answer.statusCode !== 204) throw new Error(`the first write was refused: ${answer.body}`);
});
afterAll(async () => {
  await app.close();
  await storage.close();
  rmSync(folder, { recursive: true });
});

const at = nowMs / 1_000;

test("an instant query, by GET and by a POSTed form", async () => {
  const expected = ok({ resultType: "vector", result: [{ metric: {}, value: [at, "180"] }] });
  expect(await get(`/api/v1/query?query=sum(watts)&time=${at}`)).toEqual(expected);
  const posted = await app.inject({
    method: "POST",
    url: "/api/v1/query",
    payload: `query=sum%28watts%29&time=${at}`,
    headers: { "content-type": "application/x-www-form-urlencoded" },
  });
  expect({ status: posted.statusCode, body: posted.json<unknown>() }).toEqual(expected);
});

test("a range query, with instants that are no whole seconds", async () => {
  expect(
    await get(`/api/v1/query_range?query=watts{gpu="0"}&start=${at - 20.5}&end=${at}&step=10.25`),
  ).toEqual(
    ok({
      resultType: "matrix",
      result: [
        {
          metric: { __name__: "watts", gpu: "0" },
          values: [
            [at - 20.5, "57"],
            [at - 10.25, "58"],
            [at, "60"],
          ],
        },
      ],
    }),
  );
});

test.each([
  ["query=1/0", { resultType: "scalar", result: [at, "+Inf"] }],
  ["query=-1/0", { resultType: "scalar", result: [at, "-Inf"] }],
  ["query=0/0", { resultType: "scalar", result: [at, "NaN"] }],
  ["query='a\"b'", { resultType: "string", result: [at, 'a"b'] }],
  ["query=nothing", { resultType: "vector", result: [] }],
])("%s", async (query, data) =>
  expect(await get(`/api/v1/query?${encodeURI(query)}&time=${at}`)).toEqual(ok(data)),
);

test.each([
  [
    `/api/v1/query?query=rate(watts)`,
    'invalid parameter "query": 1:6: parse error: expected type range vector in call to function "rate", got instant vector',
  ],
  [
    `/api/v1/query?query=watts&time=soon`,
    'invalid parameter "time": cannot parse "soon" to a valid timestamp',
  ],
  [
    `/api/v1/query?query=watts&timeout=soon`,
    'invalid parameter "timeout": cannot parse "soon" to a valid duration',
  ],
  [`/api/v1/query?query=watts&limit=-1`, 'invalid parameter "limit": limit must be non-negative'],
  [
    `/api/v1/query_range?query=watts&start=2&end=1&step=1`,
    'invalid parameter "end": end timestamp must not be before start time',
  ],
  [
    `/api/v1/query_range?query=watts&start=0&end=1&step=0`,
    'invalid parameter "step": zero or negative query resolution step widths are not accepted. Try a positive integer',
  ],
  [
    `/api/v1/query_range?query=watts&start=0&end=99999&step=1`,
    "exceeded maximum resolution of 11,000 points per timeseries. Try decreasing the query resolution (?step=XX)",
  ],
  [
    `/api/v1/query_range?query=watts&end=1&step=1`,
    'invalid parameter "start": cannot parse "" to a valid timestamp',
  ],
  [`/api/v1/series`, "no match[] parameter provided"],
  [`/api/v1/series?match[]={`, /^invalid parameter "match\[\]": 1:2: parse error/],
])("%s is refused", async (url, error) => {
  const { status, body } = await get(url);
  expect([status, body]).toEqual([
    400,
    {
      status: "error",
      errorType: "bad_data",
      error: typeof error === "string" ? error : (expect.stringMatching(error) as unknown),
    },
  ]);
});

test("what fails while it runs is 422, and names its reason", async () => {
  expect(
    await get(`/api/v1/query?query=${encodeURIComponent("watts + on() watts")}&time=${at}`),
  ).toEqual({
    status: 422,
    body: {
      status: "error",
      errorType: "execution",
      error: expect.stringMatching(/many-to-many|duplicate/) as unknown,
    },
  });
});

test("series, labels and values", async () => {
  expect(await get(`/api/v1/series?match[]=watts`)).toEqual(
    ok([
      { __name__: "watts", gpu: "0" },
      { __name__: "watts", gpu: "1" },
    ]),
  );
  expect(await get(`/api/v1/labels?match[]=watts`)).toEqual(ok(["__name__", "gpu"]));
  expect(await get(`/api/v1/label/gpu/values`)).toEqual(ok(["0", "1"]));
  expect(await get(`/api/v1/label/U__a_20_b/values`)).toEqual(ok(["c"]));
  expect(await get(`/api/v1/label/gpu/values?start=0&end=1`)).toEqual(ok([]));
});

test("a limit cuts and says so", async () => {
  expect((await get(`/api/v1/label/gpu/values?limit=1`)).body).toEqual({
    status: "success",
    data: ["0"],
    warnings: ["results truncated due to limit"],
  });
  expect((await get(`/api/v1/query?query=watts&time=${at}&limit=1`)).body).toMatchObject({
    data: { result: [{}] },
    warnings: ["results truncated due to limit"],
  });
});

test("metadata is ours and the senders'", async () => {
  expect(await get(`/api/v1/metadata?metric=watts`)).toEqual(
    ok({ watts: [{ type: "gauge", help: "Power.", unit: "watts" }] }),
  );
  expect((await get(`/api/v1/metadata?metric=gpu_power_watts`)).body).toMatchObject({
    data: { gpu_power_watts: [{ type: "gauge", unit: "watts" }] },
  });
});

test("format_query and parse_query", async () => {
  expect(
    await get(`/api/v1/format_query?query=${encodeURIComponent("sum(  rate(a[5m]))")}`),
  ).toEqual(ok("sum(rate(a[5m]))"));
  expect((await get(`/api/v1/parse_query?query=a%2Bb`)).body).toMatchObject({
    data: { type: "binaryExpr", op: "+" },
  });
  expect(await get(`/api/v1/format_query?query=a%2B`)).toMatchObject({ status: 400 });
});

test.each(["buildinfo", "runtimeinfo", "flags", "config", "walreplay", "tsdb"])(
  "status/%s answers",
  async (name) => {
    expect(await get(`/api/v1/status/${name}`)).toMatchObject({
      status: 200,
      body: { status: "success" },
    });
  },
);

test("samples are deleted on request", async () => {
  expect((await write(writeBody({ '{"__name__":"gone"}': [[nowMs, 1]] }))).statusCode).toBe(204);
  const deleted = await app.inject({
    method: "POST",
    url: "/api/v1/admin/tsdb/delete_series?match[]=gone",
  });
  expect(deleted.statusCode).toBe(204);
  expect(await get(`/api/v1/query?query=gone&time=${at}`)).toEqual(
    ok({ resultType: "vector", result: [] }),
  );
});

test("an identical duplicate is taken, a conflict and a time before the epoch refused, the rest of the request kept", async () => {
  const body = writeBody({ '{"__name__":"twice"}': [[1_000, 1]] });
  expect([(await write(body)).statusCode, (await write(body)).statusCode]).toEqual([204, 204]);
  const mixed = await write(
    writeBody({
      '{"__name__":"twice"}': [
        [1_000, 2],
        [2_000, 3],
        [-5, 4],
      ],
    }),
  );
  expect(mixed.statusCode).toBe(400);
  expect(mixed.body).toBe(
    "1 samples stored, 2 rejected: 1 conflict with a stored value of the same time, 1 are older than the retention or have no valid time\n",
  );
  expect(await get(`/api/v1/query?query=twice&time=2`)).toEqual(
    ok({ resultType: "vector", result: [{ metric: { __name__: "twice" }, value: [2, "3"] }] }),
  );
});

test.each([
  ["no snappy", Buffer.from("rubbish"), {}, 400],
  ["snappy of rubbish", Buffer.from(compress(Buffer.from([0xff, 0xff, 0xff]))), {}, 400],
  ["a bomb", Buffer.from([0xff, 0xff, 0xff, 0xff, 0x0f]), {}, 400],
  ["no metric name", writeBody({ '{"job":"x"}': [[1, 1]] }), {}, 400],
  ["gzip", Buffer.from("x"), { "content-encoding": "gzip" }, 415],
])("a write of %s is refused and stores nothing", async (_name, payload, headers, status) => {
  const before = storage.store.stats().appended.stored;
  const answer = await write(payload, headers);
  expect(answer.statusCode, answer.body).toBe(status);
  expect(storage.store.stats().appended.stored).toBe(before);
});

test("an unknown path of the API is a plain 404", async () => {
  expect((await app.inject({ method: "GET", url: "/api/v1/nothing" })).statusCode).toBe(404);
});

test("what was received is counted by what became of it", async () => {
  const { received } = storage.api;
  const counts = (): Record<string, number> =>
    Object.fromEntries(
      ingestOutcomes.map((outcome) => [outcome, received.count("remote_write", outcome)]),
    );
  const before = counts();
  await write(
    writeBody({
      '{"__name__":"counted"}': [
        [1_000, 1],
        [2_000, 2],
      ],
    }),
  );
  await write(
    writeBody({
      '{"__name__":"counted"}': [
        [1_000, 1],
        [2_000, 3],
        [-1, 0],
      ],
    }),
  );
  await write(Buffer.from("rubbish"));
  const gained = Object.fromEntries(
    Object.entries(counts()).map(([outcome, total]) => [outcome, total - (before[outcome] ?? 0)]),
  );
  expect(gained).toMatchObject({
    stored: 2,
    duplicate: 1,
    conflict: 1,
    too_old: 1,
    malformed_request: 1,
    histogram_schema: 0,
  });
  const frame = new SelfFrames().at(0, [storage.selfMetrics]);
  expect(frame.layout.series.map(({ metric }) => metric.name)).toContain(
    "gpulse_received_samples_total",
  );
});

test.each(["/api/v1/query", "/api/v1/series", "/api/v1/admin/tsdb/delete_series"])(
  "a body at %s that is no JSON though it says so, or of a kind nobody reads, is the sender's mistake",
  async (url) => {
    for (const [payload, type] of [
      ["{", "application/json"],
      ["<x/>", "text/xml"],
    ] as const) {
      const answer = await app.inject({
        method: "POST",
        url,
        payload,
        headers: { "content-type": type },
      });
      expect([answer.statusCode, answer.json<{ errorType: string }>().errorType]).toEqual([
        type === "text/xml" ? 415 : 400,
        "bad_data",
      ]);
    }
  },
);

test("a form larger than any query is answered 413", async () => {
  const answer = await app.inject({
    method: "POST",
    url: "/api/v1/query",
    payload: `query=${"a".repeat(5_000_000)}`,
    headers: { "content-type": "application/x-www-form-urlencoded" },
  });
  expect([answer.statusCode, answer.json()]).toEqual([
    413,
    { status: "error", errorType: "bad_data", error: "the request is too large" },
  ]);
});

test("two snapshots of one second are two folders", async () => {
  const snapshot = async (): Promise<string> => {
    const answer = await app.inject({ method: "POST", url: "/api/v1/admin/tsdb/snapshot" });
    expect(answer.statusCode).toBe(200);
    return answer.json<{ data: { name: string } }>().data.name;
  };
  expect(await snapshot()).not.toBe(await snapshot());
});
