import { mkdtempSync, rmSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { startHub } from "../engines/hub.ts";
import { LoadFleet, makeTokens } from "./load-fleet.ts";
import { processCost } from "./process-cost.ts";
const hosts = Number(process.argv[2] ?? "1250");
const folder = mkdtempSync("/dev/shm/gpulse-load-");
const dataDir = path.join(folder, "hub");
let t = performance.now();
const tokens = makeTokens(dataDir, hosts);
console.log("tokens", performance.now() - t);
const hub = await startHub({ dataDir, args: [] });
const fleet = new LoadFleet({ hubUrl: hub.url, hosts, processes: 3, spoolDir: path.join(folder, "spool"), tokens, intervalMs: 15_000 });
process.on("SIGINT", () => process.exit(1));
try {
  t = performance.now();
  await fleet.ready();
  console.log("ready", performance.now() - t);
  for (const [ms, secs] of [[15_000, 40], [5_000, 25], [500, 20], [0, 3]] as const) {
    fleet.pace(ms);
    let c0 = processCost(hub.process.pid), s0 = fleet.now, w0 = performance.now();
    for (let i = 0; i < secs / 5; i++) {
      await sleep(5000);
      const th = performance.now();
      const ok = await fetch(hub.url + "/-/healthy").then(r => r.status, e => String(e));
      const lat = performance.now() - th;
      const c = processCost(hub.process.pid), s = fleet.now, dt = (performance.now() - w0) / 1000;
      console.log(ms, "cpu", ((c.cpuSeconds - c0.cpuSeconds) / dt).toFixed(2), "rss", (c.residentBytes / 2 ** 20).toFixed(0), "sent/s", Math.round((s.sent - s0.sent) / dt), "waiting", s.waiting, "retries", s.retries, "lag", s.lagSeconds.toFixed(1), "healthy", ok, lat.toFixed(0), JSON.stringify(s.troubles).slice(0, 300));
      c0 = c; s0 = s; w0 = performance.now();
    }
  }
  console.log("settled in", await fleet.settle(300_000), fleet.now);
  await sleep(5000);
  console.log("rss", processCost(hub.process.pid).residentBytes / 2 ** 20);
  const m = await (await fetch(hub.url + "/metrics", {headers: {}})).text();
  console.log(m.split("\n").filter(l => /gpulse_received_samples_total\{.*push/.test(l) && !l.endsWith(" 0")).join("\n"));
  console.log(hub.process.output().slice(-1500));
} finally { await fleet.stop(); await hub.stop(); rmSync(folder, { recursive: true, force: true }); }
