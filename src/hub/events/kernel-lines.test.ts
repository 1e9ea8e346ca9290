/** Tests of kernel log lines about GPUs on the timeline: of this machine, and from agents. */
import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fastify, type FastifyInstance } from "fastify";
import { afterEach, beforeEach, expect, test } from "vitest";
import { HealthSource } from "../../agent/health/source.ts";
import { silentLog } from "../../base/log.ts";
import { parseKernelLog } from "../../sinks/kernel-log/define.ts";
import type { KernelLine } from "../../sinks/kernel-log/line.ts";
import { addEvents } from "./routes.ts";
import { Timeline } from "./timeline.ts";

let dataDir = "";
let timeline: Timeline;
let app: FastifyInstance;
beforeEach(async () => {
  dataDir = mkdtempSync(path.join(tmpdir(), "gpulse-kernel-lines-"));
  timeline = new Timeline({
    dataDir,
    retentionMs: 86_400_000,
    hostName: "hub",
    onAlert: [],
    env: {},
    nowMs: Date.now,
    trustedNowMs: Date.now,
    log: silentLog,
  });
  app = fastify();
  await addEvents(app, timeline);
});
afterEach(async () => {
  await app.close();
  await timeline.close();
  rmSync(dataDir, { recursive: true });
});

const lines = () =>
  timeline.store.list({ fromMs: 0, toMs: Infinity, kinds: ["kernel"], limit: 10_000 }).events;
const line = (text: string, more: Partial<KernelLine> = {}): KernelLine => ({
  vendor: "nvidia",
  driver: "nvidia",
  level: "error",
  text,
  host: "node-7",
  timeNs: BigInt(Date.now()) * 1_000_000n,
  ...more,
});

test("an agent's lines are events of their host, and a batch that is sent again is stored once", async () => {
  const url = await app.listen({ host: "127.0.0.1", port: 0 });
  const { definition, options } = parseKernelLog(`hub+${url}`, {});
  const target = await definition.open(options, {
    stdout: process.stdout,
    version: "1",
    nowMs: Date.now,
  });
  const sent = [
    line("NVRM: Xid (PCI:0000:18:00): 79, fell off", { xid: 79, pciBusId: "0000:18:00.0" }),
    line(`NVRM: ${"long ".repeat(100)}`, {
      level: "info",
      timeNs: BigInt(Date.now() + 5) * 1_000_000n,
    }),
  ];
  const { signal } = new AbortController();
  expect(await target.send(sent, signal)).toEqual({ outcome: "sent" });
  expect(await target.send(sent, signal)).toEqual({ outcome: "sent" });
  target.close();
  expect(lines()).toMatchObject([
    {
      severity: "warning",
      title: "NVRM: Xid (PCI:0000:18:00): 79, fell off",
      labels: { host: "node-7", xid: "79", pci_bus_id: "0000:18:00.0" },
    },
    { severity: "info", text: sent[1]?.text },
  ]);
});

test("a hub that does not answer is asked again", async () => {
  const { definition, options } = parseKernelLog("hub+http://127.0.0.1:9", {});
  const context = { stdout: process.stdout, version: "1", nowMs: Date.now };
  const target = await definition.open(options, context);
  expect(await target.send([line("x")], new AbortController().signal)).toMatchObject({
    outcome: "retry",
  });
  target.close();
});

test("lines of the hub's own kernel log that come after its start are on the timeline", async () => {
  const kmsg = path.join(dataDir, "kmsg");
  writeFileSync(kmsg, "3,1,1000,-;NVRM: before the start\n");
  const source = new HealthSource({
    hostName: "hub",
    sysfs: dataDir,
    kmsg,
    onLine: (one) => timeline.addKernelLine(one),
  });
  await source.read("slow", Date.now());
  const sinceBootUs = Number(process.hrtime.bigint() / 1_000n) + 1_000_000;
  appendFileSync(kmsg, `3,2,${sinceBootUs},-;NVRM: Xid (PCI:0000:18:00): 31, pid=1\n`);
  await expect
    .poll(() => lines().map(({ title }) => title), { timeout: 20_000 })
    .toEqual(["NVRM: Xid (PCI:0000:18:00): 31, pid=1"]);
  await source.close();
});

test("a driver that repeats itself fills a part of the timeline at most", () => {
  const hourMs = Math.floor(Date.now() / 3_600_000) * 3_600_000;
  for (let at = 0; at < 1_500; at++)
    timeline.addKernelLine(line("again", { timeNs: 1_000_000n * BigInt(hourMs + at) }));
  expect(lines()).toHaveLength(1_000);
});
