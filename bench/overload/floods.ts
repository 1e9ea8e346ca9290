/** The requests of the floods: cheap to create, and expensive for a hub without limits. */
import { gzipSync } from "node:zlib";
import { capabilities } from "../../src/formats/frames/push-response.ts";
import { encodeHello } from "../../src/formats/frames/hello.ts";
import { recordKind, RequestWriter } from "../../src/formats/frames/request.ts";
import type { Sending } from "./client.ts";

const json = { "content-type": "application/json" };

/** `count` alerts with unique names. */
export const alertFlood = (request: number, count: number): Sending => ({
  path: "/api/v2/alerts",
  headers: json,
  body: JSON.stringify(
    Array.from({ length: count }, (_, at) => ({
      labels: { alertname: `Flood${request}x${at}`, severity: "critical" },
      startsAt: "2026-01-01T00:00:00Z",
    })),
  ),
});

const packed = { ...json, "content-encoding": "gzip" };
const repeated = (text: string, bytes: number): string =>
  `[${text.repeat(bytes / text.length).slice(0, -1)}]`;

/** 14.6 KB each: they decompress to 15 MB of the slowest input for a JSON parser. */
export const pushBombs: readonly Sending[] = [
  repeated("{},", 15e6),
  repeated("[],", 15e6),
  `${"[".repeat(7.5e6)}${"]".repeat(7.5e6)}`,
  JSON.stringify({
    labels: Object.fromEntries(Array.from({ length: 125 }, (_, at) => [`label${at}`, "value"])),
    metrics: Array.from({ length: 200_000 }, () => ({ name: "bomb", value: 1 })),
  }),
].map((text) => ({ path: "/push", headers: packed, body: gzipSync(text, { level: 9 }) }));

/** The first request of an agent that does not exist. */
export function ghostAgent(name: string, sentMs: number): Sending {
  const writer = new RequestWriter();
  writer.record(
    recordKind.hello,
    encodeHello({
      agent: name,
      session: "ghost",
      version: "1.0.0",
      host: name,
      job: "gpulse",
      instance: name,
      sentMs,
      roundTripMs: 0,
      intervalMs: 1_000,
      spool: { records: 0, bytes: 0, lost: 0 },
      capabilities,
    }),
  );
  return {
    path: "/api/push/v1",
    headers: { "content-type": "application/octet-stream" },
    body: writer.finish(),
  };
}

/** A range query of 10,000 steps of a second. */
export function longRangeQuery(query: string, nowMs: number): Sending {
  const end = Math.floor(nowMs / 1_000);
  const params = new URLSearchParams({
    query,
    start: String(end - 10_000),
    end: String(end),
    step: "1",
  });
  return {
    path: "/api/v1/query_range",
    headers: { "content-type": "application/x-www-form-urlencoded" },
    body: params.toString(),
  };
}

/** Medians of 7,200 steps without any stored data: it needs no memory and seconds of processor time. */
export const slowQuery = (nowMs: number): Sending =>
  longRangeQuery("quantile_over_time(0.5, vector(1)[2h:1s])", nowMs);

export const sample = (name: string, value: number, timeMs: number): Sending => ({
  path: "/push",
  headers: json,
  body: JSON.stringify({ name, value, time: timeMs / 1_000 }),
});
