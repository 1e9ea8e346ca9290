// Agents that push to a hub, observed from outside: by a real Prometheus that scrapes only the hub, by one that scrapes
// the agent as well, and by a client that repeats a request or has no permission to send one.

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";

import { makeAuthority, writeCertificate } from "../../engines/certificates.ts";
import { freePort } from "../../engines/ports.ts";
import { runProcess } from "../../engines/process.ts";
import { ensureBuild } from "../../engines/program.ts";
import { type RunningPrometheus, startPrometheus } from "../../engines/prometheus.ts";
import {
  addPushToken,
  agentsOf,
  askHub,
  type HubLocation,
  hubUrl,
  type Killable,
  queryHub,
  startPushAgent,
  startPushHub,
} from "../../engines/push.ts";
import { hubProgram } from "../../engines/hub.ts";
import { findTool, toolOrSkip } from "../../engines/tools.ts";
import { waitUntil } from "../../engines/wait.ts";
import { encodeDevices, decodeLayout, encodeLayout } from "../../src/formats/frames/layout.ts";
import { FrameEncoder } from "../../src/formats/frames/frame.ts";
import { encodeHello } from "../../src/formats/frames/hello.ts";
import { contentType, recordKind, RequestWriter } from "../../src/formats/frames/request.ts";
import { gpu } from "../../src/model/catalogue/index.ts";
import { labelSet } from "../../src/model/labels.ts";
import { LayoutBuilder } from "../../src/model/layout.ts";

const found = findTool("prometheus");
const ca = makeAuthority("gpulse test CA");
const stops: (() => Promise<void>)[] = [];
let folder = "";
let hub: HubLocation;
let guarded: HubLocation;
let first: Killable & { readonly port: number };
let second: Killable & { readonly port: number };
let prometheus: RunningPrometheus;

const file = (name: string): string => path.join(folder, name);

beforeAll(async () => {
  await ensureBuild();
  folder = await mkdtemp(path.join(tmpdir(), "gpulse-push-"));
  stops.push(() => rm(folder, { recursive: true, force: true }));
  writeCertificate(folder, "hub", ca.issue({ commonName: "hub", names: ["127.0.0.1"] }));
  await writeFile(file("ca.pem"), ca.cert);
  await writeFile(file("other-ca.pem"), makeAuthority("another CA").cert);
  hub = { dataDir: file("hub"), port: await freePort() };
  guarded = {
    dataDir: file("guarded"),
    port: await freePort(),
    tls: { cert: file("hub.pem"), key: file("hub.key"), ca: ca.cert },
  };
  await addPushToken(guarded.dataDir, "unused");
  for (const place of [hub, guarded]) {
    const running = await startPushHub(place);
    stops.unshift(() => running.stop());
  }
  first = await start("localhost", 1);
  second = await start("other", 2);
  await waitUntil({ what: "eight GPUs on the hub", timeoutMs: 30_000 }, async () =>
    (await queryHub(hub, "gpu_power_watts")).length === 8 ? true : undefined,
  );
  if (!("path" in found)) return;
  prometheus = await startPrometheus({
    path: found.path,
    config: {
      global: { scrape_interval: "1s", scrape_timeout: "1s" },
      scrape_configs: [
        {
          job_name: "hub",
          honor_labels: true,
          static_configs: [{ targets: [`127.0.0.1:${hub.port}`] }],
        },
      ],
    },
  });
  stops.unshift(() => prometheus.stop());
});

afterAll(async () => {
  for (const stop of stops) await stop();
});

async function start(hostName: string, seed: number, args: readonly string[] = []) {
  const agent = await startPushAgent({
    hostName,
    source: `sim:4?seed=${seed}`,
    spool: file(`spool-${hostName}-${seed}`),
    args: ["--interval=1s", ...(args.length > 0 ? args : [`--push=${hubUrl(hub)}`])],
  });
  stops.unshift(() => agent.stop());
  return agent;
}

async function byInstance(
  ask: (query: string) => Promise<readonly Counted[]>,
): Promise<Record<string, string>> {
  const counts = await ask("count by (instance) (gpu_power_watts)");
  return Object.fromEntries(
    counts.map(({ metric, value }) => [metric["instance"] ?? "", value?.[1] ?? ""]),
  );
}

interface Counted {
  readonly metric: Readonly<Record<string, string>>;
  readonly value?: readonly [number, string];
}

