import { expect, test } from "vitest";
import { fuzz, fuzzTimeoutMs } from "../../../test/fuzz/mutate.ts";
import { gpu, host as hostMetrics, type MetricEntry } from "../../model/catalogue/index.ts";
import { type Device, deviceInfoLabels, deviceLabels } from "../../model/device.ts";
import type { Frame } from "../../model/frame.ts";
import { AvroWriter } from "../avro/writer.ts";
import { labelSet, labelValue } from "../../model/labels.ts";
import { LayoutBuilder, seriesKey } from "../../model/layout.ts";
import { presence, presenceNames } from "../../model/presence.ts";
import { AvroMessageDecoder, AvroMessageEncoder, messageAvroSchema, schemaIdOf } from "./avro.ts";
import { BinaryDecoder, BinaryEncoder, isBinary } from "./binary.ts";
import { MessageDecoder } from "./decode.ts";
import { MessageEncoder, type MessageInput } from "./encode.ts";
import { messageLimits } from "./schema.ts";

const first: Device = {
  uuid: "GPU-a",
  index: 0,
  vendor: "nvidia",
  model: "H200",
  simulated: true,
  driver: "1.2",
};
const second: Device = { ...first, uuid: "GPU-b", index: 1, vendor: "amd", simulated: false };

function reported(devices: readonly Device[], host = "lab"): MessageInput {
  const builder = new LayoutBuilder();
  for (const device of devices) {
    builder.add(gpu.info, deviceInfoLabels(device, host));
    builder.add(gpu.power, deviceLabels(device, host));
    builder.add(gpu.temperature, deviceLabels(device, host, { sensor: "edge" }));
    builder.add(gpu.temperature, deviceLabels(device, host, { sensor: "odd" }));
  }
  builder.add(hostMetrics.load1, labelSet({ host }));
  builder.add(hostMetrics.load5, labelSet({ host }));
  const layout = builder.build();
  const values = Float64Array.from(layout.series, (_, slot) => slot / 8);
  const states = new Uint8Array(layout.series.length);
  states[2] = presence.unsupported;
  const frame = { timeMs: 1_700_000_000_123, layout, values, presence: states };
  return { frame, devices, host, tags: new Map([["GPU-a", ["high_power"]]]) };
}

/** All readings as text, keyed by series. */
const readings = ({ layout, values, presence: states }: Frame): Record<string, number | string> =>
  Object.fromEntries(
    layout.series.map((series, slot) => {
      const state = states[slot] ?? presence.failed;
      return [
        seriesKey(series),
        state === presence.present ? (values[slot] ?? Number.NaN) : (presenceNames[state] ?? ""),
      ];
    }),
  );

const decoder = () => new MessageDecoder();
const encode = (of: MessageInput) => new MessageEncoder().encode(of);
function decode(value: string | Uint8Array) {
  const decoded = decoder().decode(Buffer.from(value));
  if (!decoded.ok) throw new Error(decoded.reason);
  return decoded.message;
}
const reason = (value: string | Uint8Array): string => {
  const decoded = decoder().decode(Buffer.from(value));
  return decoded.ok ? "" : decoded.reason;
};

test("a frame of one GPU is one message with everything, and comes back as it was", () => {
  const given = reported([first]);
  const [message, ...more] = encode(given);
  expect(more).toEqual([]);
  expect(message?.key).toBe("GPU-a");
  expect(JSON.parse(message?.value ?? "")).toEqual({
    version: 1,
    time: "2023-11-14T22:13:20.123Z",
    host: "lab",
    gpu: {
      uuid: "GPU-a",
      index: 0,
      vendor: "nvidia",
      model: "H200",
      simulated: true,
      driver: "1.2",
    },
    values: { gpu_power_watts: 0.125, host_load1: 0.5 },
    absent: { gpu_temperature_celsius_edge: "unsupported" },
    other: [
      {
        name: "gpu_temperature_celsius",
        labels: { gpu: "0", host: "lab", sensor: "odd", uuid: "GPU-a" },
        value: 0.375,
      },
      { name: "host_load5", labels: { host: "lab" }, value: 0.625 },
    ],
    tags: ["high_power"],
  });
  const back = decode(message?.value ?? "");
  const want = readings(given.frame);
  const info = Object.keys(want).find((key) => key.startsWith("gpu_info"));
  expect(readings(back.frame)).toEqual({ ...want, [info ?? ""]: 1 });
  expect(back).toMatchObject({ host: "lab", devices: [first] });
  expect(back.tags?.get("GPU-a")).toEqual(["high_power"]);
  expect(back.frame.timeMs).toBe(given.frame.timeMs);
});

