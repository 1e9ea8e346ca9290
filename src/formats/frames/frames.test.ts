import { expect, test } from "vitest";
import { fuzz, fuzzTimeoutMs } from "../../../test/fuzz/mutate.ts";
import { GpulseError } from "../../base/error.ts";
import { gpu } from "../../model/catalogue/index.ts";
import type { Device } from "../../model/device.ts";
import { ByteReader, ByteWriter, FramesError } from "./bytes.ts";
import { parsePushResponse } from "./push-response.ts";
import {
  decodeDevices,
  encodeDevices,
  decodeLayout,
  encodeLayout,
  type LayoutDefinition,
} from "./layout.ts";
import { devices, hello, someLayout, wireFrame } from "../../../test/fixtures/formats/frames.ts";
import { FrameDecoder, FrameEncoder } from "./frame.ts";
import { decodeHello, encodeHello } from "./hello.ts";
import { decodeMetric, encodeMetric } from "./metric.ts";
import {
  type DefinitionStore,
  type PushRequest,
  readRequest,
  recordKind,
  RequestWriter,
  VersionError,
} from "./request.ts";

const layout = encodeLayout(someLayout());
const seen = encodeDevices(devices);
const names = { layout: layout.hash, devices: seen.hash };
const { resolutions } = decodeLayout(layout.content);

test.for([0, 1, 127, 128, 16_383, 2 ** 31, 2 ** 32, 2 ** 51, Number.MAX_SAFE_INTEGER])(
  "the whole number %d is read as it was written",
  (value) => {
    const bytes = new ByteWriter();
    bytes.varint(value);
    if (value <= 2 ** 51) bytes.zigzag(-value);
    const reader = new ByteReader(bytes.finish());
    expect(reader.varint()).toBe(value);
    if (value <= 2 ** 51) expect(reader.zigzag()).toBe(value === 0 ? 0 : -value);
    expect(reader.left).toBe(0);
  },
);

test("a layout, devices, a metric and a hello are read as they were written", () => {
  const read = decodeLayout(layout.content);
  expect(read.hash).toBe(layout.hash);
  expect(read.series.map(({ metric, suffix, labels }) => [metric.name, suffix, labels])).toEqual(
    someLayout().series.map(({ metric, suffix, labels }) => [metric.name, suffix, labels]),
  );
  expect(decodeDevices(seen.content)).toEqual(devices);
  expect(decodeHello(encodeHello(hello))).toEqual(hello);
  const { labels: _labels, given: _given, plausible: _plausible, ...reported } = gpu.power;
  expect(decodeMetric(encodeMetric(gpu.power))).toMatchObject(reported);
});

test("the same content has the same name wherever it was made, and other content another", () => {
  expect(encodeLayout(someLayout()).hash).toBe(layout.hash);
  expect(encodeLayout({ series: someLayout().series.slice(1) }).hash).not.toBe(layout.hash);
});

const rows = [
  [100, 40, 1e6, 99.5, 41.5, 2e9, 17, 0.25],
  [100.001, 40, 1_000_250.125, 99.5, "failed", 2e9, 18, 0.25],
  [-0, 40.05, Number.MAX_VALUE, 1 / 3, "failed", 2 ** 52 + 2, 18, 1e-7],
  ["asleep", "asleep", 0, 99.5, 41.5, 2e9, 18, Infinity],
] as const;

test("frames come out bit for bit as they went in, multiples of their resolution or not", () => {
  const encoder = new FrameEncoder();
  const decoder = new FrameDecoder();
  rows.forEach((row, at) => {
    const frame = wireFrame(names, 5 + at, row);
    const reader = new ByteReader(encoder.encode(frame, resolutions));
    const head = decoder.head(reader);
    expect(decoder.body(reader, head, resolutions)).toEqual(frame);
    expect(reader.left).toBe(0);
  });
});

test("a frame that is like the one before takes a byte a reading", () => {
  const encoder = new FrameEncoder();
  const first = encoder.encode(wireFrame(names, 1, rows[0]), resolutions);
  const again = encoder.encode(wireFrame(names, 2, rows[0]), resolutions);
  // Sequence, two ids, source, host, tier, freshness, time, presence, no exact values, eight differences of 0.
  expect(again.length).toBe(1 + 16 + 4 + 1 + 1 + 2 + 2 + 1 + 1 + 8);
  expect(again.length).toBeLessThan(first.length);
});

class Learning implements DefinitionStore {
  readonly layouts = new Map<string, LayoutDefinition>();
  readonly devices = new Map<string, readonly Device[]>();
  readonly metrics: string[] = [];

  layout(hash: string): LayoutDefinition | undefined {
    return this.layouts.get(hash);
  }
  learnLayout(learned: LayoutDefinition): void {
    this.layouts.set(learned.hash, learned);
  }
  learnDevices(hash: string, learned: readonly Device[]): void {
    this.devices.set(hash, learned);
  }
  learnMetric({ name }: { readonly name: string }): void {
    this.metrics.push(name);
  }
}

