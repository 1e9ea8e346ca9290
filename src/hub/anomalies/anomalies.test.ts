import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, expect, test } from "vitest";
import { simulated } from "../../../test/fixtures/lake/analyses-anomaly.ts";
import type { NewEvent } from "../events/event.ts";
import { silentLog } from "../../base/log.ts";
import type { Tier } from "../../model/catalogue/index.ts";
import type { Frame } from "../../model/frame.ts";
import { deviceKey } from "../../model/device.ts";
import { identityOf } from "../../model/identity.ts";
import { LatestFrames } from "../../sinks/latest/latest.ts";
import { openStore, type Store } from "../../storage/embedded/store.ts";
import { Anomalies } from "./anomalies.ts";
import { openAnomalies } from "./open.ts";

const ends: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

let nowMs = Date.UTC(2026, 0, 5);

async function openHistory(): Promise<Store> {
  const dir = mkdtempSync(path.join(tmpdir(), "gpulse-anomalies-"));
  ends.push(() => rmSync(dir, { recursive: true, force: true }));
  const history = await openStore({
    dir,
    retentionMs: 30 * 86_400_000,
    memoryBytes: 64 * 2 ** 20,
    durability: "process",
    log: silentLog,
    nowMs: () => nowMs,
    workerFile: false,
    manual: true,
  });
  ends.push(() => history.close());
  return history;
}

function openWatch(history: Store) {
  const frames = new LatestFrames();
  const events: NewEvent[] = [];
  const anomalies = new Anomalies({
    frames,
    history,
    writer: history,
    events: {
      add: (event) => {
        events.push(event);
        return undefined;
      },
    },
    log: silentLog,
    nowMs: () => nowMs,
  });
  ends.push(() => anomalies.close());
  const show = (tier: Tier, frame: Frame): void => {
    nowMs = frame.timeMs;
    frames.write({ frame, source: "sim", tier, freshForMs: 5_000, devices: [] });
  };
  return { anomalies, events, show };
}

const stuck = `
fleet: [{ model: H200, count: 2 }]
workloads: [{ run: inference, level: 0.4 }]
faults: [{ fault: stuck-clocks, gpu: 1, at: 20m, for: 60m }]`;

test("an anomaly is a series that rules can ask for, and an event that says what was seen", async () => {
  const history = await openHistory();
  const { anomalies, events, show } = openWatch(history);
  await anomalies.ready();
  for (const [tier, frame] of simulated(stuck, 23)) show(tier, frame);
  expect(events).toHaveLength(1);
  const [event] = events;
  expect(event).toMatchObject({
    kind: "anomaly",
    state: "began",
    severity: "warning",
    title: "GPU 1 on lab: clock below its usual value under load",
    labels: { kind: "clock_low", gpu: "1", host: "lab" },
  });
  expect(event?.text).toMatch(/MHz under load, where it usually reaches 1980 MHz/);
  await anomalies.close();
  const { data } = await history.instant('gpu_anomaly_active{severity="warning"} == 1', nowMs);
  if (data.type !== "vector") return expect.fail();
  expect(data.samples.map(({ labels }) => Object.fromEntries(labels))).toEqual([
    expect.objectContaining({ kind: "clock_low", gpu: "1", job: "gpulse", instance: "lab:9400" }),
  ]);
  expect(anomalies.frame().layout.series.map(({ metric }) => metric.name)).toContain(
    "gpu_anomaly_active",
  );
});

test("after a restart the watch knows from the history what is usual and what was reported", async () => {
  const history = await openHistory();
  for (const [tier, frame] of simulated(stuck, 25)) {
    nowMs = frame.timeMs;
    await history.writeFrame({ frame, source: "sim", tier }, identityOf("lab"));
  }
  nowMs += 1_000;
  const { anomalies, events } = openWatch(history);
  await anomalies.ready();
  expect(anomalies.active().map(({ kind, device }) => `${device.gpu} ${kind}`)).toEqual([
    "1 clock_low",
  ]);
  const [found] = anomalies.active();
  expect(anomalies.activeKindsOf(deviceKey("lab", found?.device.uuid ?? ""))).toEqual([
    "clock_low",
  ]);
  expect(anomalies.activeKindsOf(deviceKey("other", found?.device.uuid ?? ""))).toEqual([]);
  expect(events).toEqual([]);
});

test("a history that cannot be read is no reason not to watch", async () => {
  const history = await openHistory();
  const broken = Object.create(history) as Store;
  broken.series = () => Promise.reject(new Error("away"));
  const { anomalies, events, show } = openWatch(broken);
  await anomalies.ready();
  for (const [tier, frame] of simulated(stuck, 23)) show(tier, frame);
  expect(events.map(({ state }) => state)).toEqual(["began"]);
});

test("turned off, it looks at nothing and reports nothing", async () => {
  const history = await openHistory();
  const frames = new LatestFrames();
  const off = openAnomalies(false, {
    frames,
    history,
    writer: history,
    log: silentLog,
    nowMs: () => nowMs,
  });
  expect(off.frame().layout.series).toEqual([]);
  await off.close();
});
