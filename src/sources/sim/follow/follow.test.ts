import { once } from "node:events";
import http from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Frame } from "../../../model/frame.ts";
import { labelValue } from "../../../model/labels.ts";
import type { Log } from "../../../base/log.ts";
import { parseSource } from "../../open.ts";
import type { PolledSource } from "../../source.ts";

vi.setConfig({ testTimeout: 120_000 });
const waiting = { timeout: 30_000, interval: 50 };

/** A service on loopback whose response a test can change at any time. */
let answer: { status: number; body: string };
let server: http.Server;
let asked = 0;
let source: PolledSource;
let clockMs: number;
let lines: string[];

beforeEach(async () => {
  answer = { status: 200, body: "" };
  asked = 0;
  clockMs = Date.UTC(2026, 0, 1);
  lines = [];
  server = http.createServer((_, response) => {
    asked += 1;
    response.writeHead(answer.status, { "content-type": "application/json" }).end(answer.body);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
});

afterEach(async () => {
  await source.close();
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

const say = (...gpus: object[]): void => {
  answer = { status: 200, body: JSON.stringify({ simulated: true, gpus }) };
};

async function follow(): Promise<void> {
  const { port } = server.address() as AddressInfo;
  const { definition, options } = parseSource(`sim:3?follow=http://127.0.0.1:${port}/load`);
  const note = (level: string) => (message: string, fields?: object) =>
    void lines.push(`${level} ${message} ${JSON.stringify(fields ?? {})}`);
  const log: Log = { debug() {}, info: note("info"), warn: note("warn"), error: note("error") };
  const context = { host: "lab", log, nowMs: () => clockMs, sysfs: "/sys", procfs: "/proc" };
  const made = await definition.create(options, context);
  source = made.shape === "polled" ? made : expect.fail("streams");
}

/** Reads after this much additional virtual time. */
async function later(ms: number, tier: "fast" | "slow" = "fast"): Promise<Frame> {
  clockMs += ms;
  return source.read(tier, clockMs, new AbortController().signal);
}

function of({ layout, values }: Frame, name: string, gpu: string): number | undefined {
  const at = layout.series.findIndex(
    ({ metric, labels }) => metric.name === name && labelValue(labels, "gpu") === gpu,
  );
  return values[at];
}

const inference = { gpu: 0, workload: "inference", busy: 0.43, memoryBytes: 6e10 };
const heavy = { gpu: 1, workload: "matmul_bf16", busy: 1, memoryBytes: 1e11 };

test("each GPU does what the service said last, and one it does not name is idle", async () => {
  say(inference, heavy);
  await follow();
  const frame = await vi.waitFor(async () => {
    const read = await later(5_000);
    expect(of(read, "gpu_utilization_ratio", "0")).toBeCloseTo(0.43, 2);
    return read;
  }, waiting);
  expect(of(frame, "gpu_memory_used_bytes", "0")).toBe(6e10);
  const watts = ["0", "1", "2"].map((gpu) => of(frame, "gpu_power_watts", gpu) ?? Number.NaN);
  expect(of(frame, "gpu_utilization_ratio", "1")).toBeCloseTo(1, 2);
  expect(of(frame, "gpu_utilization_ratio", "2")).toBe(0);
  // The model's own power: it rises with the load, and the idle GPU draws what an idle H200 draws.
  expect(watts[1]).toBeGreaterThan((watts[0] ?? 0) + 100);
  expect(watts[0]).toBeGreaterThan((watts[2] ?? 0) + 50);
  const owners = (await later(1_000, "slow")).layout.series
    .filter(({ metric }) => metric.name === "gpu_owner_info")
    .map(({ labels }) => `${labelValue(labels, "workload")} of ${labelValue(labels, "user")}`);
  expect(owners).toEqual(["inference-0 of service", "stress-1 of service"]);

  say({ ...inference, busy: 0.1 });
  await vi.waitFor(async () => {
    const read = await later(5_000);
    expect(of(read, "gpu_utilization_ratio", "0")).toBeCloseTo(0.1, 2);
    expect(of(read, "gpu_utilization_ratio", "1")).toBeCloseTo(0, 2);
  }, waiting);
});

test("a model that waits for work holds its memory and nothing else", async () => {
  say({ gpu: 2, workload: "idle", busy: 0, memoryBytes: 7e10 });
  await follow();
  await vi.waitFor(async () => {
    const read = await later(5_000);
    expect(of(read, "gpu_memory_used_bytes", "2")).toBe(7e10);
    expect(of(read, "gpu_utilization_ratio", "2")).toBe(0);
  }, waiting);
});

test("a service that is away for long leaves its GPUs idle, is reported once, and is taken up again", async () => {
  say(inference);
  await follow();
  await vi.waitFor(
    async () => expect(of(await later(100), "gpu_utilization_ratio", "0")).toBeGreaterThan(0.4),
    waiting,
  );
  answer = { status: 503, body: "" };
  const before = asked;
  await vi.waitFor(() => expect(asked).toBeGreaterThan(before + 1), waiting);
  // A service that is unavailable for a moment keeps its jobs.
  expect(of(await later(1_000), "gpu_utilization_ratio", "0")).toBeGreaterThan(0.4);
  expect(lines).toEqual([]);
  clockMs += 10_001;
  await vi.waitFor(
    async () => expect(of(await later(1_000), "gpu_utilization_ratio", "0")).toBeLessThan(0.01),
    waiting,
  );
  const since = asked;
  await vi.waitFor(() => expect(asked).toBeGreaterThan(since + 1), waiting);
  expect(lines).toHaveLength(1);
  expect(lines[0]).toMatch(/^warn .*GPUs are idle.*it answers with 503/);
  say(inference);
  await vi.waitFor(
    async () => expect(of(await later(1_000), "gpu_utilization_ratio", "0")).toBeGreaterThan(0.4),
    waiting,
  );
  expect(lines[1]).toMatch(/^info .*reachable again/);
});

test("no read waits for a service that never answers", async () => {
  server.removeAllListeners("request");
  server.on("request", () => void (asked += 1));
  await follow();
  await vi.waitFor(() => expect(asked).toBe(1), waiting);
  const signal = new AbortController().signal;
  expect(source.read("fast", clockMs, signal)).not.toBeInstanceOf(Promise);
});
