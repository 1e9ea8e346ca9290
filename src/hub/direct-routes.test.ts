/** Compares requests handled directly with the same ones handled by Fastify, over real sockets: the responses are identical. */
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { type OutgoingHttpHeaders, request } from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openAccess } from "../access/open.ts";
import { Tokens } from "../access/tokens.ts";
import { silentLog } from "../base/log.ts";
import { FrameEncoder } from "../formats/frames/frame.ts";
import { encodeHello } from "../formats/frames/hello.ts";
import { contentType, recordKind, RequestWriter } from "../formats/frames/request.ts";
import { BasicUsers } from "../net/http/basic-users.ts";
import { LatestFrames } from "../sinks/latest/latest.ts";
import { openAgents } from "./agents/open.ts";
import { RefusalCounts } from "./auth/self-metrics.ts";
import { buildHub } from "./hub.ts";
import { ingestOutcomes } from "../model/catalogue/self-storage.ts";
import { openStorage } from "./storage.ts";
import { v1Headers, writeV1 } from "../../test/fixtures/hub/receive.ts";

const nowMs = 1_700_000_000_000;
let hub: Awaited<ReturnType<typeof openHub>>;
beforeAll(async () => {
  hub = await openHub();
});
afterAll(() => hub.close());

/** Fastify handles the path with a query, the direct route the one without. */
const paths = { direct: "/api/push/v1", fastify: "/api/push/v1?" } as const;
const writes = { direct: "/api/v1/write", fastify: "/api/v1/write?" } as const;

const hello = (agent: string): Uint8Array =>
  encodeHello({
    agent,
    session: "one",
    version: "1.0.0",
    host: agent,
    job: "gpulse",
    instance: `${agent}:9400`,
    sentMs: nowMs,
    intervalMs: 1_000,
    spool: { records: 0, bytes: 0, lost: 0 },
    capabilities: [],
  });

function greeting(agent: string): Buffer {
  const writer = new RequestWriter();
  writer.record(recordKind.hello, hello(agent));
  return writer.finish();
}

/** A frame with a layout unknown to the hub. */
function unknownLayout(agent: string): Buffer {
  const writer = new RequestWriter();
  writer.record(recordKind.hello, hello(agent));
  const frame = new FrameEncoder().encode(
    {
      sequence: 1,
      layout: "0123456789abcdef",
      devices: "0123456789abcdef",
      source: "test",
      host: "",
      tier: "fast",
      freshForMs: 5_000,
      timeMs: nowMs,
      presence: new Uint8Array(0),
      values: new Float64Array(0),
    },
    new Float64Array(0),
  );
  writer.record(recordKind.frame, frame);
  return writer.finish();
}

const otherVersion = Buffer.concat([Buffer.from("gpulse"), Buffer.from([9])]);

test.each<[string, number, (agent: string) => Buffer, OutgoingHttpHeaders]>([
  ["a push", 200, greeting, {}],
  ["a packed push", 200, (agent) => gzipSync(greeting(agent)), { "content-encoding": "gzip" }],
  ["an unknown layout", 428, unknownLayout, {}],
  ["bytes that are no push", 400, () => Buffer.from("GET / HTTP/1.1"), {}],
  ["a body that is not packed as it says", 400, greeting, { "content-encoding": "gzip" }],
  ["an encoding nobody knows", 415, greeting, { "content-encoding": "zstd" }],
  ["another version of the format", 415, () => otherVersion, {}],
  ["a body that is too large", 413, greeting, { "content-length": 2 ** 40 }],
  ["a page of another site", 403, greeting, { origin: "http://elsewhere.example" }],
  ["no token", 401, greeting, { authorization: "" }],
  ["a token that opens nothing", 401, greeting, { authorization: "Bearer gp_nothing" }],
  ["a token for reading alone", 403, greeting, { authorization: "READ" }],
])("%s: %i", async (_name, status, body, headers) => {
  const direct = await hub.send(paths.direct, body("direct"), headers);
  const fastify = await hub.send(paths.fastify, body("fastify"), headers);
  expect(direct).toEqual(fastify);
  expect(direct.status).toBe(status);
});

const written = (labels: Readonly<Record<string, string>>, timeMs: number): Buffer =>
  writeV1([{ labels, samples: [[timeMs, 1]] }]);

const good = (instance: string): Buffer => written({ __name__: "written", instance }, nowMs);

