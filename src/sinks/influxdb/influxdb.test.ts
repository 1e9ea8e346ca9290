import { afterEach, beforeEach, expect, test } from "vitest";
import { createLog, type Log } from "../../base/log.ts";
import { gpu, gpuz, host } from "../../model/catalogue/index.ts";
import { FrameWriter } from "../../model/frame.ts";
import { labelSet } from "../../model/labels.ts";
import { LayoutBuilder } from "../../model/layout.ts";
import type { Delivery, Sink } from "../../pipeline/sink.ts";
import {
  type ReceivedRequest,
  type Receiver,
  type ReceiverResponse,
  sinkContextIn,
  startReceiver,
} from "../../../test/fixtures/sinks/sinks.ts";
import { openSink } from "../open.ts";
import { InfluxLineWriter, scaled } from "./lines.ts";
import type { Preset } from "./names.ts";

let receiver: Receiver;
beforeEach(async () => {
  receiver = await startReceiver();
});
afterEach(() => receiver.close());

const who = { uuid: "GPU-1", gpu: "0", host: "desk" };
const layout = (() => {
  const builder = new LayoutBuilder();
  builder.add(gpu.power, labelSet(who));
  builder.add(gpu.temperature, labelSet({ ...who, sensor: "edge" }));
  builder.add(gpu.utilization, labelSet(who));
  builder.add(host.cpuTemperature, labelSet({ host: "desk", sensor: "package" }));
  builder.add(gpuz.sensorValue, labelSet({ ...who, sensor: "VDDC Current", unit: "A" }));
  return builder.build();
})();

function delivery(timeMs: number, watts: number): Delivery {
  const writer = new FrameWriter(layout, timeMs);
  writer.set(0, watts);
  writer.absent(1, "unsupported");
  writer.set(2, 0.57);
  writer.set(3, 61.5);
  writer.set(4, 12.5);
  return {
    frame: writer.finish(),
    source: "t",
    tier: "stream",
    freshForMs: 1,
    devices: [{ uuid: "GPU-1", index: 0, vendor: "nvidia", model: "RTX 4090", simulated: false }],
    tags: new Map([["GPU-1", ["high_power", "high_load"]]]),
  };
}

const linesOf = (preset: Preset, extra = {}): string[] =>
  new InfluxLineWriter({ preset, measurement: undefined, fields: {}, ...extra }).lines(
    delivery(1_790_000_000_123, 314.3),
    "here",
  );

test("by default a measurement is a group of the catalogue and a field one of our columns", () => {
  expect(linesOf("gpulse")).toEqual([
    String.raw`gpu,gpu=0,host=desk,model=RTX\ 4090,uuid=GPU-1,vendor=nvidia gpu_power_watts=314.3,gpu_utilization_ratio=0.57,tags="high_power,high_load",anomalies=2i 1790000000123`,
    "host,host=desk host_cpu_temperature_celsius_package=61.5 1790000000123",
    String.raw`gpu,gpu=0,host=desk,model=RTX\ 4090,sensor=VDDC\ Current,unit=A,uuid=GPU-1,vendor=nvidia gpuz_sensor_value=12.5 1790000000123`,
  ]);
});

test("the preset gpuz puts all of a GPU into one line of gpu_metrics, in GPU-Z's units", () => {
  expect(linesOf("gpuz")).toEqual([
    String.raw`gpu_metrics,gpu=0,host=desk,model=RTX\ 4090,uuid=GPU-1 board_power=314.3,gpu_load=57,cpu_temperature=61.5,vddc_current=12.5,tags="high_power,high_load",anomalies=2i 1790000000123`,
  ]);
});

test("measurement and fields can have other names", () => {
  expect(linesOf("gpuz", { measurement: "m", fields: { board_power: "watts" } })[0]).toMatch(
    /^m,.* watts=314\.3,gpu_load=57,/,
  );
});

const forever = new AbortController().signal;
const waitMs = 20_000;
const body = ({ body: bytes }: ReceivedRequest): string[] =>
  bytes.toString("utf8").trimEnd().split("\n");

const logInto = (said: string[]): Log =>
  createLog({
    level: "info",
    json: false,
    colour: false,
    nowMs: () => 0,
    write: (line) => said.push(line),
  });