function request(parts: {
  readonly definitions: boolean;
  readonly more?: readonly number[];
}): Buffer {
  const writer = new RequestWriter();
  writer.record(recordKind.hello, encodeHello(hello));
  if (parts.definitions) {
    writer.record(recordKind.metric, encodeMetric(gpu.power));
    writer.record(recordKind.layout, layout.content);
    writer.record(recordKind.devices, seen.content);
  }
  for (const kind of parts.more ?? []) writer.record(kind, Buffer.from("a newer agent's"));
  const encoder = new FrameEncoder();
  rows.forEach((row, at) => {
    const frame = wireFrame(names, at + 1, row);
    writer.record(recordKind.frame, encoder.encode(frame, resolutions));
  });
  return writer.finish();
}

const read = (body: Uint8Array, known: DefinitionStore = new Learning()): PushRequest =>
  readRequest(body, () => known);

test("a whole request is read: who sends, what it defines, its frames in order", () => {
  const known = new Learning();
  const { hello: sender, frames, heads, goodbye } = read(request({ definitions: true }), known);
  expect(sender).toEqual(hello);
  expect(frames.map(({ sequence }) => sequence)).toEqual([1, 2, 3, 4]);
  expect(frames[1]?.values[0]).toBe(100.001);
  expect(heads).toHaveLength(4);
  expect(goodbye).toBe(false);
  expect(known.devices.get(seen.hash)).toEqual(devices);
  expect(known.metrics).toEqual([gpu.power.name]);
});

test("without its layout a frame is still named, so that the hub can ask for it", () => {
  const { frames, heads } = read(request({ definitions: false }));
  expect(frames).toEqual([]);
  expect(heads[0]).toMatchObject({ ...names, sequence: 1, source: "sim", tier: "fast" });
});

test("kinds of record that a newer agent has are passed over and reported", () => {
  const { frames, unknownKinds } = read(request({ definitions: true, more: [77, 1_000] }));
  expect(frames).toHaveLength(4);
  expect(unknownKinds).toEqual([77, 1_000]);
});

test("what a newer agent adds behind the fields known here is left alone", () => {
  const longer = Buffer.concat([encodeHello(hello), Buffer.from([1, 2, 3])]);
  expect(decodeHello(longer)).toEqual(hello);
});

test("another version of the format is distinguished from what is no request at all", () => {
  const body = request({ definitions: true });
  body[6] = 2;
  expect(() => read(body)).toThrow(VersionError);
  expect(() => read(Buffer.from("<html>"))).toThrow("this is not a request of a gpulse agent");
});

test("frames out of their sequence are refused", () => {
  const writer = new RequestWriter();
  writer.record(recordKind.hello, encodeHello(hello));
  const frame = new FrameEncoder().encode(wireFrame(names, 1, rows[0]), resolutions);
  frame[0] = 0;
  writer.record(recordKind.frame, frame);
  expect(() => read(writer.finish())).toThrow("not in their sequence");
});

test("a count that promises more than there is is refused before room is made for it", () => {
  const bytes = new ByteWriter();
  bytes.varint(400_000);
  expect(() => decodeLayout(bytes.finish())).toThrow("end too early");
});

test("an answer is read whatever else a newer hub puts into it, and anything else is none", () => {
  expect(parsePushResponse(Buffer.from('{"acknowledged":7,"mood":"good"}'))).toEqual({
    acknowledged: 7,
  });
  expect(parsePushResponse(Buffer.from('{"needs":{"layouts":["ab"]}}'))).toEqual({
    needs: { layouts: ["ab"], devices: [], metrics: [] },
  });
  for (const other of ["", "<html>", "7", '{"acknowledged":-1}', '{"acknowledged":"7"}'])
    expect(parsePushResponse(Buffer.from(other))).toBeUndefined();
});

const asGpulseError = (parse: () => unknown): void => {
  try {
    parse();
  } catch (thrown) {
    if (thrown instanceof FramesError)
      throw new GpulseError("FILE_FORMAT", thrown.message, { cause: thrown });
    throw thrown;
  }
};

test("a request harmed at any one byte is read or refused, and nothing else", () => {
  const good = request({ definitions: true, more: [77] });
  for (let at = 0; at < good.length; at++) {
    for (const value of [0, 1, 0x7f, 0x80, 0xff, (good[at] ?? 0) ^ 0x10]) {
      const harmed = Buffer.from(good);
      harmed[at] = value;
      for (const bytes of [harmed, good.subarray(0, at)]) {
        try {
          read(bytes);
        } catch (thrown) {
          if (!(thrown instanceof FramesError)) throw thrown;
        }
      }
    }
  }
});

test(
  "requests taken apart in every way are read or refused",
  async () => {
    const samples = [request({ definitions: true }), request({ definitions: false, more: [9] })];
    const parse = (bytes: Buffer): void => asGpulseError(() => read(bytes));
    expect(await fuzz({ seed: 0xf4a, samples, parse })).toBeGreaterThan(0);
  },
  fuzzTimeoutMs,
);
