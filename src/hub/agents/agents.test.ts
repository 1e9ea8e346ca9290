import { gzipSync } from "node:zlib";
import { expect, test, vi } from "vitest";
import { SelfFrames } from "../../model/self-frames.ts";
import { silentLog } from "../../base/log.ts";
import { gpu } from "../../model/catalogue/index.ts";
import { labelValue } from "../../model/labels.ts";
import { presence } from "../../model/presence.ts";
import type { WireFleet } from "../../view/live/protocol.ts";
import {
  closes,
  device,
  newFolder,
  openHub,
  SmallAgent,
  startMs,
} from "../../../test/fixtures/hub/agents.ts";
import { UuidConflicts } from "./uuid-conflicts.ts";

test("a hub that does not know a layout asks for it, and acknowledges what it then holds", async () => {
  const hub = await openHub();
  const agent = new SmallAgent();
  const frames = [
    [3, startMs - 1_000, 100],
    [4, startMs, 101.5],
  ] as const;
  expect(await hub.push(agent.request(frames))).toEqual({
    status: 428,
    body: {
      needs: { layouts: [agent.layout.hash], devices: [agent.devices.hash], metrics: [] },
    },
  });
  expect(await hub.values("gpu_power_watts")).toEqual([]);
  const body = gzipSync(agent.request(frames, { define: true }));
  expect(await hub.push(body, { "content-encoding": "gzip" })).toMatchObject({
    status: 200,
    body: { acknowledged: 4, version: "9.9.9", formats: [1] },
  });
  expect(await hub.values("gpu_power_watts")).toEqual([["lab:9400", "101.5"]]);
  expect(await hub.values("count_over_time(gpu_power_watts[1m])")).toEqual([["lab:9400", "2"]]);
  expect(await hub.values("up")).toEqual([["lab:9400", "1"]]);
  // In the registry from now on.
  expect(await hub.push(agent.request([[5, startMs + 1, 102]]))).toMatchObject({ status: 200 });
});

test("a replayed request is refused with how far the hub is, and nothing of it is stored", async () => {
  const hub = await openHub();
  const agent = new SmallAgent();
  const request = agent.request([[1, startMs, 100]], { define: true });
  expect((await hub.push(request)).status).toBe(200);
  const before = hub.storage.store.stats().appended;
  const replay = agent.request([[1, startMs + 1_000, 666]], { define: true });
  for (const body of [request, replay])
    expect(await hub.push(body)).toMatchObject({ status: 409, body: { acknowledged: 1 } });
  expect(hub.storage.store.stats().appended).toEqual(before);
});

test("of frames that are partly acknowledged only the rest is stored", async () => {
  const hub = await openHub();
  const agent = new SmallAgent();
  await hub.push(agent.request([[1, startMs - 2_000, 100]], { define: true }));
  const both = agent.request([
    [1, startMs - 3_000, 666],
    [2, startMs - 1_000, 101],
  ]);
  expect(await hub.push(both)).toMatchObject({ status: 200, body: { acknowledged: 2 } });
  expect(await hub.values("sum_over_time(gpu_power_watts[1m])")).toEqual([["lab:9400", "201"]]);
});

test("how far an agent is acknowledged outlives the hub, and its layouts are asked for again", async () => {
  const dir = newFolder();
  const hub = await openHub(dir);
  const agent = new SmallAgent();
  const first = agent.request([[7, startMs, 100]], { define: true });
  await hub.push(first);
  await hub.close();
  closes.length = 0;
  const again = await openHub(dir);
  again.clock.nowMs += 1_000;
  expect(await again.get("/api/agents")).toMatchObject({
    agents: [{ id: "lab:9400", sequence: 7, state: "ok" }],
  });
  expect(await again.push(agent.request([[8, startMs + 1, 100]]))).toMatchObject({ status: 428 });
  expect(await again.push(first)).toMatchObject({ status: 409, body: { acknowledged: 7 } });
});

test("a metric that the hub's catalogue does not have is asked for by name", async () => {
  const hub = await openHub();
  const metric = { ...gpu.power, name: "gpu_dreams_watts", help: "Power while asleep." };
  const agent = new SmallAgent("lab:9400", metric);
  const frames = [[1, startMs, 5]] as const;
  expect(await hub.push(agent.request(frames, { define: true }))).toMatchObject({
    status: 428,
    body: { needs: { layouts: [agent.layout.hash], metrics: ["gpu_dreams_watts"] } },
  });
  const reported = agent.request(frames, { define: true, describe: true });
  expect(await hub.push(reported)).toMatchObject({ status: 200, body: { acknowledged: 1 } });
  expect(await hub.values("gpu_dreams_watts")).toEqual([["lab:9400", "5"]]);
});

