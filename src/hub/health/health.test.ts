import { expect, test } from "vitest";
import {
  but,
  card,
  frameOf,
  type GivenReading,
  healthStartMs,
  sound,
} from "../../../test/fixtures/view/health.ts";
import { silentLog } from "../../base/log.ts";
import type { Anomaly } from "../../lake/analyses/anomaly/anomaly.ts";
import { gpu } from "../../model/catalogue/index.ts";
import { type Device, deviceKey } from "../../model/device.ts";
import { LatestFrames } from "../../sinks/latest/latest.ts";
import { healthSchema } from "../../view/health/report.ts";
import type { HealthReason } from "../../view/health/verdict.ts";
import { fastify } from "fastify";
import * as v from "valibot";
import { HubHealth } from "./health.ts";
import { addHealth } from "./routes.ts";

const leak = (uuid: string): Anomaly => ({
  kind: "memory_leak",
  severity: "warning",
  device: { uuid, gpu: "1", host: "box", model: "", job: undefined, instance: undefined },
  seen: 1,
  expected: 0,
  unit: "bytes",
  sigmas: 9,
  says: "12 GB in 20 min.",
  series: [],
  sinceMs: healthStartMs,
  toldMs: healthStartMs,
  endedMs: undefined,
});

async function open(
  anomalies: readonly Anomaly[] = [],
  wear: ReadonlyMap<string, HealthReason> = new Map(),
) {
  const frames = new LatestFrames();
  const nowMs = () => healthStartMs + 1_000;
  const health = new HubHealth({
    frames,
    anomalies: () => anomalies,
    wear: () => wear,
    log: silentLog,
    nowMs,
    version: "1",
  });
  const app = fastify();
  addHealth(app, health);
  const show = (readings: readonly GivenReading[], device: Device): void =>
    frames.write({
      frame: frameOf(healthStartMs, readings, device),
      source: device.uuid,
      tier: "fast",
      freshForMs: 5_000,
      devices: [device],
    });
  show(sound, card);
  show(but([gpu.recoveryAction, 2]), { ...card, uuid: "GPU-b", index: 1 });
  const get = async (query = "") => {
    const { statusCode, body } = await app.inject(`/api/health${query}`);
    return { status: statusCode, body: JSON.parse(body) as unknown };
  };
  return { get, health };
}

test("/api/health has every GPU with its verdict", async () => {
  const { get } = await open();
  const report = v.parse(healthSchema, (await get()).body);
  expect(report.state).toBe("failing");
  expect(report.counts).toMatchObject({ healthy: 1, failing: 1 });
  expect(
    report.hosts[0]?.gpus.map(({ gpu: index, state, action }) => [index, state, action]),
  ).toEqual([
    [0, "healthy", "none"],
    [1, "failing", "reboot"],
  ]);
});

test.each([
  ["?state=failing,lost", ["GPU-b"]],
  ["?uuid=GPU-a", ["GPU-a"]],
  ["?host=other", []],
  ["?host=box", ["GPU-a", "GPU-b"]],
])("%s selects", async (query, uuids) => {
  const { get } = await open();
  const report = v.parse(healthSchema, (await get(query)).body);
  expect(report.hosts.flatMap(({ gpus }) => gpus.map(({ uuid }) => uuid))).toEqual(uuids);
  expect(report.counts).toMatchObject({ healthy: 1, failing: 1 });
});

test.each(["?state=sick", "?stat=failing", "?uuid=a&uuid=b"])("%s is refused", async (query) => {
  const { get } = await open();
  expect((await get(query)).status).toBe(400);
});

test("worn cooling is a reason", async () => {
  const wear = {
    check: "cooling",
    reason: "cooling_wears",
    title: "hotter",
    state: "degraded",
    action: "inspect",
    text: "7 °C hotter.",
    sinceMs: healthStartMs,
  } as const;
  const { health } = await open([], new Map([[deviceKey("box", "GPU-a"), wear]]));
  const [own] = health.report({ uuid: "GPU-a" }).hosts.flatMap(({ gpus }) => gpus);
  expect(own).toMatchObject({ state: "degraded", action: "inspect" });
  expect(own?.reasons.map(({ reason }) => reason)).toEqual(["cooling_wears"]);
});

test("an anomaly is a reason; a leak is the program's", async () => {
  const { health } = await open([leak("GPU-a")]);
  const [first] = health.report().hosts[0]?.gpus ?? [];
  expect(first).toMatchObject({ state: "healthy", action: "restart_app" });
  expect(first?.reasons[0]?.text).toBe("Anomaly, memory grows and never shrinks: 12 GB in 20 min.");
  health.close();
});
