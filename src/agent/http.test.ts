import { request, type Server } from "node:http";
import { connect } from "node:net";
import { gunzipSync } from "node:zlib";
import { afterEach, expect, test } from "vitest";
import * as v from "valibot";
import { silentLog } from "../base/log.ts";
import { gpu } from "../model/catalogue/index.ts";
import { type Device, deviceLabels } from "../model/device.ts";
import { FrameWriter } from "../model/frame.ts";
import { LayoutBuilder } from "../model/layout.ts";
import { FakeClock } from "../../test/fixtures/fake-clock.ts";
import { FaultSource } from "../sources/fault/define.ts";
import type { OpenSource } from "../sources/open.ts";
import type { PolledSource } from "../sources/source.ts";
import { Collector } from "./collector.ts";
import { createAgentServer } from "./http.ts";
import { listen } from "../net/http/listen.ts";
import { statsSchema } from "./stats/schema.ts";

const card: Device = {
  uuid: "GPU-1",
  index: 0,
  vendor: "nvidia",
  model: "Test Card",
  simulated: false,
  pciBusId: "0000:01:00.0",
  linkType: "PCIe",
};

/** A source of one card that reports power and memory, and has no fan. */
function oneCard(): PolledSource {
  const builder = new LayoutBuilder();
  const labels = deviceLabels(card, "box");
  const slots = {
    up: builder.add(gpu.up, labels),
    power: builder.add(gpu.power, labels),
    used: builder.add(gpu.memoryUsed, labels),
    fan: builder.add(gpu.fanRpm, deviceLabels(card, "box", { fan: "1" })),
  };
  const layout = builder.build();
  return {
    shape: "polled",
    tiers: ["fast"],
    devices: () => [card],
    close: () => {},
    read: (_tier, timeMs) => {
      const writer = new FrameWriter(layout, timeMs);
      writer.set(slots.up, 1);
      writer.set(slots.power, 100 + ((timeMs / 1_000) % 2));
      writer.set(slots.used, 2 ** 30);
      writer.absent(slots.fan, "unsupported");
      return writer.finish();
    },
  };
}

interface Running {
  readonly url: string;
  readonly clock: FakeClock;
  readonly collector: Collector;
}

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) server.close().closeAllConnections();
});

async function serve(sources: Record<string, PolledSource>): Promise<Running> {
  const clock = new FakeClock(1_000_000);
  const open: OpenSource[] = Object.entries(sources).map(([name, source]) => ({ name, source }));
  const collector = new Collector({
    sources: open,
    intervalMs: 1_000,
    hostName: "box",
    procfs: "/proc",
    version: "1.2.3",
    clock,
    log: silentLog,
  });
  const server = createAgentServer(collector, "/metrics", silentLog);
  servers.push(server);
  const { url } = await listen(server, "127.0.0.1", 0);
  collector.start();
  return { url, clock, collector };
}

test("serves the newest frame with its age, and leaves out what is absent", async () => {
  const { url, clock } = await serve({ card: oneCard() });
  await clock.advance(1_400);
  const page = await (await fetch(`${url}/metrics`)).text();
  expect(page).toContain('gpu_power_watts{gpu="0",host="box",uuid="GPU-1"} 101\n');
  expect(page).toContain('gpulse_frame_age_seconds{source="card",tier="fast"} 0.4\n');
  expect(page).toContain(
    'gpulse_source_readings{source="card",state="unsupported",tier="fast"} 1\n',
  );
  expect(page).not.toContain("gpu_fan_rpm{");
});

test("a frame too old is not served as new, while the page still answers", async () => {
  const { url, clock } = await serve({ card: oneCard() });
  await clock.advance(1_000);
  clock.stall(6_000);
  const page = await (await fetch(`${url}/metrics`)).text();
  expect(page).not.toContain("gpu_power_watts");
  expect(page).toContain("gpulse_build_info");
});

