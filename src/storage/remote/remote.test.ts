import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { afterEach, expect, test } from "vitest";
import { GpulseError } from "../../base/error.ts";
import { decodeWriteRequest } from "../../formats/remote-write/decode.ts";
import type { SampleBatch } from "../../formats/samples/batch.ts";
import { BatchBuilder } from "../../formats/samples/builder.ts";
import { decompressSnappy } from "../../formats/snappy/decompress.ts";
import { silentLog } from "../../base/log.ts";
import { readHistogram } from "../../model/histogram/notation.ts";
import { labelSet } from "../../model/labels.ts";
import { QueryError } from "../../query/errors.ts";
import { StoreError } from "../embedded/error.ts";
import { parseStoreAddress } from "./address.ts";
import { openRemoteHistory, type RemoteHistory } from "./remote.ts";
import { addressOf } from "./schema.ts";

type Answer = { status?: number; headers?: Record<string, string>; body?: string };
type Handler = (request: IncomingMessage, body: Buffer) => Answer | Promise<Answer>;

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

/** A loopback engine with configured responses. */
async function engine(routes: Readonly<Record<string, Handler>>): Promise<string> {
  const respond = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const handler = routes[(request.url ?? "").split("?", 1)[0] ?? ""];
    const {
      status = 200,
      headers = {},
      body = "",
    } = (await handler?.(request, Buffer.concat(parts))) ?? {
      status: 404,
      body: "404 page not found",
    };
    response.writeHead(status, headers).end(body);
  };
  const server = createServer((request, response) => void respond(request, response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  closing.push(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("BUG: no port was given");
  return `http://127.0.0.1:${address.port}`;
}

const success = (data: unknown, more: object = {}): Answer => ({
  body: JSON.stringify({ status: "success", data, ...more }),
});
const prometheus = { "/api/v1/status/buildinfo": () => success({ version: "2.42.0" }) };
const takes = { "/api/v1/write": () => ({ status: 204 }) };

async function open(url: string): Promise<RemoteHistory> {
  const history = await openRemoteHistory(parseStoreAddress(url), silentLog);
  closing.push(() => history.close());
  return history;
}

function batchOf(...values: readonly number[]): SampleBatch {
  const builder = new BatchBuilder();
  for (const value of values)
    builder.add(builder.series(labelSet({ __name__: "m", v: String(value) })), 1_000, value);
  return builder.finish();
}

const samplesIn = (body: Buffer): number[] => [
  ...decodeWriteRequest(decompressSnappy(body, 1e6)).values,
];

test.each([
  ["prometheus", "/api/v1/write", prometheus],
  [
    "thanos",
    "/api/v1/receive",
    { "/api/v1/status/buildinfo": () => success({ version: "0.34.0" }) },
  ],
  [
    "gpulse",
    "/api/v1/write",
    { "/api/v1/status/buildinfo": () => success({ version: "3.8.0", gpulse: "1.0" }) },
  ],
  [
    "victoria-metrics",
    "/api/v1/write",
    {
      "/api/v1/status/buildinfo": () => ({ ...success({}), headers: { "X-Server-Hostname": "h" } }),
    },
  ],
  [
    "mimir",
    "/api/v1/push",
    {
      "/prometheus/api/v1/status/buildinfo": () =>
        success({ application: "Grafana Mimir", version: "2.10" }),
    },
  ],
])("%s is known by what it says, and writes go to %s", async (name, writes, routes) => {
  const url = await engine({ ...routes, [writes]: () => ({ status: 204 }) });
  const found = await (await open(url)).engine();
  expect(found).toMatchObject({ name, writeUrl: url + writes });
});

test.each([
  ["takes no remote-write", prometheus, /--web\.enable-remote-write-receiver/],
  ["is something else", {}, /does not answer as Prometheus/],
  [
    "wants other credentials",
    { "/api/v1/status/buildinfo": () => ({ status: 401, body: "who are you" }) },
    /credentials/,
  ],
])("an engine that %s is refused at the start", async (_, routes, says) => {
  const failure = await open(await engine(routes)).catch((thrown: unknown) => thrown);
  expect(failure).toBeInstanceOf(GpulseError);
  expect((failure as GpulseError).message).toMatch(says);
});

test("one that is not there yet is waited for: callers are asked to retry, and it is found later", async () => {
  let away = true;
  const url = await engine({
    "/api/v1/status/buildinfo": () =>
      away ? { status: 503, body: "starting" } : success({ version: "2.42.0" }),
    ...takes,
  });
  const history = await open(url);
  const failure = await history.write(batchOf(1)).catch((thrown: unknown) => thrown);
  expect(failure).toBeInstanceOf(StoreError);
  expect((failure as StoreError).retryable).toBe(true);
  await expect(history.instant("up", 0)).rejects.toMatchObject({ kind: "unavailable" });
  away = false;
  expect(await history.write(batchOf(1))).toMatchObject({ stored: 1 });
});

test("credentials and tenant go with every request and are never shown", async () => {
  const seen: unknown[] = [];
  const note = (request: IncomingMessage): void =>
    void seen.push([request.headers.authorization, request.headers["x-scope-orgid"]]);
  const url = await engine({
    "/api/v1/status/buildinfo": (request) => (note(request), success({ version: "2.42.0" })),
    "/api/v1/write": (request) => (note(request), { status: 204 }),
  });
  const history = await open(`${url.replace("//", "//me:p%40ss@")}?tenant=room`);
  expect(seen).toEqual(
    [1, 2].map(() => [`Basic ${Buffer.from("me:p@ss").toString("base64")}`, "room"]),
  );
  expect(history.place).toBe(url);
});

test("a configured token is sent", async () => {
  let seen: string | undefined;
  const url = await engine({
    "/api/v1/status/buildinfo": (request) => {
      seen = request.headers.authorization;
      return success({ version: "2.42.0" });
    },
    ...takes,
  });
  const address = addressOf({ url, authorization: { credentials: "secret" } });
  const history = await openRemoteHistory(address, silentLog);
  closing.push(() => history.close());
  expect(seen).toBe("Bearer secret");
});

test.each([
  "not a url",
  "ftp://host",
  "http://host?engine=oracle",
  "http://host?colour=red",
  "http://host?write=http://me:secret@other/write",
])("the address %s is refused, without its secrets", (given) => {
  const failure = (() => {
    try {
      return parseStoreAddress(given);
    } catch (thrown) {
      return thrown;
    }
  })();
  expect(failure).toMatchObject({ code: "STORE_ADDRESS" });
  expect((failure as GpulseError).message).not.toContain("secret");
});

test("writes that come while one is under way go together in the next, in their order", async () => {
  const requests: number[][] = [];
  let release = (): void => {};
  const url = await engine({
    ...prometheus,
    "/api/v1/write": async (_, body) => {
      const samples = samplesIn(body);
      requests.push(samples);
      if (samples.length === 1) await new Promise<void>((resolve) => (release = resolve));
      return { status: 204 };
    },
  });
  const history = await open(url);
  requests.length = 0;
  const writes = [1, 2, 3].map((value) =>
    history.write(batchOf(value, ...(value === 1 ? [] : [value * 10]))),
  );
  while (requests.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  release();
  expect((await Promise.all(writes)).map(({ stored }) => stored)).toEqual([1, 2, 2]);
  expect(requests).toEqual([[1], [2, 20, 3, 30]]);
});

test("one bad sample is found in halves: the others are kept, and nobody else's write suffers", async () => {
  const kept: number[] = [];
  const url = await engine({
    ...prometheus,
    "/api/v1/write": (_, body) => {
      const samples = samplesIn(body);
      if (samples.includes(13)) return { status: 400, body: "out of order sample" };
      kept.push(...samples);
      return { status: 204 };
    },
  });
  const history = await open(url);
  const many = Array.from({ length: 40 }, (_, at) => at);
  const [first, bad, other] = await Promise.all([
    history.write(batchOf(100)),
    history.write(batchOf(...many)),
    history.write(batchOf(200)),
  ]);
  expect([first?.stored, other?.stored]).toEqual([1, 1]);
  expect(bad).toMatchObject({ stored: 39, refusedTooOld: 1, reason: "out of order sample" });
  expect(kept.sort((a, b) => a - b)).toEqual([...many.filter((value) => value !== 13), 100, 200]);
});

test.each([
  [500, "unavailable"],
  [429, "unavailable"],
  [401, "unavailable"],
])("a write answered with %i is thrown as %s, to be sent again", async (status, kind) => {
  let code = 204;
  const url = await engine({
    ...prometheus,
    "/api/v1/write": () => ({ status: code, body: "no" }),
  });
  const history = await open(url);
  code = status;
  await expect(history.write(batchOf(1))).rejects.toMatchObject({ kind, retryable: true });
  expect(history.problem).toContain(String(status));
  code = 204;
  await history.write(batchOf(1));
  expect(history.problem).toBeUndefined();
});

test("answers of every type are read exactly, warnings and infos with them", async () => {
  const result = (resultType: string, value: unknown): Answer =>
    success({ resultType, result: value }, { warnings: ["w"], infos: ["i"] });
  const byQuery: Record<string, Answer> = {
    vector: result("vector", [
      { metric: { b: "2", a: "1" }, value: [1.5, "0.30000000000000004"] },
      {
        metric: { c: "3" },
        histogram: [
          1,
          {
            count: "6",
            sum: "-1.5",
            buckets: [
              [1, "-4", "-2", "1"],
              [3, "-0.001", "0.001", "2"],
              [0, "1", "2", "3"],
            ],
          },
        ],
      },
    ]),
    scalar: result("scalar", [2, "+Inf"]),
    string: result("string", [2, "text"]),
    matrix: result("matrix", [
      {
        metric: {},
        values: [
          [1, "NaN"],
          [2.001, "-Inf"],
        ],
      },
    ]),
    odd: result("vector", [{ metric: {}, value: [1, "twelve"] }]),
    huge: { body: "no JSON" },
  };
  const url = await engine({
    ...prometheus,
    ...takes,
    "/api/v1/query": (_, body) =>
      byQuery[new URLSearchParams(body.toString()).get("query") ?? ""] ?? { status: 404 },
  });
  const history = await open(url);
  const answer = await history.instant("vector", 1_500);
  expect(answer.data).toEqual({
    type: "vector",
    samples: [
      {
        labels: [
          ["a", "1"],
          ["b", "2"],
        ],
        timeMs: 1_500,
        value: 0.1 + 0.2,
      },
      {
        labels: [["c", "3"]],
        timeMs: 1_000,
        value: Number.NaN,
        histogram: readHistogram(
          "{{schema:0 count:6 sum:-1.5 z_bucket:2 z_bucket_w:0.001 offset:1 buckets:[3] n_offset:2 n_buckets:[1]}}",
        ),
      },
    ],
  });
  expect([answer.warnings, answer.infos]).toEqual([["w"], ["i"]]);
  expect((await history.instant("scalar", 0)).data).toEqual({
    type: "scalar",
    timeMs: 2_000,
    value: Infinity,
  });
  expect((await history.instant("string", 0)).data).toEqual({
    type: "string",
    timeMs: 2_000,
    value: "text",
  });
  expect((await history.instant("matrix", 0)).data).toEqual({
    type: "matrix",
    series: [
      {
        labels: [],
        times: Float64Array.of(1_000, 2_001),
        values: Float64Array.of(Number.NaN, -Infinity),
      },
    ],
  });
  await expect(history.instant("odd", 0)).rejects.toThrow("otherwise than Prometheus");
  await expect(history.instant("huge", 0)).rejects.toThrow("something else than JSON");
});

test.each([
  [400, "bad_data"],
  [422, "execution"],
  [503, "timeout"],
])(
  "a query refused with %i is a QueryError of kind %s in the engine's words",
  async (status, kind) => {
    const body = JSON.stringify({
      status: "error",
      errorType: "x",
      error: 'invalid parameter "query": query timed out',
    });
    const url = await engine({
      ...prometheus,
      ...takes,
      "/api/v1/query": () => ({ status, body }),
    });
    const failure = await (await open(url)).instant("up", 0).catch((thrown: unknown) => thrown);
    expect(failure).toBeInstanceOf(QueryError);
    expect(failure).toMatchObject({ kind, message: "query timed out" });
  },
);

test("VictoriaMetrics's export is read with its bare infinities, its ends and its twins", async () => {
  const url = await engine({
    "/api/v1/status/buildinfo": () => success({}),
    ...takes,
    "/api/v1/export": () => ({
      body:
        '{"metric":{"__name__":"m","l":"],\\"values\\":["},"values":[1.5,null,+Inf,3,4],"timestamps":[1,2,3,4,4]}\n' +
        '{"metric":{"__name__":"n"},"values":[7],"timestamps":[9]}\n',
    }),
  });
  expect(await (await open(url)).select([], 0, 10)).toEqual([
    {
      labels: [
        ["__name__", "m"],
        ["l", '],"values":['],
      ],
      column: {
        times: Float64Array.of(1, 2, 3, 4),
        values: Float64Array.of(1.5, Number.NaN, Infinity, 4),
        stale: Uint8Array.of(0, 1, 0, 0),
      },
    },
    {
      labels: [["__name__", "n"]],
      column: { times: Float64Array.of(9), values: Float64Array.of(7) },
    },
  ]);
});

test("a range that is too large for the engine is asked for in halves", async () => {
  const asked: string[] = [];
  const url = await engine({
    "/api/v1/status/buildinfo": () => success({ version: "0.34" }),
    "/api/v1/receive": () => ({ status: 200 }),
    "/api/v1/query": (_, body) => {
      const form = new URLSearchParams(body.toString());
      asked.push(form.get("query") ?? "");
      if (asked.length === 1)
        return {
          status: 422,
          body: JSON.stringify({
            error: "query processing would load too many samples into memory",
          }),
        };
      const seconds = Number(form.get("time"));
      return success({
        resultType: "matrix",
        result: [{ metric: { __name__: "m" }, values: [[seconds, String(seconds)]] }],
      });
    },
  });
  const found = await (await open(url)).select([{ name: "a", op: "!~", value: "x" }], 1, 200_000);
  expect(asked).toEqual(['{a!~"x"}[200000ms]', '{a!~"x"}[100000ms]', '{a!~"x"}[100000ms]']);
  expect(found).toEqual([
    {
      labels: [["__name__", "m"]],
      column: { times: Float64Array.of(100_000, 200_000), values: Float64Array.of(100, 200) },
    },
  ]);
});
