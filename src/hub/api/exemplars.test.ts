import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fastify, type FastifyInstance } from "fastify";
import { afterEach, beforeEach, expect, test } from "vitest";
import { ProtoWriter } from "../../formats/protobuf/writer.ts";
import { compressSnappy } from "../../formats/snappy/compress.ts";
import { silentLog } from "../../base/log.ts";
import {
  putDouble,
  putMessage,
  putText,
  putVarint,
} from "../../../test/fixtures/formats/native-histogram-proto.ts";
import { type EmbeddedStorage, openStorage } from "../storage.ts";
import { addApi } from "./api.ts";

const nowMs = 1_790_000_000_000;
let folder: string;
let storage: EmbeddedStorage;
let app: FastifyInstance;

async function open(): Promise<void> {
  storage = await openStorage({
    dir: path.join(folder, "data"),
    retentionMs: 30 * 86_400_000,
    maxExemplars: 100,
    log: silentLog,
    nowMs: () => nowMs,
    version: "1.2.3",
  });
  app = fastify();
  await addApi(app, { ...storage.api, traceUrl: "https://traces.example/{trace_id}" });
}

async function close(): Promise<void> {
  await app.close();
  await storage.close();
}

beforeEach(async () => {
  folder = mkdtempSync(path.join(tmpdir(), "gpulse-exemplars-"));
  await open();
});
afterEach(async () => {
  await close();
  rmSync(folder, { recursive: true });
});

interface SentExemplar {
  readonly value: number;
  readonly timeMs: number;
  readonly trace: string;
}

/** A remote write 1.0 request with a sample of one series and its exemplars. */
function body(
  labels: Readonly<Record<string, string>>,
  exemplars: readonly SentExemplar[],
): Buffer {
  const writer = new ProtoWriter();
  const label = (name: string, value: string): void =>
    putMessage(writer, 1, () => {
      putText(writer, 1, name);
      putText(writer, 2, value);
    });
  putMessage(writer, 1, () => {
    for (const [name, value] of Object.entries(labels)) label(name, value);
    putMessage(writer, 2, () => {
      putDouble(writer, 1, 1);
      putVarint(writer, 2, nowMs);
    });
    for (const { value, timeMs, trace } of exemplars)
      putMessage(writer, 3, () => {
        label("trace_id", trace);
        putDouble(writer, 2, value);
        putVarint(writer, 3, timeMs);
      });
  });
  return compressSnappy(writer.finish());
}

const write = (payload: Buffer) =>
  app.inject({
    method: "POST",
    url: "/api/v1/write",
    payload,
    headers: { "content-type": "application/x-protobuf", "content-encoding": "snappy" },
  });

async function ask(params: Readonly<Record<string, string>>, method: "GET" | "POST" = "GET") {
  const form = new URLSearchParams(params).toString();
  const url = "/api/v1/query_exemplars";
  const answer =
    method === "GET"
      ? await app.inject({ method, url: `${url}?${form}` })
      : await app.inject({
          method,
          url,
          payload: form,
          headers: { "content-type": "application/x-www-form-urlencoded" },
        });
  return { ...answer.json<{ data?: unknown; error?: string }>(), status: answer.statusCode };
}

const labels = { __name__: "latency_bucket", job: "infer", le: "1" };
const found = {
  seriesLabels: labels,
  exemplars: [
    { labels: { trace_id: "a" }, value: "0.5", timestamp: 1_789_999_999.5 },
    { labels: { trace_id: "b" }, value: "+Inf", timestamp: 1_790_000_000 },
  ],
};

test("what was written is found by the selectors of an expression, also after a restart", async () => {
  const sent = [
    { value: 0.5, timeMs: nowMs - 500, trace: "a" },
    { value: Infinity, timeMs: nowMs, trace: "b" },
  ];
  expect((await write(body(labels, sent))).statusCode).toBe(204);
  const query = 'histogram_quantile(0.9, sum by (le) (rate(latency_bucket{job="infer"}[5m]))) > 0';
  expect((await ask({ query })).data).toEqual([found]);
  await close();
  await open();
  expect((await ask({ query }, "POST")).data).toEqual([found]);
  expect((await ask({ query, start: "1790000000" })).data).toEqual([
    { ...found, exemplars: found.exemplars.slice(1) },
  ]);
  expect((await ask({ query: "other" })).data).toEqual([]);
});

test("an expression without a selector finds none; a bad one and a reversed range are errors", async () => {
  expect((await ask({ query: "1 + 1" })).data).toEqual([]);
  expect(await ask({ query: "sum(" })).toMatchObject({ status: 400, errorType: "bad_data" });
  expect(await ask({ query: "up", start: "5", end: "4" })).toMatchObject({
    status: 400,
    error: "end timestamp must not be before start timestamp",
  });
});

test("the page learns where traces are from the flags", async () => {
  const flags = await app.inject({ method: "GET", url: "/api/v1/status/flags" });
  expect(flags.json()).toMatchObject({
    data: { "gpulse.trace-url": "https://traces.example/{trace_id}" },
  });
});