test("a Prometheus that scrapes only the hub sees every GPU of both agents, under the agents' own identity", async (context) => {
  toolOrSkip(context, "prometheus");
  const seen = await waitUntil({ what: "eight GPUs", timeoutMs: 30_000 }, async () => {
    const counts = await byInstance((query) => prometheus.query(query));
    return Object.keys(counts).length === 2 ? counts : undefined;
  });
  expect(seen).toEqual({ [`localhost:${first.port}`]: "4", [`other:${second.port}`]: "4" });
  const [target] = await prometheus.targets();
  expect(target).toMatchObject({ health: "up", lastError: "" });
  // The hub's result for the same query, with its own PromQL engine.
  expect(await byInstance((query) => queryHub(hub, query))).toEqual(seen);
});

test("an agent that is both pushed and scraped is there once: no sum is doubled", async (context) => {
  const program = toolOrSkip(context, "prometheus");
  const scraper = await startPrometheus({
    path: program,
    config: {
      global: { scrape_interval: "1s", scrape_timeout: "1s" },
      scrape_configs: [
        {
          job_name: "gpulse",
          static_configs: [{ targets: [`localhost:${first.port}`] }],
        },
      ],
      remote_write: [{ url: `${hubUrl(hub)}/api/v1/write` }],
    },
  });
  try {
    const query = `count_over_time(gpu_power_watts{gpu="0",instance="localhost:${first.port}"}[20s])`;
    await waitUntil({ what: "samples from both ways", timeoutMs: 60_000 }, async () => {
      const [count] = await queryHub(hub, query);
      return Number(count?.value?.[1] ?? 0) > 25 ? true : undefined;
    });
    const instance = `{instance="localhost:${first.port}"}`;
    const one = async (expression: string) =>
      Number((await queryHub(hub, expression))[0]?.value?.[1]);
    expect(await one(`count(gpu_power_watts${instance})`)).toBe(4);
    expect(await one(`count(up${instance})`)).toBe(1);
    const pushedTwice = await one(`sum(gpu_power_watts${instance})`);
    const scraped = (await scraper.query("sum(gpu_power_watts)"))[0]?.value[1];
    // The same four GPUs with one sample per second, not eight GPUs.
    expect(pushedTwice / Number(scraped)).toBeGreaterThan(0.6);
    expect(pushedTwice / Number(scraped)).toBeLessThan(1.6);
  } finally {
    await scraper.stop();
  }
});

test("a request sent again is refused with how far the hub is, and nothing of it is stored", async () => {
  const builder = new LayoutBuilder();
  builder.add(gpu.power, labelSet({ uuid: "REPLAY", gpu: "0", host: "replay" }));
  const layout = encodeLayout(builder.build());
  const devices = encodeDevices([]);
  const request = (timeMs: number): Buffer => {
    const writer = new RequestWriter();
    const hello = {
      agent: "replay:1",
      session: "one",
      version: "1",
      host: "replay",
      job: "gpulse",
      instance: "replay:1",
      sentMs: Date.now(),
      intervalMs: 60_000,
      spool: { records: 0, bytes: 0, lost: 0 },
      capabilities: [],
    };
    writer.record(recordKind.hello, encodeHello(hello));
    writer.record(recordKind.layout, layout.content);
    writer.record(recordKind.devices, devices.content);
    const frame = {
      sequence: 41,
      layout: layout.hash,
      devices: devices.hash,
      source: "test",
      host: "",
      tier: "fast",
      freshForMs: 5_000,
      timeMs,
      presence: Uint8Array.of(0),
      values: Float64Array.of(100),
    } as const;
    const { resolutions } = decodeLayout(layout.content);
    writer.record(recordKind.frame, new FrameEncoder().encode(frame, resolutions));
    return writer.finish();
  };
  const send = async (body: Buffer) =>
    askHub(hub, "/api/push/v1", {
      method: "POST",
      body,
      headers: { "content-type": contentType },
    });
  const nowMs = Date.now();
  expect(await send(request(nowMs))).toMatchObject({ status: 200 });
  for (const timeMs of [nowMs, nowMs + 1_000]) {
    const { status, body } = await send(request(timeMs));
    expect(status).toBe(409);
    expect(JSON.parse(body)).toMatchObject({ acknowledged: 41 });
  }
  const query = 'count_over_time(gpu_power_watts{uuid="REPLAY"}[1m])';
  expect((await queryHub(hub, query, nowMs + 2_000))[0]?.value?.[1]).toBe("1");
  const forgotten = await askHub(hub, "/api/agents/replay%3A1", { method: "DELETE" });
  expect(forgotten.status).toBe(204);
  expect(await queryHub(hub, 'gpu_power_watts{uuid="REPLAY"}')).toEqual([]);
});

