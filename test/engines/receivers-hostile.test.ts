// One client floods the built hub with everything that is expensive, while another sends as usual: the latter is always
// served, loses nothing, and the hub stays within its memory limit.

import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { Agent, request } from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import { gzipSync } from "node:zlib";
import { compress } from "snappyjs";
import { afterAll, beforeAll, expect, test } from "vitest";

import { WriteClient, WriteRequests } from "../../bench/remote-write.ts";
import { type RunningHub, startHub } from "../../engines/hub.ts";
import { waitUntil } from "../../engines/wait.ts";
import { labelSet } from "../../src/model/labels.ts";

const WRITES = 60;
const SERIES = 50;
const HAMMERS = 12;
/** An idle hub takes about 130 MiB; up to 256 MiB of requests may be in flight, plus the columns of a request. */
const MOST_BYTES = 1_500 * 2 ** 20;

let hub: RunningHub;
const stops: (() => Promise<void>)[] = [];

beforeAll(async () => {
  const folder = await mkdtemp(path.join(tmpdir(), "gpulse-hostile-"));
  stops.push(() => rm(folder, { recursive: true, force: true }));
  hub = await startHub({ dataDir: path.join(folder, "data") });
  stops.unshift(() => hub.stop());
});

afterAll(async () => {
  for (const stop of stops) await stop();
});

interface Attack {
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

const protobuf = { "content-type": "application/x-protobuf" };
const v1 = { ...protobuf, "content-encoding": "snappy" };
const gzip = { "content-encoding": "gzip" };
const label = (name: string, value: string): Buffer => {
  const field = (tag: number, text: Buffer): Buffer =>
    Buffer.concat([Buffer.from([tag, ...varint(text.length)]), text]);
  return field(
    0x0a,
    Buffer.concat([field(0x0a, Buffer.from(name)), field(0x12, Buffer.from(value))]),
  );
};
function varint(value: number): number[] {
  const bytes: number[] = [];
  for (let rest = value; ; rest = Math.floor(rest / 128)) {
    if (rest < 128) return [...bytes, rest];
    bytes.push((rest % 128) + 128);
  }
}
const oneSeries = (labels: readonly Buffer[]): Buffer => {
  const inner = Buffer.concat([...labels, Buffer.from([0x12, 0x00])]);
  return Buffer.from(
    compress(Buffer.concat([Buffer.from([0x0a, ...varint(inner.length)]), inner])),
  );
};

const zeros = Buffer.alloc(64 * 2 ** 20);
const attacks: readonly Attack[] = [
  { path: "/write", headers: gzip, body: gzipSync(zeros) },
  { path: "/v1/metrics", headers: { ...protobuf, ...gzip }, body: gzipSync(zeros) },
  {
    path: "/push",
    headers: { "content-type": "application/json", ...gzip },
    body: gzipSync(zeros),
  },
  {
    path: "/api/v1/write",
    headers: v1,
    body: Buffer.from(compress(zeros.subarray(0, 31 * 2 ** 20))),
  },
  { path: "/api/v1/write", headers: v1, body: Buffer.from([0xff, 0xff, 0xff, 0x0e, 0, 0]) },
  { path: "/api/v1/write", headers: v1, body: zeros.subarray(0, 17 * 2 ** 20) },
  {
    path: "/api/v1/write",
    headers: v1,
    body: oneSeries(Array.from({ length: 300_000 }, (_, i) => label(`l${i}`, "x"))),
  },
  {
    path: "/api/v1/write",
    headers: v1,
    body: oneSeries([label("__name__", "x"), label("l", "x".repeat(2 ** 20))]),
  },
  { path: "/push", headers: {}, body: Buffer.from("[".repeat(1_000_000)) },
  {
    path: "/v1/metrics",
    headers: { "content-type": "application/json" },
    body: Buffer.from(`{"resourceMetrics":${"[".repeat(100_000)}`),
  },
  { path: "/write", headers: {}, body: Buffer.from('m f="'.repeat(200_000)) },
  {
    path: "/write",
    headers: {},
    body: Buffer.from("m,a=b f=1 9999999999999999999\n".repeat(50_000)),
  },
];

/** From another address than the regular client, because in-flight bytes are limited per address. */
function strike(agent: Agent, { path: route, headers, body }: Attack): Promise<number> {
  return new Promise((resolve) => {
    const sending = request(
      hub.url + route,
      {
        method: "POST",
        agent,
        localAddress: "127.0.0.2",
        headers: { ...headers, "content-length": body.length },
        timeout: 30_000,
      },
      (response) => {
        response.resume();
        response.on("close", () => resolve(response.statusCode ?? 0));
      },
    );
    // The hub closes the connection of a request that exceeds its limits.
    sending.on("error", () => resolve(0));
    sending.end(body);
  });
}

test("a good sender is served while another hammers, and the hub stays within bounds", async () => {
  const end = new AbortController();
  const statuses = new Map<number, number>();
  const agent = new Agent({ keepAlive: true, maxSockets: HAMMERS });
  const hammering = Array.from({ length: HAMMERS }, async (_, first) => {
    for (let next = first; !end.signal.aborted; next++) {
      const status = await strike(agent, attacks[next % attacks.length] as Attack);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
  });
  const labels = Array.from({ length: SERIES }, (_, index) =>
    labelSet({ __name__: "good", index: String(index) }),
  );
  const requests = new WriteRequests(labels);
  const client = new WriteClient(hub.url);
  const startMs = Date.now() - WRITES * 1_000;
  const answers: number[] = [];
  for (let count = 0; count < WRITES; count++) {
    const body = requests.encode(0, SERIES, [startMs + count * 1_000], () => count);
    answers.push((await client.send(body)).status);
  }
  end.abort();
  await Promise.all(hammering);
  agent.destroy();
  client.close();
  expect(answers).toEqual(Array.from({ length: WRITES }, () => 204));
  // All of them are rejected, whatever their cost; a closed connection counts as a rejection.
  expect([...statuses.keys()].filter((status) => ![0, 400, 413, 429].includes(status))).toEqual([]);
  expect(statuses.get(400)).toBeGreaterThan(0);
  expect(statuses.get(413)).toBeGreaterThan(0);
  const route = `/api/v1/query?query=${encodeURIComponent("sum(count_over_time(good[10m]))")}`;
  const said = (await (await fetch(hub.url + route)).json()) as {
    data: { result: { value: [number, string] }[] };
  };
  expect(said.data.result[0]?.value[1]).toBe(String(WRITES * SERIES));
  const peak = /^VmHWM:\s+(\d+) kB$/m.exec(
    readFileSync(`/proc/${hub.process.pid}/status`, "utf8"),
  )?.[1];
  expect(Number(peak) * 1_024).toBeLessThan(MOST_BYTES);
  await waitUntil({ what: "the counts by reason", timeoutMs: 20_000 }, async () => {
    const page = await (await fetch(`${hub.url}/metrics`)).text();
    const reasons = ["malformed_request", "too_large_request", "bad_labels"];
    return reasons.every((reason) =>
      new RegExp(
        `gpulse_received_samples_total\\{outcome="${reason}",way="remote_write"\\} [1-9]`,
      ).test(page),
    )
      ? true
      : undefined;
  });
});