test("what is pushed is shown while it is fresh, with its identity; what waited in a spool is not", async () => {
  const hub = await openHub();
  const agent = new SmallAgent();
  const shown = () => hub.latest.at(hub.clock.nowMs);
  await hub.push(agent.request([[1, startMs - 60_000, 90]], { define: true }));
  expect(shown()).toEqual([]);
  await hub.push(agent.request([[2, startMs, 100]]));
  const [delivery] = shown();
  expect(delivery).toMatchObject({ source: "agent:lab:9400/sim", host: "lab", devices: [device] });
  const labels = delivery?.frame.layout.series[0]?.labels ?? [];
  expect(labelValue(labels, "instance")).toBe("lab:9400");
  hub.clock.nowMs += 5_001;
  expect(shown()).toEqual([]);
});

test("an agent whose clock is behind is shown as long as any other", async () => {
  const hub = await openHub();
  const agent = new SmallAgent();
  const sentMs = startMs - 3_600_000;
  await hub.push(agent.request([[1, sentMs, 100]], { define: true, hello: { sentMs } }));
  expect(hub.latest.at(hub.clock.nowMs)).toHaveLength(1);
  expect(await hub.get("/api/agents")).toMatchObject({
    agents: [{ clockDifferenceSeconds: 3_600, clockDifferenceBoundSeconds: 0, lagSeconds: 0 }],
  });
  hub.clock.nowMs += 5_001;
  expect(hub.latest.at(hub.clock.nowMs)).toEqual([]);
});

test("one that falls silent is reported: its series end, up is 0, and it is back with its next frame", async () => {
  const hub = await openHub();
  const agent = new SmallAgent();
  await hub.push(agent.request([[1, startMs, 100]], { define: true }));
  await hub.agents.watch();
  hub.clock.nowMs += 15_001;
  await hub.agents.watch();
  expect(await hub.values("gpu_power_watts")).toEqual([]);
  expect(await hub.values("up")).toEqual([["lab:9400", "0"]]);
  expect(hub.agents.problems()).toEqual(["agent lab:9400: silent for 15s"]);
  expect(await hub.get("/api/agents")).toMatchObject({ agents: [{ state: "silent" }] });
  // An hour later it is still listed as down.
  hub.clock.nowMs += 3_600_000;
  await hub.agents.watch();
  expect(await hub.values("up")).toEqual([["lab:9400", "0"]]);
  // The frames in its spool are stored in order, without loss.
  hub.clock.nowMs += 1_000;
  const { nowMs } = hub.clock;
  await hub.push(
    agent.request([
      [2, startMs + 1_000, 101],
      [3, nowMs, 102],
    ]),
  );
  expect(await hub.values("gpu_power_watts")).toEqual([["lab:9400", "102"]]);
  expect(await hub.values("count_over_time(gpu_power_watts[2h])")).toEqual([["lab:9400", "3"]]);
  expect(await hub.values("up")).toEqual([["lab:9400", "1"]]);
  expect(hub.agents.problems()).toEqual([]);
});

test("one that says goodbye leaves as a scrape target does: its series and its up end, and nobody is alarmed", async () => {
  const hub = await openHub();
  const agent = new SmallAgent();
  await hub.push(agent.request([[1, startMs, 100]], { define: true }));
  hub.clock.nowMs += 1_000;
  await hub.push(agent.request([[2, startMs + 1_000, 101]], { goodbye: true }));
  hub.clock.nowMs += 1_000;
  expect(hub.latest.at(hub.clock.nowMs)).toEqual([]);
  expect(await hub.values("gpu_power_watts")).toEqual([]);
  expect(await hub.values("up")).toEqual([]);
  hub.clock.nowMs += 60_000;
  await hub.agents.watch();
  expect(await hub.values("up")).toEqual([]);
  expect(hub.agents.problems()).toEqual([]);
  expect(await hub.get("/api/agents")).toMatchObject({ agents: [{ state: "stopped" }] });
});

test("an agent is forgotten when asked, and after retention", async () => {
  const hub = await openHub();
  await hub.push(new SmallAgent("a:9400").request([]));
  await hub.push(new SmallAgent("b:9400").request([]));
  expect((await hub.remove("/api/agents/a%3A9400")).statusCode).toBe(204);
  expect((await hub.remove("/api/agents/a%3A9400")).statusCode).toBe(404);
  expect(hub.agents.list.map(({ id }) => id)).toEqual(["b:9400"]);
  hub.clock.nowMs += 31 * 86_400_000;
  await hub.agents.watch();
  expect(hub.agents.list).toEqual([]);
});

test("two agents that push under one name are reported", async () => {
  const hub = await openHub();
  const one = new SmallAgent();
  const other = new SmallAgent();
  other.session = "another";
  await hub.push(one.request([]));
  await hub.push(other.request([]));
  expect(hub.agents.problems()).toEqual([]);
  await hub.push(one.request([]));
  expect(hub.agents.problems()).toEqual([
    "agent lab:9400: two agents push under this name: give one of them another --host-name or --instance",
  ]);
});