test("a frame of two GPUs is a message for each, with the machine's columns, and one for the machine", () => {
  const messages = encode(reported([first, second]));
  expect(messages.map(({ key }) => key)).toEqual(["GPU-a", "GPU-b", "lab"]);
  for (const { value } of messages.slice(0, 2))
    expect(JSON.parse(value)).toMatchObject({ values: { host_load1: 1 } });
  const machine = decode(messages[2]?.value ?? "");
  expect(machine.devices).toEqual([]);
  expect(machine.frame.layout.series.map(({ metric }) => metric.name)).toEqual(["host_load5"]);
});

test("readings of another machine keep their labels, since a column does not say whose it is", () => {
  const given = { ...reported([first], "elsewhere"), host: "lab" };
  const back = decode(encode(given)[0]?.value ?? "");
  const labels = back.frame.layout.series.find(({ metric }) => metric === gpu.power)?.labels ?? [];
  expect(labelValue(labels, "host")).toBe("elsewhere");
});

test("frames of one shape share a layout", () => {
  const [message] = encode(reported([first]));
  const one = decoder();
  const layouts = [1, 2].map(() => {
    const decoded = one.decode(Buffer.from(message?.value ?? ""));
    return decoded.ok ? decoded.message.frame.layout : undefined;
  });
  expect(layouts[0]).toBeDefined();
  expect(layouts[0]).toBe(layouts[1]);
});

const base = {
  version: 1,
  time: "2026-01-01T00:00:00.000Z",
  host: "lab",
  gpu: { uuid: "GPU-a", index: 0, vendor: "nvidia", model: "H200" },
  values: { gpu_power_watts: 1 },
};
const like = (change: object): string => JSON.stringify({ ...base, ...change });

test("fields of a later sender are left alone, and its columns kept as plain numbers", () => {
  const back = decode(like({ colour: "red", values: { gpu_power_watts: 1, gpu_new_things: 7 } }));
  expect(back.frame.layout.series.map(({ metric }) => metric.name)).toContain("gpu_new_things");
});

test.each([
  ["nothing", "", /empty/],
  ["no JSON", "{]", /not valid JSON/],
  ["not UTF-8", Buffer.from([0x7b, 0xff, 0x7d]), /not valid JSON/],
  ["a list", "[1]", /not a JSON object/],
  ["no version", "{}", /"version" must be 1/],
  ["a later version", like({ version: 2 }), /version 2.*update/],
  ["no time", like({ time: "soon" }), /"time" must be a time/],
  ["a time that is none", like({ time: "2026-19-01T00:00:00Z" }), /"time" must be a time/],
  ["a day that is none", like({ time: "2026-02-30T00:00:00Z" }), /"time" must be a time/],
  ["a time left out", like({ time: undefined }), /^"time" is missing$/],
  ["a GPU that is text", like({ gpu: "GPU-a" }), /^"gpu" must be of type Object$/],
  ["a value that is text", like({ values: { gpu_power_watts: "1" } }), /gpu_power_watts/],
  ["a number too large", like({}).replace(":1}", ":1e999}"), /a number/],
  ["a name that is none", like({ values: { "gpu power": 1 } }), /metric/],
  ["a reason that is none", like({ absent: { gpu_power_watts: "bored" } }), /one of/],
  ["a label of ours", like({ other: [{ name: "a", labels: { __name__: "b" } }] }), /label/],
  [
    "a reading twice",
    like({
      other: [
        { name: "gpu_power_watts", labels: { uuid: "GPU-a", gpu: "0", host: "lab" }, value: 2 },
      ],
    }),
    /occurs twice/,
  ],
  ["a GPU without uuid", like({ gpu: { index: 0 } }), /gpu/],
  ["too many values", like({ values: manyValues() }), /at most 4096 values/],
  ["too many bytes", Buffer.alloc(messageLimits.bytes + 1, 0x20), /more than the 1000000/],
  ["brackets without end", "[".repeat(500_000), /not valid JSON/],
])("%s is refused in one sentence", (_, value, says) => {
  expect(reason(value)).toMatch(says);
});

function manyValues(): Record<string, number> {
  return Object.fromEntries(Array.from({ length: 4_097 }, (_, at) => [`a${at}`, at]));
}

test("binary messages come back bit for bit, GPU by GPU", () => {
  const given = reported([first, second]);
  const messages = new BinaryEncoder("1.0.0").encode(given, "sim");
  expect(messages.map(({ key }) => key)).toEqual(["GPU-a", "GPU-b", "lab"]);
  const back = messages.map(({ value, tags }) => {
    expect(isBinary(value)).toBe(true);
    const decoded = new BinaryDecoder().decode(value, tags);
    if (!decoded.ok) throw new Error(decoded.reason);
    return decoded.message;
  });
  expect(Object.assign({}, ...back.map(({ frame }) => readings(frame)))).toEqual(
    readings(given.frame),
  );
  expect(back.map(({ devices }) => devices)).toEqual([[first], [second], []]);
  expect(back[0]?.tags?.get("GPU-a")).toEqual(["high_power"]);
});