test.each<[string, number, (instance: string) => Buffer, OutgoingHttpHeaders]>([
  ["samples", 204, good, {}],
  ["samples of the future", 400, (instance) => written({ __name__: "w", instance }, 2 * nowMs), {}],
  ["a series without a name", 400, (instance) => written({ instance }, nowMs), {}],
  ["an empty body", 400, () => Buffer.alloc(0), {}],
  ["bytes that are not snappy", 400, () => Buffer.from("GET / HTTP/1.1"), {}],
  ["another compression", 415, good, { "content-encoding": "gzip" }],
  ["another content type", 415, good, { "content-type": "application/json" }],
  ["a body that is too large", 413, good, { "content-length": 2 ** 40 }],
  ["a page of another site", 403, good, { origin: "http://elsewhere.example" }],
  ["no token", 401, good, { authorization: "" }],
  ["a token for reading alone", 403, good, { authorization: "READ" }],
])("remote write, %s: %i", async (_name, status, body, changes) => {
  const headers = { ...v1Headers, ...changes };
  const direct = await hub.send(writes.direct, body("direct"), headers);
  const fastify = await hub.send(writes.fastify, body("fastify"), headers);
  expect(direct).toEqual(fastify);
  expect(direct.status).toBe(status);
});

test("remote write, rejected samples: the good ones are stored and counted once", async () => {
  const body = writeV1([
    { labels: { __name__: "once", part: "good" }, samples: [[nowMs, 1]] },
    { labels: { part: "nameless" }, samples: [[nowMs, 2]] },
  ]);
  const { status, counted } = await hub.send(writes.direct, body, v1Headers);
  expect(status).toBe(400);
  const at = (outcome: (typeof ingestOutcomes)[number]): number => ingestOutcomes.indexOf(outcome);
  expect([at("stored"), at("duplicate"), at("bad_labels")].map((i) => counted[i])).toEqual([
    1, 0, 1,
  ]);
});

test("an agent's frames are stored once, whichever way its requests take", async () => {
  for (const way of [paths.direct, paths.fastify, paths.direct])
    expect((await hub.send(way, greeting("same"), {})).status).toBe(200);
  expect(hub.agents.list.filter(({ id }) => id === "same")).toHaveLength(1);
});

async function openHub() {
  const dir = mkdtempSync(path.join(tmpdir(), "gpulse-direct-"));
  const log = silentLog;
  const now = (): number => nowMs;
  const version = "1.0.0";
  const storage = await openStorage({ dir, retentionMs: 1e12, log, nowMs: now, version });
  const latest = new LatestFrames();
  const agents = openAgents({
    writer: storage.history,
    show: (delivery) => latest.write(delivery),
    log,
    nowMs: now,
    trustedNowMs: storage.trustedNowMs,
    oldestSampleMs: storage.oldestSampleMs,
    version,
    retentionMs: 1e12,
    dataDir: dir,
    manual: true,
  });
  const tokens = new Tokens({ dataDir: dir, log });
  const token = (scope: "push" | "read"): string =>
    tokens.add({ name: scope, scope }, nowMs, randomBytes).text.reveal();
  const [push, read] = [token("push"), token("read")];
  const refused = new RefusalCounts();
  const app = await buildHub({
    latest,
    host: "127.0.0.1",
    port: 0,
    hostName: "hub",
    webDir: dir,
    log,
    nowMs: now,
    version,
    metricsPage: () => ({ body: "", contentType: "text/plain" }),
    stats: () => ({}),
    ready: () => ({ ready: true, problems: [] }),
    api: { ...storage.api, agents },
    access: {
      ...openAccess({ dataDir: dir, log, random: randomBytes }),
      tokens,
      users: () => new BasicUsers(new Map()),
      openReads: false,
      openWithoutTokens: false,
      secure: false,
      random: randomBytes,
      refused,
    },
  });
  const url = await app.listen({ host: "127.0.0.1", port: 0 });

  const counts = (way: string): number[] =>
    ingestOutcomes.map((outcome) =>
      storage.api.received.count(way.startsWith("/api/push") ? "push" : "remote_write", outcome),
    );
  /** The client's response and the hub's counters. */
  const send = (way: string, body: Buffer, changes: OutgoingHttpHeaders) => {
    const authorization = `Bearer ${push}`;
    const headers = { "content-type": contentType, authorization, ...changes };
    const before = counts(way);
    if (headers.authorization === "READ") headers.authorization = `Bearer ${read}`;
    return new Promise<{
      status: number;
      headers: unknown;
      text: string;
      counted: readonly number[];
    }>((resolve, reject) => {
      const sending = request(url + way, { method: "POST", headers, agent: false });
      sending.on("error", reject);
      sending.on("response", (response) => {
        let text = "";
        response.setEncoding("utf8").on("data", (part: string) => (text += part));
        response.on("end", () => {
          const { date: _date, ...seen } = response.headers;
          const status = response.statusCode ?? 0;
          const counted = counts(way).map((count, at) => count - (before[at] ?? 0));
          resolve({ status, headers: seen, text, counted });
        });
      });
      sending.end(body);
    });
  };
  return {
    agents,
    send,
    close: async () => {
      await app.close();
      await agents.close();
      await storage.close();
      tokens.close();
      rmSync(dir, { recursive: true });
    },
  };
}
