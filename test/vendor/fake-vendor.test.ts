// Tests that a new vendor takes one folder and one line in the list of sources. The agent here has both; the hub is the built
// program, which does not include the vendor, like an older hub.

import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { Writable } from "node:stream";
import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { startHub, type RunningHub } from "../../engines/hub.ts";
import { freePort } from "../../engines/ports.ts";
import { ensureBuild } from "../../engines/program.ts";
import { agentsOf, queryHub } from "../../engines/push.ts";
import { waitUntil } from "../../engines/wait.ts";
import { runAgent } from "../../src/agent/run.ts";
import { silentLog } from "../../src/base/log.ts";
import type { CommandIo } from "../../src/cli/command/io.ts";
import { runTop } from "../../src/cli/top/run.ts";
import { openSources } from "../../src/sources/open.ts";
import type { SourceDefinition } from "../../src/sources/source.ts";
import type { WireFleet } from "../../src/view/live/protocol.ts";
import { gpuOf } from "../../src/view/gpu.ts";
import { groupOf } from "../../web/src/pages/fleet/group.ts";
import { fakeDevice } from "./fake/define.ts";

vi.mock("../../src/sources/list.ts", async (importOriginal) => {
  const { sources } = await importOriginal<{ readonly sources: readonly SourceDefinition[] }>();
  const { fake } = await import("./fake/define.ts");
  return { sources: [...sources, fake] };
});

const { uuid, vendor, model } = fakeDevice;
const folder = mkdtempSync(path.join(tmpdir(), "gpulse-vendor-"));
const lake = path.join(folder, "lake");
const hubData = path.join(folder, "hub");
let hub: RunningHub;
let hubPort: number;
let agentUrl: string;
let stopAgent: () => Promise<number>;
const collector: { server?: Server; readonly bodies: string[] } = { bodies: [] };

function commandIo(): CommandIo & { readonly printed: () => string; readonly stop: () => void } {
  let text = "";
  let stop = (): void => {};
  const stopping = new Promise<string>((resolve) => (stop = () => resolve("test")));
  const stdout = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      text += chunk.toString();
      done();
    },
  });
  const stderr = new Writable({ write: (_chunk, _encoding, done) => done() });
  const io = { env: {}, stdout, stderr, version: "1.0.0", stopped: () => stopping };
  return { ...io, printed: () => text, stop: () => stop() };
}

beforeAll(async () => {
  await ensureBuild();
  hubPort = await freePort();
  hub = await startHub({ dataDir: hubData, port: hubPort });
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const body = Buffer.concat(chunks);
      const isPacked = request.headers["content-encoding"] === "gzip";
      collector.bodies.push((isPacked ? gunzipSync(body) : body).toString());
      response.setHeader("content-type", "application/json").end("{}");
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  collector.server = server;
  const { port: otlpPort } = server.address() as AddressInfo;
  const port = await freePort();
  agentUrl = `http://127.0.0.1:${port}`;
  const io = commandIo();
  const running = runAgent(
    {
      source: ["fake:"],
      hostName: "fake-host",
      host: "127.0.0.1",
      port: String(port),
      logLevel: "error",
      push: [hub.url],
      spool: path.join(folder, "spool"),
      to: [
        `parquet:${lake}`,
        `otlp+http://127.0.0.1:${otlpPort}/v1/metrics?encoding=json&names=hw`,
      ],
    },
    io,
  );
  stopAgent = async () => {
    io.stop();
    return running;
  };
  let failure: string | undefined;
  running.catch((error: unknown) => (failure = String(error)));
  const giveUp = (): string | undefined => failure;
  await waitUntil({ what: "the agent's page", timeoutMs: 30_000, giveUp }, async () => {
    const page = await fetch(`${agentUrl}/metrics`).catch(() => undefined);
    return (await page?.text())?.includes("gpu_power_watts") === true ? true : undefined;
  });
}, 300_000);

afterAll(async () => {
  await hub.stop();
  collector.server?.close();
  rmSync(folder, { recursive: true, force: true });
});

const hubPlace = (): { dataDir: string; port: number } => ({ dataDir: hubData, port: hubPort });

test("the agent exposes the vendor on its page and in /stats", async () => {
  const page = await (await fetch(`${agentUrl}/metrics`)).text();
  expect(page).toMatch(new RegExp(`^gpu_info\\{.*model="${model}".*vendor="${vendor}"\\} 1$`, "m"));
  const stats = (await (await fetch(`${agentUrl}/stats`)).json()) as {
    gpus: { vendor: { value: string } }[];
  };
  expect(stats.gpus.map((one) => one.vendor.value)).toEqual([vendor]);
});

test("a hub that does not know the vendor accepts the push, stores it and shows it live", async () => {
  const info = await waitUntil(
    { what: "gpu_info in the hub's store", timeoutMs: 30_000 },
    async () => {
      const [found] = await queryHub(hubPlace(), "gpu_info");
      return found?.metric;
    },
  );
  expect(info).toMatchObject({ uuid, vendor, model, host: "fake-host" });
  expect(await agentsOf(hubPlace())).toMatchObject([{ state: "ok", spool: { lostRecords: 0 } }]);
  const fleet = (await (await fetch(`${hub.url}/api/fleet`)).json()) as WireFleet;
  expect(fleet.devices).toMatchObject([{ uuid, vendor, model, driver: "1.2.3" }]);
  const [device] = fleet.devices;
  const [row] = fleet.frame.rows;
  if (device === undefined || row === undefined) throw new Error("the live feed has no GPU");
  expect(groupOf(gpuOf(device, row, fleet.frame.timeMs), "vendor", () => undefined)).toBe(vendor);
});

test.for(["agent", "hub"] as const)("top shows the vendor from the %s", async (origin) => {
  const io = commandIo();
  const url = origin === "agent" ? agentUrl : hub.url;
  expect(await runTop({ url, once: true, json: true }, io)).toBe(0);
  const { gpus } = JSON.parse(io.printed()) as { gpus: readonly object[] };
  expect(gpus).toMatchObject([{ uuid, vendor, model, readings: { power: { value: 42 } } }]);
});

test("OTLP carries the vendor's text as hw.vendor", async () => {
  const attribute = `{"key":"hw.vendor","value":{"stringValue":"${vendor}"}}`;
  const body = await waitUntil({ what: "a request with hw.vendor", timeoutMs: 30_000 }, async () =>
    collector.bodies.find((one) => one.includes(attribute)),
  );
  expect(body).toContain(uuid);
});

test("the lake holds the vendor, and a source that reads the lake reports it", async () => {
  expect(await stopAgent()).toBe(0);
  const context = {
    host: "reader",
    log: silentLog,
    nowMs: Date.now,
    sysfs: "/sys",
    procfs: "/proc",
  };
  const [opened] = await openSources([`parquet:${lake}`], context);
  if (opened?.source.shape !== "streaming") throw new Error("BUG: the lake is not a stream");
  await opened.source.run(async () => {}, new AbortController().signal);
  expect(opened.source.devices()).toMatchObject([{ uuid, vendor, model }]);
  await opened.source.close();
});