test("what is no push is refused with what is taken, and counted", async () => {
  const hub = await openHub();
  expect(await hub.push(Buffer.from("hello"))).toMatchObject({ status: 400 });
  const newer = new SmallAgent().request([]);
  newer[6] = 2;
  expect(await hub.push(newer)).toMatchObject({ status: 415, body: { formats: [1] } });
  expect(await hub.push(newer, { "content-encoding": "br" })).toMatchObject({ status: 415 });
  expect(await hub.push(Buffer.from("x"), { "content-encoding": "gzip" })).toMatchObject({
    status: 400,
  });
  const bomb = gzipSync(Buffer.alloc(40 * 2 ** 20));
  expect(await hub.push(bomb, { "content-encoding": "gzip" })).toMatchObject({ status: 413 });
  expect(hub.storage.api.received.count("push", "malformed_request")).toBe(2);
  expect(hub.storage.api.received.count("push", "unsupported_request")).toBe(2);
  expect(hub.storage.api.received.count("push", "too_large_request")).toBe(1);
  expect(hub.agents.list).toEqual([]);
});

test("a request that is broken behind its hello makes no agent known", async () => {
  const hub = await openHub();
  const whole = new SmallAgent().request([[1, startMs, 100]], { define: true });
  for (const length of [whole.length - 1, whole.length - 20])
    expect(await hub.push(whole.subarray(0, length))).toMatchObject({ status: 400 });
  expect(hub.agents.list).toEqual([]);
});

test("where the history was away as an agent fell silent, its series end as soon as it is back", async () => {
  const hub = await openHub();
  const agent = new SmallAgent();
  await hub.push(agent.request([[1, startMs, 100]], { define: true }));
  const { history } = hub.storage;
  const ended = vi.spyOn(history, "endSource").mockRejectedValue(new Error("the engine is away"));
  hub.clock.nowMs += 15_001;
  await hub.agents.watch();
  ended.mockRestore();
  hub.clock.nowMs += 1_000;
  await hub.agents.watch();
  expect(await hub.values("gpu_power_watts")).toEqual([]);
  expect(await hub.push(agent.request([[2, hub.clock.nowMs, 101]]))).toMatchObject({ status: 200 });
});

test("the hub's own page reports how many agents stand how, and each by name", async () => {
  const hub = await openHub();
  await hub.push(new SmallAgent().request([[1, startMs - 2_000, 100]], { define: true }));
  const frame = new SelfFrames().at(0, [hub.agents.selfMetrics]);
  const reported = frame.layout.series.flatMap(({ metric, labels }, slot) =>
    frame.presence[slot] === presence.present
      ? [`${metric.name} ${labels.map(([, value]) => value).join()} ${frame.values[slot]}`]
      : [],
  );
  expect(reported).toEqual([
    "gpulse_agents ok 1",
    "gpulse_agents late 0",
    "gpulse_agents silent 0",
    "gpulse_agents stopped 0",
    "gpulse_agent_up lab:9400 1",
    "gpulse_agent_last_seen_timestamp_seconds lab:9400 1800000000",
    "gpulse_agent_lag_seconds lab:9400 2",
    "gpulse_agent_clock_difference_seconds lab:9400 0",
    "gpulse_agent_spool_bytes lab:9400 0",
  ]);
});

test("two agents whose GPUs share a uuid, as earlier versions made them, stay two GPUs everywhere", async () => {
  const hub = await openHub();
  const conflicts = new UuidConflicts({
    latest: hub.latest,
    hostName: "hub",
    events: { add: () => undefined },
    log: silentLog,
    nowMs: () => hub.clock.nowMs,
    manual: true,
  });
  for (const [host, watts] of [
    ["ws-1", 250],
    ["ws-2", 15],
  ] as const) {
    const agent = new SmallAgent(`${host}:9400`, gpu.power, host);
    const body = agent.request([[1, startMs, watts]], { define: true, hello: { host } });
    expect((await hub.push(body)).status).toBe(200);
  }
  expect(await hub.values("gpu_power_watts")).toEqual([
    ["ws-1:9400", "250"],
    ["ws-2:9400", "15"],
  ]);
  expect(await hub.values("sum(max by (host, uuid) (gpu_power_watts))")).toEqual([["", "265"]]);
  const { devices, frame, columns } = (await hub.get("/api/fleet")) as WireFleet;
  const power = columns.findIndex(({ key }) => key === "power");
  expect(devices.map(({ host, uuid }, at) => [host, uuid, frame.rows[at]?.values[power]])).toEqual([
    ["ws-1", device.uuid, 250],
    ["ws-2", device.uuid, 15],
  ]);
  conflicts.check();
  expect(conflicts.current).toEqual([{ uuid: device.uuid, hosts: ["ws-1", "ws-2"] }]);
});
