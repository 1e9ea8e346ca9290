// Measures what eight GPUs at 30 s cost on the wire, at the socket of a real hub: bodies, headers and responses.

import { mkdtempSync, rmSync } from "node:fs";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, test } from "vitest";
import { silentLog } from "../../base/log.ts";
import { systemClock } from "../../base/clock.ts";
import { openHubSink } from "../../sinks/hub/open.ts";
import { LatestFrames } from "../../sinks/latest/latest.ts";
import { openSources } from "../../sources/open.ts";
import { hostFileAccess } from "../../machine/sysfs/file-access.ts";
import { createHub } from "../hub.ts";
import { openStorage } from "../storage.ts";
import { openAgents } from "./open.ts";

const intervalMs = 30_000;
const ticks = 10;

test("eight simulated GPUs at 30 s stay under 1 KB/s on the wire, headers and answers included", async () => {
  const dir = mkdtempSync(path.join(tmpdir(), "gpulse-wire-"));
  const nowMs = Date.now;
  const log = silentLog;
  const storage = await openStorage({ dir, retentionMs: 1e12, log, nowMs, version: "1.0.0" });
  const latest = new LatestFrames();
  const agents = openAgents({
    writer: storage.history,
    show: (delivery) => latest.write(delivery),
    log,
    nowMs,
    trustedNowMs: storage.trustedNowMs,
    oldestSampleMs: storage.oldestSampleMs,
    version: "1.0.0",
    retentionMs: 1e12,
    dataDir: dir,
    manual: true,
  });
  const hub = await createHub({
    latest,
    host: "127.0.0.1",
    port: 0,
    hostName: "hub",
    webDir: dir,
    log,
    nowMs,
    version: "1.0.0",
    metricsPage: () => ({ body: "", contentType: "text/plain" }),
    stats: () => ({}),
    ready: () => ({ ready: true, problems: [] }),
    api: { ...storage.api, agents },
  });
  const relay = await countingRelay(Number(new URL(hub.url).port));
  const [opened] = await openSources(["sim:8"], {
    fileAccess: hostFileAccess,
    host: "lab",
    log,
    nowMs,
    sysfs: "/sys",
    procfs: "/proc",
  });
  const source = opened?.source;
  if (source?.shape !== "polled") throw new Error("BUG: the simulator is not polled");
  const sink = openHubSink(
    {
      url: `http://127.0.0.1:${relay.port}`,
      token: "gp_0123456789abcdef0123456789abcdef",
      intervalMs,
      spoolMaxBytes: 1e8,
      spoolAgeMs: 1e9,
    },
    {
      log,
      clock: systemClock,
      random: () => 0,
      hostName: "lab",
      spoolDir: path.join(dir, "spool"),
      version: "1.0.0",
      identity: { job: "gpulse", instance: "lab:9400" },
    },
  );
  try {
    const firstMs = Math.floor(nowMs() / intervalMs) * intervalMs - ticks * intervalMs;
    let values = 0;
    let steadyFrom = 0;
    for (let tick = 0; tick < ticks; tick++) {
      const timeMs = firstMs + tick * intervalMs;
      for (const tier of source.tiers) {
        if (tier === "static" && tick % 2 === 1) continue;
        const frame = await source.read(tier, timeMs, new AbortController().signal);
        values += frame.values.length;
        const freshForMs = 3 * intervalMs;
        await sink.write({ frame, source: "sim", tier, freshForMs, devices: source.devices() });
      }
      while (sink.shipping().spool.records > 0)
        await new Promise((resolve) => setTimeout(resolve, 10));
      if (tick === 0) [steadyFrom, values] = [relay.bytes(), 0];
    }
    const bytes = relay.bytes() - steadyFrom;
    const perSecond = bytes / (((ticks - 1) * intervalMs) / 1_000);
    process.stdout.write(
      `push, 8 GPUs at 30 s: ${perSecond.toFixed(0)} B/s on the wire, ${(bytes / values).toFixed(2)} bytes a reading; ${steadyFrom} B once for layouts and the first tick\n`,
    );
    expect(perSecond).toBeLessThan(1_000);
    expect(perSecond).toBeGreaterThan(10);
  } finally {
    await sink.close();
    relay.close();
    await hub.close();
    await agents.close();
    await storage.close();
    rmSync(dir, { recursive: true });
  }
}, 30_000);

/** Forwards bytes in both directions and counts them. */
async function countingRelay(target: number) {
  const sockets = new Set<Socket>();
  let passed = 0;
  const server = createServer((incoming) => {
    const outgoing = connect(target, "127.0.0.1");
    for (const [from, to] of [
      [incoming, outgoing],
      [outgoing, incoming],
    ] as const) {
      sockets.add(from);
      from.on("data", (part: Buffer) => (passed += part.length));
      from.on("error", () => to.destroy());
      from.pipe(to);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    port: (server.address() as AddressInfo).port,
    bytes: () => passed,
    close: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}