const open = (query: string, said: string[] = [], scheme = "influxdb"): Promise<Sink> =>
  openSink(
    `${scheme}://${receiver.url}/gpu?preset=gpuz&gzip=false&linger=1m&${query}`,
    sinkContextIn("unused", logInto(said)),
  );

test("lines wait for each other, and flush sends them and resolves when they are stored", async () => {
  const sink = await open("");
  for (let at = 0; at < 5; at++) await sink.write(delivery(at, 100 + at));
  expect(receiver.requests).toHaveLength(0);
  await sink.flush?.(forever);
  expect(receiver.requests).toHaveLength(1);
  expect(receiver.requests.flatMap(body)).toHaveLength(5);
  await sink.close();
});

test("a batch goes when it has its bytes, each no larger than asked", async () => {
  const sink = await open("batch-bytes=1024");
  for (let at = 0; at < 50; at++) await sink.write(delivery(at, 100 + at));
  await sink.flush?.(forever);
  expect(receiver.requests.every((request) => request.body.length <= 1_024)).toBe(true);
  expect(receiver.requests.flatMap(body)).toHaveLength(50);
  await sink.close();
});

test.each([
  ["429", { status: 429, headers: { "retry-after": "0" } }],
  ["500", { status: 500, body: '{"error":"timeout"}' }],
  ["503", { status: 503, headers: { "retry-after": "0" } }],
])(
  "after %s it is sent again, as it was",
  async (_, answer: ReceiverResponse) => {
    const said: string[] = [];
    const sink = await open("", said);
    receiver.answer = () => (receiver.requests.length < 3 ? answer : { status: 204 });
    await sink.write(delivery(1, 100));
    await sink.flush?.(forever);
    expect(receiver.requests).toHaveLength(3);
    expect(new Set(receiver.requests.map(({ body: bytes }) => bytes.toString())).size).toBe(1);
    expect(said.join("")).toContain("send failed, will retry");
    expect(sink.shipping?.().ship).toMatchObject({ sentSamples: 1, retries: 2 });
    await sink.close();
  },
  waitMs,
);

test("a flush that is given up leaves the lines waiting", async () => {
  const sink = await open("");
  receiver.answer = () => ({ status: 503, headers: { "retry-after": "0.05" } });
  await sink.write(delivery(1, 100));
  await expect(sink.flush?.(AbortSignal.timeout(200))).rejects.toThrow(
    /before everything was sent/,
  );
  receiver.answer = () => ({ status: 204 });
  await sink.flush?.(forever);
  expect(sink.shipping?.().ship.sentSamples).toBe(1);
  await sink.close();
});

test.each([
  [401, "username= and password=", ""],
  [403, "token=", "version=2"],
  [404, 'Is there a database "gpu"', ""],
  [404, 'Is there a bucket "gpu"', "version=2"],
])("%d ends it with what to do, and nothing is taken any more", async (status, words, query) => {
  const sink = await open(query);
  receiver.answer = () => ({ status, body: '{"error":"no, \\"friend\\""}' });
  await sink.write(delivery(1, 100));
  const failed = { code: "SINK_FAILED", message: expect.stringContaining(words) as unknown };
  await expect(sink.flush?.(forever)).rejects.toMatchObject(failed);
  await expect(sink.flush?.(forever)).rejects.toMatchObject(failed);
  await expect(sink.write(delivery(2, 100))).rejects.toMatchObject(failed);
  expect(receiver.requests).toHaveLength(1);
  await sink.close();
});

const bad = "board_power=113";

test("a refused line is found, counted and reported, and takes no other with it", async () => {
  const said: string[] = [];
  const sink = await open("", said);
  const stored = new Set<string>();
  receiver.answer = (request) => {
    if (body(request).some((line) => line.includes(bad)))
      return { status: 400, body: '{"message":"bad timestamp"}' };
    for (const line of body(request)) stored.add(line);
    return { status: 204 };
  };
  for (let at = 0; at < 50; at++) await sink.write(delivery(at, 100 + at));
  await sink.flush?.(forever);
  expect(stored.size).toBe(49);
  expect(sink.shipping?.().ship).toMatchObject({ sentSamples: 49, refusedSamples: 1 });
  expect(said.filter((line) => line.includes("receiver refused samples"))).toHaveLength(1);
  expect(said.join("")).toContain("bad timestamp");
  await sink.close();
});