test("answers OpenMetrics and gzip where asked", async () => {
  const { url, clock } = await serve({ card: oneCard() });
  await clock.advance(1_000);
  const response = await fetch(`${url}/metrics`, {
    headers: { accept: "application/openmetrics-text;version=1.0.0" },
  });
  expect(response.headers.get("content-type")).toBe(
    "application/openmetrics-text; version=1.0.0; charset=utf-8",
  );
  expect(response.headers.get("content-encoding")).toBe("gzip");
  expect(await response.text()).toMatch(/# EOF\n$/);
  const raw = await new Promise<Buffer>((resolve) => {
    request(`${url}/metrics`, { headers: { "accept-encoding": "gzip" } }, (answer) => {
      const parts: Buffer[] = [];
      answer
        .on("data", (part: Buffer) => parts.push(part))
        .on("end", () => resolve(Buffer.concat(parts)));
    }).end();
  });
  expect(gunzipSync(raw).toString()).toContain("gpu_power_watts{");
});

test("/stats follows its schema and gives average power with window and count", async () => {
  const { url, clock } = await serve({ card: oneCard() });
  await clock.advance(10_000);
  const stats = v.parse(statsSchema, await (await fetch(`${url}/stats`)).json());
  expect(stats.gpus[0]?.average_power).toEqual({
    value: 100.455,
    unit: "watts",
    mlperf: null,
    window_seconds: 10,
    samples: 11,
  });
  expect(stats.gpus[0]?.model).toEqual({ value: "Test Card", mlperf: "accelerator_model_name" });
  expect(stats.gpus[0]?.memory_total).toEqual({
    value: null,
    unit: "bytes",
    mlperf: "accelerator_memory_capacity",
    absent: "unsupported",
  });
  expect(stats.host.name).toBe("box");
  expect(stats.simulated).toBe(false);
});

test("three broken sources: readiness names each, self-metrics count them, the good one goes on", async () => {
  const { url, clock } = await serve({
    throws: new FaultSource("throw"),
    hangs: new FaultSource("hang"),
    garbage: new FaultSource("garbage"),
    card: oneCard(),
  });
  await clock.advance(30_000);
  const ready = await fetch(`${url}/readyz`);
  expect(ready.status).toBe(200);
  const body = (await ready.json()) as {
    sources: { source: string; ok: boolean; trouble?: string }[];
  };
  expect(body.sources.filter(({ ok }) => !ok).map(({ source }) => source)).toEqual([
    "throws",
    "hangs",
    "garbage",
  ]);
  expect((await fetch(`${url}/healthz`)).status).toBe(200);
  const page = await (await fetch(`${url}/metrics`)).text();
  expect(page).toMatch(
    /gpulse_source_reads_total\{outcome="failed",source="throws",tier="fast"\} [1-9]/,
  );
  expect(page).toMatch(
    /gpulse_source_reads_total\{outcome="late",source="hangs",tier="fast"\} 1\n/,
  );
  expect(page).toMatch(
    /gpulse_source_reads_total\{outcome="invalid",source="garbage",tier="fast"\} [1-9]/,
  );
  expect(page).toContain('gpulse_source_reads_total{outcome="ok",source="card",tier="fast"} 31\n');
  expect(page).toContain('gpulse_source_skipped_ticks_total{source="card",tier="fast"} 0\n');
});

test.each([
  [
    "a driver that hangs beside one that delivers",
    { hangs: new FaultSource("hang"), card: oneCard() },
    200,
  ],
  [
    "a driver that hangs alone, which a new process would not change",
    { hangs: new FaultSource("hang") },
    200,
  ],
  [
    "a source that fails beside one that delivers",
    { throws: new FaultSource("throw"), card: oneCard() },
    200,
  ],
  ["no source that delivers", { throws: new FaultSource("throw") }, 503],
])("readiness with %s", async (_, sources, status) => {
  const { url, clock } = await serve(sources);
  await clock.advance(30_000);
  expect((await fetch(`${url}/readyz`)).status).toBe(status);
});

test("ready when every source delivers; not ready, and says what to do, with no source at all", async () => {
  const good = await serve({ card: oneCard() });
  await good.clock.advance(10);
  expect((await fetch(`${good.url}/readyz`)).status).toBe(200);
  const none = await serve({});
  const answer = await fetch(`${none.url}/readyz`);
  expect([answer.status, await answer.text()]).toEqual([503, expect.stringContaining("--source")]);
});

test.each([
  ["GET", "/nothing", 404],
  ["GET", "/constructor", 404],
  ["POST", "/metrics", 405],
  ["DELETE", "/", 405],
  ["GET", "/metrics?x=1", 200],
  ["HEAD", "/metrics", 200],
])("%s %s is answered with %d", async (method, path, status) => {
  const { url } = await serve({});
  expect((await fetch(`${url}${path}`, { method })).status).toBe(status);
});

test("a client that sends rubbish gets 400 and harms nobody", async () => {
  const { url } = await serve({});
  const answer = await new Promise<string>((resolve) => {
    const socket = connect(Number(new URL(url).port), "127.0.0.1", () =>
      socket.write("\u0000\u0001rubbish\r\n\r\n"),
    );
    let text = "";
    socket.on("data", (part: Buffer) => (text += part.toString())).on("close", () => resolve(text));
  });
  expect(answer).toMatch(/^HTTP\/1\.1 400/);
  expect((await fetch(`${url}/healthz`)).status).toBe(200);
});

test("a port in use is one sentence with what to do", async () => {
  const { url } = await serve({});
  const second = createAgentServer({} as Collector, "/metrics", silentLog);
  await expect(listen(second, "127.0.0.1", Number(new URL(url).port))).rejects.toThrow(
    /^Port \d+ on 127\.0\.0\.1 is in use .* --port\.$/,
  );
});
