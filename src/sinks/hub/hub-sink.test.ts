import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, expect, test } from "vitest";
import { isAccepted } from "../../formats/frames/push-response.ts";
import { createLog, silentLog } from "../../base/log.ts";
import { gpu } from "../../model/catalogue/index.ts";
import { type Device, deviceLabels } from "../../model/device.ts";
import { FrameWriter } from "../../model/frame.ts";
import { type Layout, LayoutBuilder } from "../../model/layout.ts";
import { systemClock } from "../../base/clock.ts";
import type { Delivery } from "../../pipeline/sink.ts";
import { type FakeHub, startFakeHub } from "../../../test/fixtures/sinks/hub.ts";
import { type HubAddress, openHubSink, pushUrl } from "./open.ts";
import type { HubSink } from "./sink.ts";

const closes: (() => Promise<void>)[] = [];
const folders: string[] = [];

afterEach(async () => {
  for (const close of closes.splice(0)) await close();
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

const devices: readonly Device[] = [
  { uuid: "GPU-1", index: 0, vendor: "nvidia", model: "H200", simulated: true },
];

function layoutOf(device: Device | undefined = devices[0]): Layout {
  const builder = new LayoutBuilder();
  if (device !== undefined) builder.add(gpu.power, deviceLabels(device, "lab"));
  return builder.build();
}

const layout = layoutOf();

function delivery(value: number, of = layout): Delivery {
  const writer = new FrameWriter(of, 1_700_000_000_000 + value * 1_000);
  writer.set(0, value);
  return { frame: writer.finish(), source: "sim", tier: "fast", freshForMs: 5_000, devices };
}

function newFolder(): string {
  const folder = mkdtempSync(path.join(tmpdir(), "gpulse-push-"));
  folders.push(folder);
  return folder;
}

/** A wall clock that the test sets; the hub's clock stays correct. */
function settableClock() {
  const setBy = { ms: 0 };
  return { setBy, clock: { ...systemClock, nowMs: () => Date.now() + setBy.ms } };
}

/** Responds like a hub to frames with timestamps that it does not accept. */
function acceptOnly(hub: FakeHub, nowMs: () => number): void {
  hub.refuse = ({ frames }) => {
    const clock = { nowMs: nowMs(), oldestMs: nowMs() - 30 * day, newestMs: nowMs() + 600_000 };
    return frames.every(({ timeMs }) => isAccepted(clock, timeMs))
      ? undefined
      : { status: 425, body: { error: "held", acknowledged: hub.held.at(-1) ?? 0, clock } };
  };
}

const day = 86_400_000;

function deliveryAt(timeMs: number, value: number, more: Partial<Delivery> = {}): Delivery {
  const writer = new FrameWriter(layout, timeMs);
  writer.set(0, value);
  const frame = writer.finish();
  return { frame, source: "sim", tier: "fast", freshForMs: 5_000, devices, ...more };
}

/** The last timestamp sent for each sequence number the hub holds, as a difference to now in whole minutes. */
const minutesOf = (hub: FakeHub): number[] => {
  const seen = new Map<number, number>();
  for (const { frames } of hub.requests)
    for (const { sequence, timeMs } of frames) seen.set(sequence, timeMs);
  return hub.held.map((sequence) =>
    Math.round(Math.abs((seen.get(sequence) ?? 0) - Date.now()) / 60_000),
  );
};

const linesOf = () => {
  const lines: string[] = [];
  const write = (line: string): void => void lines.push(line);
  const log = createLog({ level: "warn", json: false, colour: false, nowMs: () => 0, write });
  return { lines, log };
};

async function newHub(): Promise<FakeHub> {
  const hub = await startFakeHub();
  closes.push(() => hub.close());
  return hub;
}

function openSink(
  url: string,
  spoolDir = newFolder(),
  more: Partial<HubAddress> = {},
  log = silentLog,
  clock = systemClock,
): HubSink {
  return openHubSink(
    { url, intervalMs: 1_000, spoolMaxBytes: 1e7, spoolAgeMs: 1e9, ...more },
    {
      log,
      clock,
      random: () => 0,
      hostName: "lab",
      spoolDir,
      version: "1.0.0",
      identity: { job: "gpulse", instance: "lab:9400" },
    },
  );
}

const until = async (condition: () => boolean): Promise<void> => {
  for (let tries = 0; !condition(); tries++) {
    if (tries > 400) throw new Error("it did not happen within 8 s");
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
};

const valuesOf = (hub: FakeHub): number[] => {
  const seen = new Map<number, number>();
  for (const { frames } of hub.requests)
    for (const { sequence, values } of frames) seen.set(sequence, values[0] ?? -1);
  return hub.held.map((sequence) => seen.get(sequence) ?? -1);
};

test("frames reach the hub in order, each once, with what it asked for", async () => {
  const hub = await newHub();
  const sink = openSink(hub.url);
  await until(() => hub.requests.length > 0);
  expect(hub.requests[0]).toMatchObject({
    hello: { agent: "lab:9400", host: "lab", job: "gpulse", instance: "lab:9400" },
    heads: [],
  });
  for (const value of [1, 2, 3]) await sink.write(delivery(value));
  await until(() => hub.held.length === 3);
  expect(valuesOf(hub)).toEqual([1, 2, 3]);
  // The first request transfers the definitions, the second one the frames: one tick is one request.
  expect(hub.requests.filter(({ heads }) => heads.length > 0)).toHaveLength(2);
  hub.forget();
  await sink.write(delivery(4));
  await until(() => hub.held.length === 4);
  await sink.close();
  expect(valuesOf(hub)).toEqual([1, 2, 3, 4]);
  expect(hub.requests.at(-1)).toMatchObject({ goodbye: true });
});

test("what waited through an outage and a restart of the agent arrives, and nothing twice", async () => {
  const away = await startFakeHub();
  const port = Number(new URL(away.url).port);
  const spool = newFolder();
  const first = openSink(away.url, spool);
  await first.write(delivery(1));
  await until(() => away.held.length === 1);
  await away.close();
  for (const value of [2, 3]) await first.write(delivery(value));
  await first.close();
  const second = openSink(away.url, spool);
  await second.write(delivery(4, layoutOf()));
  const hub = await startFakeHub(port);
  closes.push(() => hub.close());
  await until(() => hub.held.length === 3);
  expect(valuesOf(hub)).toEqual([2, 3, 4]);
  expect(hub.requests[0]?.hello.session).toBe(away.requests[0]?.hello.session);
  await second.close();
});

test("409 is an acknowledgement: the hub held it all along", async () => {
  const hub = await newHub();
  hub.refuse = ({ heads }) =>
    heads.length === 0
      ? undefined
      : { status: 409, body: { acknowledged: heads.at(-1)?.sequence } };
  const sink = openSink(hub.url);
  await sink.write(delivery(1));
  await until(() => sink.shipping().spool.records === 0);
  expect(sink.shipping().ship.refusedSamples).toBe(0);
  await sink.close();
});

test("of a lot that is refused only the bad frame is lost, counted", async () => {
  const hub = await newHub();
  hub.refuse = ({ frames }) =>
    frames.some(({ values }) => values[0] === 13)
      ? { status: 400, body: { error: "unlucky" } }
      : undefined;
  const sink = openSink(hub.url);
  for (const value of [11, 12, 13, 14, 15]) await sink.write(delivery(value));
  await until(() => sink.shipping().spool.records === 0);
  expect(valuesOf(hub)).toEqual([11, 12, 14, 15]);
  expect(sink.shipping().ship.refusedSamples).toBe(1);
  await sink.close();
});

test.for([
  [401, "requires a token"],
  [403, "may not push"],
  [404, "no gpulse hub"],
  [415, "other versions of the format"],
] as const)("%d is reported as an error, and everything is kept", async ([status, says]) => {
  const hub = await newHub();
  hub.refuse = () => ({ status, body: { error: "no." } });
  const lines: string[] = [];
  const log = createLog({
    level: "error",
    json: false,
    colour: false,
    nowMs: () => 0,
    write: (line) => lines.push(line),
  });
  const sink = openSink(hub.url, newFolder(), {}, log);
  await sink.write(delivery(1));
  await until(() => sink.shipping().ship.retries > 0);
  expect(lines).toHaveLength(1);
  expect(lines[0]).toContain(says);
  expect(sink.shipping().spool.records).toBe(1);
  await sink.close();
});

test("a hub that is older is reported once, and both go on with what both have", async () => {
  const hub = await newHub();
  const lines: string[] = [];
  const log = createLog({
    level: "warn",
    json: false,
    colour: false,
    nowMs: () => 0,
    write: (line) => lines.push(line),
  });
  hub.refuse = ({ heads }) => ({
    status: 200,
    body: {
      acknowledged: heads.at(-1)?.sequence ?? 0,
      version: "0.0.1",
      capabilities: ["frames/1"],
      unknownKinds: [9],
    },
  });
  const sink = openSink(hub.url, newFolder(), {}, log);
  for (const value of [1, 2]) {
    await sink.write(delivery(value));
    await until(() => sink.shipping().spool.records === 0);
  }
  expect(lines).toHaveLength(1);
  expect(lines[0]).toContain('hub=0.0.1 lacks="goodbye, clock/1, record kind 9"');
  await sink.close();
});

test("readings that the hub refuses as from the future are reported once, until that ends", async () => {
  const hub = await newHub();
  const lines: string[] = [];
  const log = createLog({
    level: "warn",
    json: false,
    colour: false,
    nowMs: () => 0,
    write: (line) => lines.push(line),
  });
  let tooNew = 2;
  hub.refuse = ({ heads }) => ({
    status: 200,
    body: { acknowledged: heads.at(-1)?.sequence ?? 0, tooNew },
  });
  const sink = openSink(hub.url, newFolder(), {}, log);
  for (const [value, count] of [2, 2, 0, 2].entries()) {
    tooNew = count;
    await sink.write(delivery(value + 1));
    await until(() => sink.shipping().spool.records === 0);
  }
  expect(lines.filter((line) => line.includes("set this machine's clock"))).toHaveLength(2);
  await sink.close();
});

test("the token is sent, and is nowhere in what is reported", async () => {
  const hub = await newHub();
  const sink = openSink(hub.url, newFolder(), { token: "gp_secret" });
  await until(() => hub.headers.length > 0);
  expect(hub.headers[0]?.authorization).toBe("Bearer gp_secret");
  expect(JSON.stringify([sink.name, sink.shipping()])).not.toContain("secret");
  await sink.close();
});

test.for([
  ["http://hub:9410", "http://hub:9410/api/push/v1"],
  ["https://proxy/gpulse/", "https://proxy/gpulse/api/push/v1"],
])("%s is pushed to at %s", ([given, pushed]) => {
  expect(pushUrl(given ?? "").href).toBe(pushed);
});

test.for(["hub:9410", "ftp://hub", "http://me:secret@hub:9410", "http://hub?token=secret"])(
  "%s is no hub, and its secret is not repeated",
  (given) => {
    expect(() => pushUrl(given)).toThrow(/hub/);
    try {
      pushUrl(given);
    } catch (thrown) {
      expect(String(thrown)).not.toContain("secret");
    }
  },
);

test.for([
  ["ahead", 8 * day],
  ["behind by more than the hub's retention", -40 * day],
] as const)(
  "frames of a clock that is days %s are held, and sent with their right time when it is right",
  async ([, byMs]) => {
    const hub = await newHub();
    acceptOnly(hub, Date.now);
    const { clock, setBy } = settableClock();
    const { lines, log } = linesOf();
    const sink = openSink(hub.url, newFolder(), {}, log, clock);
    await sink.write(deliveryAt(clock.nowMs(), 1));
    await until(() => hub.held.length === 1);
    setBy.ms = byMs;
    for (const value of [2, 3]) await sink.write(deliveryAt(clock.nowMs(), value));
    await until(() => sink.shipping().ship.retries > 1);
    expect(sink.shipping()).toMatchObject({ spool: { records: 2 }, ship: { refusedSamples: 0 } });
    expect(sink.shipping().ship.clockAheadSeconds).toBeCloseTo(byMs / 1_000, -1);
    setBy.ms = 0;
    await sink.write(deliveryAt(clock.nowMs(), 4));
    // Stamped by the wrong clock, spooled after the clock was set.
    await sink.write(deliveryAt(clock.nowMs() + byMs, 5));
    await until(() => hub.held.length === 5);
    await until(() => sink.shipping().spool.records === 0);
    expect(valuesOf(hub)).toEqual([1, 2, 3, 4, 5]);
    expect(minutesOf(hub)).toEqual([0, 0, 0, 0, 0]);
    expect(sink.shipping().ship).toMatchObject({ refusedSamples: 0, restampedSamples: 3 });
    await sink.close();
    expect(lines.filter((line) => line.includes("held until the clocks agree"))).toHaveLength(1);
    expect(lines.filter((line) => line.includes("stamped by a clock"))).toHaveLength(1);
  },
);

test("frames are held while the hub's clock is behind, and sent as they are when it is right", async () => {
  const hub = await newHub();
  const hubClock = { byMs: -1_800_000 };
  acceptOnly(hub, () => Date.now() + hubClock.byMs);
  const { lines, log } = linesOf();
  const sink = openSink(hub.url, newFolder(), {}, log);
  const startMs = Date.now();
  for (const value of [1, 2, 3]) await sink.write(deliveryAt(startMs + value, value));
  await until(() => sink.shipping().ship.retries > 1);
  expect(hub.held).toEqual([]);
  expect(sink.shipping().ship.clockAheadSeconds).toBeCloseTo(1_800, -1);
  hubClock.byMs = 0;
  await until(() => hub.held.length === 3);
  await until(() => sink.shipping().spool.records === 0);
  expect(hub.requests.at(-1)?.frames.map(({ timeMs }) => timeMs - startMs)).toEqual([1, 2, 3]);
  expect(sink.shipping().ship).toMatchObject({ refusedSamples: 0, restampedSamples: 0 });
  await sink.close();
  expect(lines.filter((line) => line.includes("30m ahead of the hub's"))).toHaveLength(1);
});

test("the right time of a frame is known after restarts, with the clock set before or while none ran", async () => {
  const spool = newFolder();
  const { clock, setBy } = settableClock();
  const hub = await newHub();
  const open = () => openSink(hub.url, spool, {}, silentLog, clock);
  hub.refuse = () => ({ status: 503, body: { error: "not yet" } });
  let sink = open();
  await sink.write(deliveryAt(clock.nowMs(), 1));
  setBy.ms = 8 * day;
  await sink.write(deliveryAt(clock.nowMs(), 2));
  await sink.close();
  sink = open();
  await sink.write(deliveryAt(clock.nowMs(), 3));
  await sink.close();
  setBy.ms = 0;
  sink = open();
  await sink.write(deliveryAt(clock.nowMs(), 4));
  acceptOnly(hub, Date.now);
  await until(() => hub.held.length === 4);
  await until(() => sink.shipping().spool.records === 0);
  expect(valuesOf(hub)).toEqual([1, 2, 3, 4]);
  expect(minutesOf(hub)).toEqual([0, 0, 0, 0]);
  expect(sink.shipping().ship).toMatchObject({ refusedSamples: 0, restampedSamples: 2 });
  await sink.close();
});

test("frames whose right time nobody knows are given up, counted, and hold up no other", async () => {
  const hub = await newHub();
  acceptOnly(hub, Date.now);
  const { lines, log } = linesOf();
  const sink = openSink(hub.url, newFolder(), {}, log);
  const aheadMs = Date.now() + 8 * day;
  await sink.write(deliveryAt(Date.now(), 1));
  // Stamped by another machine's clock or by a stream, so this machine's clock steps do not apply.
  await sink.write(deliveryAt(aheadMs, 2, { host: "other" }));
  await sink.write(deliveryAt(aheadMs, 3, { tier: "stream" }));
  await sink.write(deliveryAt(9e15, 4));
  await sink.write(deliveryAt(Date.now(), 5));
  await until(() => sink.shipping().spool.records === 0);
  expect(valuesOf(hub)).toEqual([1, 5]);
  expect(sink.shipping().ship).toMatchObject({ refusedSamples: 3, restampedSamples: 0 });
  await sink.close();
  expect(lines.filter((line) => line.includes("their right time is not known"))).toHaveLength(1);
});