test("a metric that is in no catalogue travels with its own definition", () => {
  const odd: MetricEntry = { ...gpu.power, name: "gpu_odd_volts" };
  const builder = new LayoutBuilder();
  builder.add(odd, deviceLabels(first, "lab"));
  const layout = builder.build();
  const frame = { timeMs: 5, layout, values: Float64Array.of(1.5), presence: new Uint8Array(1) };
  const [message] = new BinaryEncoder("1").encode({ frame, devices: [first], host: "lab" }, "x");
  const decoded = new BinaryDecoder().decode(message?.value ?? Buffer.alloc(0), []);
  expect(decoded.ok && decoded.message.frame.layout.series[0]?.metric.unit).toBe(odd.unit);
});

test("no bytes break a decoder", { timeout: fuzzTimeoutMs }, async () => {
  const given = reported([first, second]);
  const one = decoder();
  const samples = [...encode(given).map(({ value }) => value), like({ tags: ["a"] })];
  await fuzz({ seed: 81, samples, parse: (bytes) => one.decode(bytes) });
  const binary = new BinaryDecoder();
  await fuzz({
    seed: 82,
    samples: new BinaryEncoder("1").encode(given, "sim").map(({ value }) => value),
    parse: (bytes) => binary.decode(bytes, []),
  });
});

test("a message has the same content in Avro as in JSON, for every kind of device", async () => {
  for (const given of [reported([first]), reported([first, second]), reported([])]) {
    const avro = new AvroMessageEncoder(70_000).encode(given);
    const json = encode(given);
    expect(avro.map(({ key }) => key)).toEqual(json.map(({ key }) => key));
    for (const [at, { value }] of avro.entries()) {
      expect(schemaIdOf(value)).toBe(70_000);
      const decoded = await new AvroMessageDecoder().decode(value, 70_000, async () => {
        return messageAvroSchema;
      });
      if (!decoded.ok) throw new Error(decoded.reason);
      const [one, other] = [decoded.message, decode(json[at]?.value ?? "")].map(
        ({ frame, ...rest }) => ({ ...rest, timeMs: frame.timeMs, readings: readings(frame) }),
      );
      expect(one).toEqual(other);
    }
  }
});

test("only what begins with 0 and an id is asked of a registry", () => {
  expect(schemaIdOf(Buffer.from("{}"))).toBeUndefined();
  expect(schemaIdOf(Buffer.from([0, 0, 0, 1]))).toBeUndefined();
  expect(schemaIdOf(Buffer.from([0, 0, 0, 1, 0]))).toBe(256);
});

test.each([
  ["a later version", { version: 2 }, "of version 2"],
  ["a number that is none", { values: { gpu_power_watts: Number.NaN } }, '"values.'],
  ["a time beyond all calendars", { time: 2 ** 62 }, "its time is invalid"],
])("%s in Avro is a dead letter with its reason", async (_, change, says) => {
  const message = { version: 1, time: 0, host: "h", values: { gpu_power_watts: 1 }, ...change };
  const schema = JSON.stringify({
    type: "record",
    name: "M",
    fields: [
      { name: "version", type: "int" },
      { name: "time", type: "long" },
      { name: "host", type: "string" },
      { name: "values", type: { type: "map", values: "double" } },
    ],
  });
  const writer = new AvroWriter();
  writer.raw(Buffer.alloc(5));
  writer.long(message.version);
  if (message.time === 0) writer.long(0);
  // 2^62, beyond the numbers that an AvroWriter writes.
  else writer.raw(Buffer.from([...Array<number>(8).fill(0x80), 0x80, 0x01]));
  writer.text(message.host);
  writer.long(1);
  writer.text("gpu_power_watts");
  writer.double(message.values.gpu_power_watts);
  writer.long(0);
  const decoded = await new AvroMessageDecoder().decode(writer.finish(), 0, async () => schema);
  expect(decoded).toEqual({ ok: false, reason: expect.stringContaining(says) as unknown });
});

test("no bytes of a known schema break the decoder", { timeout: fuzzTimeoutMs }, async () => {
  const samples = new AvroMessageEncoder(1).encode(reported([first])).map(({ value }) => value);
  const avro = new AvroMessageDecoder();
  const bytes = Buffer.from(samples[0] ?? []);
  for (let at = 0; at < bytes.length; at++)
    for (const value of [0, 1, 0x7f, 0x80, 0xff]) {
      const harmed = Buffer.from(bytes);
      harmed[at] = value;
      const decoded = await avro.decode(harmed, 1, async () => messageAvroSchema);
      expect(typeof (decoded.ok ? decoded.message.host : decoded.reason)).toBe("string");
    }
});