test("without a token, with a wrong or revoked one, or by a wrong CA nothing comes in; then all that waited does", async () => {
  const token = await addPushToken(guarded.dataDir, "node");
  await writeFile(file("token"), "gp_wrong");
  const push = `--push=${hubUrl(guarded)}`;
  const none = await start("none", 3, [push, `--ca=${file("ca.pem")}`]);
  const stranger = await start("stranger", 4, [
    push,
    `--ca=${file("other-ca.pem")}`,
    `--token=${token}`,
  ]);
  const wrong = await start("wrong", 5, [
    push,
    `--ca=${file("ca.pem")}`,
    `--token=file:${file("token")}`,
  ]);
  await none.process.waitForOutput(/requires a token with the push scope/);
  await wrong.process.waitForOutput(/requires a token with the push scope/);
  await stranger.process.waitForOutput(/send failed.*certificate/);
  expect(await agentsOf(guarded)).toEqual([]);
  expect(await queryHub(guarded, '{__name__=~".+"}')).toEqual([]);
  for (const { process } of [none, wrong, stranger]) expect(process.output()).not.toContain(token);
  // The next attempt reads the file again, and no pending frame is lost.
  await writeFile(file("token"), token);
  await waitUntil({ what: "what waited to arrive", timeoutMs: 90_000 }, async () => {
    const [agent] = await agentsOf(guarded);
    return (agent?.sequence ?? 0) > 30 && (agent?.spool?.records ?? 9) < 5 ? true : undefined;
  });
  const times = await queryHub(guarded, 'gpu_up{gpu="0"}[5m]');
  const seconds = times[0]?.values?.map(([time]) => time) ?? [];
  expect(seconds.length).toBeGreaterThan(15);
  expect(seconds).toEqual([...new Set(seconds)].sort((left, right) => left - right));
  expect((await agentsOf(guarded))[0]?.spool?.lostRecords).toBe(0);
  const refusals = (): number =>
    wrong.process.output().split("requires a token with the push scope").length;
  const refusedBefore = refusals();
  const revoke = ["token", "revoke", "node", "--data", guarded.dataDir];
  expect((await runProcess(process.execPath, [hubProgram, ...revoke])).code).toBe(0);
  await expect.poll(refusals, { timeout: 60_000 }).toBeGreaterThan(refusedBefore);
  const newest = async () => (await agentsOf(guarded))[0]?.sequence;
  const before = await newest();
  await new Promise((resolve) => setTimeout(resolve, 3_000));
  expect(await newest()).toBe(before);
}, 240_000);

test("an agent that stops is gone from the hub's page and from Prometheus at once, one that is killed after its silence", async (context) => {
  toolOrSkip(context, "prometheus");
  await second.stop();
  await waitUntil({ what: "the stopped agent to be gone", timeoutMs: 5_000 }, async () => {
    const counts = await byInstance((query) => prometheus.query(query));
    return JSON.stringify(Object.keys(counts)) === `["localhost:${first.port}"]` ? true : undefined;
  });
  expect(await queryHub(hub, `up{instance="other:${second.port}"}`)).toEqual([]);
  expect(await agentsOf(hub)).toContainEqual(
    expect.objectContaining({ id: `other:${second.port}`, state: "stopped" }),
  );

  await first.kill();
  await waitUntil({ what: "the killed agent to be silent", timeoutMs: 60_000 }, async () => {
    const up = await queryHub(hub, `up{instance="localhost:${first.port}"}`);
    return up[0]?.value?.[1] === "0" ? true : undefined;
  });
  expect(await queryHub(hub, "gpu_power_watts")).toEqual([]);
  await waitUntil({ what: "Prometheus to see no GPU", timeoutMs: 5_000 }, async () =>
    (await prometheus.query("gpu_power_watts")).length === 0 ? true : undefined,
  );
  const { body } = await askHub(hub, "/-/ready");
  expect(JSON.parse(body)).toMatchObject({
    problems: [expect.stringContaining(`agent localhost:${first.port}: silent for`)],
  });
});
