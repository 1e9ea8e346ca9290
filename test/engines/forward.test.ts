// A hub under load forwards all data to a real Prometheus, a real VictoriaMetrics and a hub above it. Each of them, and
// the hub itself, goes down and returns; in the end all have every acknowledged sample.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";

import { type RunningHub, startHub } from "../../engines/hub.ts";
import { freePort } from "../../engines/ports.ts";
import { ensureBuild } from "../../engines/program.ts";
import { startPrometheus } from "../../engines/prometheus.ts";
import { toolOrSkip } from "../../engines/tools.ts";
import { startVictoriaMetrics } from "../../engines/victoria-metrics.ts";
import { waitUntil } from "../../engines/wait.ts";
import { type ForwardLoad, heldByApi, heldByExport, startForwardLoad } from "./forward-load.ts";

const awayMs = 2_000;
const stops: (() => Promise<void>)[] = [];
let folder: string;

beforeAll(async () => {
  await ensureBuild();
  folder = await mkdtemp(path.join(tmpdir(), "gpulse-forward-"));
  stops.push(() => rm(folder, { recursive: true, force: true }));
});

afterAll(async () => {
  for (const stop of stops) await stop();
});

const sorted = (samples: readonly string[]): string[] => [...samples].sort();

/** Waits until the hub's metrics report an empty spool. */
async function handedOn(hub: RunningHub): Promise<void> {
  await waitUntil({ what: "the spool to be empty", timeoutMs: 60_000 }, async () => {
    const page = await (await fetch(`${hub.url}/metrics`)).text();
    const waiting = [...page.matchAll(/^gpulse_spool_records\{[^}]*\} (\d+)$/gm)];
    if (waiting.length === 0) throw new Error("no spool on the page");
    return waiting.every(([, records]) => records === "0") ? true : undefined;
  });
}

async function restart(hub: RunningHub, kept: HubKept, how: "stop" | "kill"): Promise<RunningHub> {
  await hub[how]();
  await sleep(500);
  return startHub(kept);
}

type HubKept = Parameters<typeof startHub>[0];

async function hubTo(name: string, url: string): Promise<{ hub: RunningHub; kept: HubKept }> {
  const kept = {
    dataDir: path.join(folder, name),
    port: await freePort(),
    args: [`--to=${url}`],
  };
  return { hub: await startHub(kept), kept };
}

/** Ends the load and waits until all samples have arrived. */
async function settle(load: ForwardLoad, hub: RunningHub): Promise<void> {
  await sleep(1_000);
  await load.stop();
  await handedOn(hub);
}

test(
  "a real Prometheus has every sample once, whichever of the two was stopped or killed",
  { retry: 0, timeout: 180_000 },
  async (context) => {
    const file = toolOrSkip(context, "prometheus");
    const prometheus = await startPrometheus({ path: file, config: {}, logLevel: "warn" });
    stops.unshift(() => prometheus.stop());
    const made = await hubTo(
      "to-prometheus",
      `remote-write+${prometheus.url}/api/v1/write?shards=3&batch=50`,
    );
    let { hub } = made;
    stops.unshift(() => hub.stop());
    const load = startForwardLoad(hub.url, 20);
    await sleep(1_000);
    await prometheus.whileAway(() => sleep(awayMs));
    await sleep(1_000);
    await prometheus.whileAway(() => sleep(awayMs), "SIGKILL");
    await sleep(1_000);
    hub = await restart(hub, made.kept, "stop");
    await sleep(1_000);
    for (let count = 0; count < 3; count++) {
      hub = await restart(hub, made.kept, "kill");
      await sleep(500);
    }
    await settle(load, hub);
    expect(load.acknowledged.length).toBeGreaterThan(100);
    expect(sorted(await heldByApi(prometheus.url))).toEqual(sorted(load.acknowledged));
  },
);

test(
  "a real VictoriaMetrics has every sample, once where nobody was killed",
  { retry: 0, timeout: 180_000 },
  async (context) => {
    const file = toolOrSkip(context, "victoria-metrics");
    const victoria = await startVictoriaMetrics(file);
    stops.unshift(() => victoria.stop());
    const made = await hubTo("to-victoria", `remote-write+${victoria.url}/api/v1/write?shards=3`);
    let { hub } = made;
    stops.unshift(() => hub.stop());
    const load = startForwardLoad(hub.url, 20);
    await sleep(1_000);
    await victoria.whileAway(() => sleep(awayMs));
    await sleep(1_000);
    hub = await restart(hub, made.kept, "stop");
    await settle(load, hub);
    const once = await heldByExport(victoria.url, load.acknowledged.length);
    expect(sorted(once)).toEqual(sorted(load.acknowledged));

    // VictoriaMetrics stores resent samples twice: only those in flight when the hub was killed may be duplicated.
    const more = startForwardLoad(hub.url, 20);
    await sleep(1_000);
    hub = await restart(hub, made.kept, "kill");
    await settle(more, hub);
    const acknowledged = [...load.acknowledged, ...more.acknowledged];
    const held = await heldByExport(victoria.url, acknowledged.length);
    expect(sorted([...new Set(held)])).toEqual(sorted(acknowledged));
    expect(held.length - acknowledged.length).toBeLessThanOrEqual(more.acknowledged.length);
  },
);

test(
  "a hub above has every sample once by remote-write 2.0, whichever of the two was stopped or killed",
  { retry: 0, timeout: 180_000 },
  async () => {
    const keptAbove: HubKept = { dataDir: path.join(folder, "above"), port: await freePort() };
    let above = await startHub(keptAbove);
    stops.unshift(() => above.stop());
    const made = await hubTo("below", `remote-write+${above.url}/api/v1/write?version=2`);
    let { hub } = made;
    stops.unshift(() => hub.stop());
    const load = startForwardLoad(hub.url, 20);
    await sleep(1_000);
    for (const how of ["stop", "kill"] as const) {
      above = await restart(above, keptAbove, how);
      await sleep(500);
      hub = await restart(hub, made.kept, how);
      await sleep(500);
    }
    await settle(load, hub);
    expect(hub.process.output()).not.toContain("does not support remote-write 2.0");
    expect(sorted(await heldByApi(above.url))).toEqual(sorted(load.acknowledged));
  },
);
