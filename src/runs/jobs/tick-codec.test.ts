import { expect, test } from "vitest";
import { frameBytes } from "../../base/state/record.ts";
import { type GpuTick, tickKey } from "./tick.ts";
import { TickCodec } from "./tick-codec.ts";

const labels = { workload: "4711", user: "ada" };

const tick = (timeMs: number, more: Partial<GpuTick> = {}): GpuTick => ({
  uuid: "GPU-1",
  host: "node7",
  gpu: 3,
  model: "H200",
  simulated: false,
  timeMs,
  joules: timeMs / 10,
  meter: "hardware",
  activityRatio: 0.75,
  tensorRatio: undefined,
  dramRatio: 0,
  memoryBytes: 5e9,
  peakMemoryBytes: 6e9,
  throttleSeconds: { power_cap: 3.5, thermal: 1 },
  xids: { 79: 2 },
  anomalies: undefined,
  owners: [{ labels, memoryBytes: 4e9, peakMemoryBytes: undefined, utilizationRatio: 0.5 }],
  ...more,
});

type Encoded = Parameters<TickCodec["encode"]>;

function payload(codec: TickCodec, ...given: Encoded): Uint8Array {
  const { bytes, payloadBytes } = codec.encode(...given);
  return Uint8Array.from(bytes.subarray(frameBytes, frameBytes + payloadBytes));
}

test("ticks come back as they were: owners, counters, absent readings", () => {
  const [writer, reader] = [new TickCodec(), new TickCodec()];
  const batches = [
    [tick(1_000), tick(1_000, { uuid: "GPU-2", owners: [], xids: {}, throttleSeconds: undefined })],
    [tick(6_000), tick(6_000, { uuid: "GPU-2", owners: undefined, anomalies: ["straggler"] })],
    [tick(11_000, { xids: { 79: 3, 94: 1 }, meter: "integrated", memoryBytes: undefined })],
  ];
  for (const batch of batches) expect(reader.decode(payload(writer, batch))).toEqual(batch);
});

test("a shape is written once, and again after the journal was replaced", () => {
  const codec = new TickCodec();
  const first = payload(codec, [tick(1_000)]).length;
  const second = payload(codec, [tick(2_000)]).length;
  expect(second).toBeLessThan(first / 2);
  codec.reset();
  // Only the first record of a codec notes its start.
  expect(payload(codec, [tick(3_000)]).length).toBe(first - 1);
});

test("an unchanged GPU is its last tick at another time", () => {
  const [writer, reader] = [new TickCodec(), new TickCodec()];
  reader.decode(payload(writer, [tick(1_000)]));
  const same = {
    timeMs: 6_000,
    count: 2,
    indexes: [writer.indexOf(tickKey(tick(1_000))), writer.indexOf("not there")],
    joules: [640, 1],
    idle: [0, 1],
  };
  expect(reader.decode(payload(writer, [], same))).toEqual([]);
  expect(reader.takeReadings()).toEqual([tick(6_000, { joules: 640, idleMs: 0 })]);
  expect(reader.takeReadings()).toEqual([]);
});

test("unchanged readings that a later tick includes are left out, those before a start are not", () => {
  const reader = new TickCodec();
  const write = (writer: TickCodec): Uint8Array[] => [
    payload(writer, [tick(1_000)]),
    payload(writer, [], { ...same, indexes: [writer.indexOf(tickKey(tick(1_000)))] }),
  ];
  const same = { timeMs: 6_000, count: 1, indexes: [0], joules: [640], idle: [1] };
  const writer = new TickCodec();
  for (const bytes of write(writer)) reader.decode(bytes);
  const steady = tick(71_000, { coveredFromMs: 1_000, idleMs: 5_000 });
  expect(reader.decode(payload(writer, [steady]))).toEqual([steady]);
  for (const bytes of write(writer)) reader.decode(bytes);
  const [next] = write(reader);
  expect(reader.decode(next ?? new Uint8Array())).toEqual([
    tick(6_000, { joules: 640, idleMs: 5_000 }),
    tick(1_000),
  ]);
});

test("readings before a tick that does not reach back to them are kept, as the one that does was not written", () => {
  const [writer, reader] = [new TickCodec(), new TickCodec()];
  reader.decode(payload(writer, [tick(1_000)]));
  const index = writer.indexOf(tickKey(tick(1_000)));
  const same = { timeMs: 6_000, count: 1, indexes: [index], joules: [640], idle: [0] };
  reader.decode(payload(writer, [], same));
  // This record, which includes them, is lost.
  payload(writer, [tick(301_000, { coveredFromMs: 1_000 })]);
  const next = tick(601_000, { coveredFromMs: 301_000 });
  expect(reader.decode(payload(writer, [next]))).toEqual([
    tick(6_000, { joules: 640, idleMs: 0 }),
    next,
  ]);
});

test("more readings than a call has arguments are taken at a start", () => {
  const [writer, reader] = [new TickCodec(), new TickCodec()];
  reader.decode(payload(writer, [tick(1_000)]));
  const index = writer.indexOf(tickKey(tick(1_000)));
  const readings = 200_000;
  for (let at = 1; at <= readings; at++)
    reader.decode(
      payload(writer, [], {
        timeMs: 1_000 + at,
        count: 1,
        indexes: [index],
        joules: [at],
        idle: [0],
      }),
    );
  const started = reader.decode(payload(new TickCodec(), [tick(900_000)]));
  expect(started).toHaveLength(readings + 1);
});

test("two hosts with GPUs of one UUID are not mixed up", () => {
  const [writer, reader] = [new TickCodec(), new TickCodec()];
  const [own, other] = [tick(1_000), tick(1_000, { host: "other", joules: 9 })];
  reader.decode(payload(writer, [own, other]));
  const same = { timeMs: 6_000, count: 1, indexes: [writer.indexOf(tickKey(own))], idle: [0] };
  reader.decode(payload(writer, [], { ...same, joules: [640] }));
  expect(reader.takeReadings()).toEqual([tick(6_000, { joules: 640, idleMs: 0 })]);
});

test("a lost shape is unknown, never another one, and damaged bytes are refused", () => {
  const [writer, reader] = [new TickCodec(), new TickCodec()];
  reader.decode(payload(writer, [tick(1_000)]));
  // This record is lost.
  payload(writer, [tick(2_000, { owners: [] })]);
  expect(reader.decode(payload(writer, [tick(3_000, { owners: [] })]))).toBeUndefined();
  // A codec that read a journal continues its ids.
  const next = payload(reader, [tick(4_000, { host: "other" })]);
  expect(new TickCodec().decode(next)).toEqual([tick(4_000, { host: "other" })]);
  const whole = payload(new TickCodec(), [tick(1_000)]);
  for (let length = 2; length < whole.length; length++)
    expect(new TickCodec().decode(whole.subarray(0, length)) ?? []).toEqual([]);
});