test("a partial write is counted as the server counts it, without a second request", async () => {
  const sink = await open("");
  receiver.answer = () => ({
    status: 400,
    body: '{"error":"partial write: field type conflict: input field \\"x\\" dropped=3"}',
  });
  for (let at = 0; at < 5; at++) await sink.write(delivery(at, 100 + at));
  await sink.flush?.(forever);
  expect(sink.shipping?.().ship).toMatchObject({ sentSamples: 2, refusedSamples: 3 });
  expect(receiver.requests).toHaveLength(1);
  await sink.close();
});

test("refused=stop ends it at the first refused line", async () => {
  const sink = await open("refused=stop");
  receiver.answer = () => ({ status: 400, body: '{"error":"no"}' });
  await sink.write(delivery(1, 100));
  await expect(sink.flush?.(forever)).rejects.toMatchObject({ code: "SINK_FAILED" });
  await sink.close();
});

test("too large a request is halved", async () => {
  const sink = await open("");
  receiver.answer = (request) => ({ status: request.body.length > 1_000 ? 413 : 204 });
  for (let at = 0; at < 20; at++) await sink.write(delivery(at, 100 + at));
  await sink.flush?.(forever);
  expect(sink.shipping?.().ship).toMatchObject({ sentSamples: 20, refusedSamples: 0 });
  await sink.close();
});

test("secrets come from variables and are neither shown nor logged", async () => {
  process.env["GPULSE_TEST_TOKEN"] = "s3cret-token";
  const said: string[] = [];
  const sink = await open("org=lab&token=${GPULSE_TEST_TOKEN}", said);
  receiver.answer = () => ({ status: 401 });
  await sink.write(delivery(1, 100));
  const thrown: unknown = await sink.flush?.(forever).catch((error: unknown) => error);
  expect(receiver.requests[0]?.headers.authorization).toBe("Token s3cret-token");
  expect(`${String(thrown)}${said.join("")}${JSON.stringify(sink.shipping?.())}`).not.toContain(
    "s3cret",
  );
  await sink.close();
  delete process.env["GPULSE_TEST_TOKEN"];
});

test.each([
  ["influxdb:gpu", "is not an address"],
  ["influxdb://host:8086", "names no database or bucket"],
  ["influxdb://host:8086/", "names no database or bucket"],
  ["influxdb://u:secret@host/", "//…@host"],
  ["influxdb://host/gpu?version=1&token=x", "only version=2 takes"],
  ["influxdb://host/gpu?version=2&rp=x", "only version=1 takes"],
  ["influxdb://host/gpu?version=2&create=true", "cannot create a bucket"],
  ["influxdb://host/gpu?preset=telegraf", "one of gpulse, gpuz"],
  ["influxdb://host/gpu?token=${NO_SUCH_VARIABLE}", "NO_SUCH_VARIABLE, which is not set"],
])("%s is refused with a sentence", async (url, words) => {
  await expect(openSink(url, sinkContextIn("unused"))).rejects.toThrow(words);
});

test("a pipe hears at the start that InfluxDB is down, before there is anything to write", async () => {
  const said: string[] = [];
  const context = { ...sinkContextIn("unused", logInto(said)), waits: true };
  const sink = await openSink("influxdb://127.0.0.1:9/gpu", context);
  await expect.poll(() => said.join("")).toMatch(/InfluxDB does not answer.*influxdb:.*gpu/);
  await sink.close();
});

test("a scaled value is rounded to twelve digits, whichever way it is computed", () => {
  for (let whole = 1; whole < 3e6; whole = Math.ceil(whole * 1.07))
    for (let digits = 0; digits < 10; digits++)
      for (const scale of [0.01, 100, 1e-6, 2 ** -20])
        for (const value of [whole / 10 ** digits, -whole / 10 ** digits, (whole + 1 / 3) * 7])
          expect(scaled(value, scale)).toBe(Number((value * scale).toPrecision(12)));
});
