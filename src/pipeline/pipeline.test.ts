import { getEventListeners } from "node:events";

import { expect, test } from "vitest";
import { silentLog } from "../base/log.ts";
import { gpu, self, type Tier } from "../model/catalogue/index.ts";
import { type Frame, FrameWriter } from "../model/frame.ts";
import { labelSet } from "../model/labels.ts";
import { LayoutBuilder } from "../model/layout.ts";
import type { PolledSource, StreamingSource } from "../sources/source.ts";
import { FakeClock } from "../../test/fixtures/fake-clock.ts";
import { sourceHealth } from "./health.ts";
import { Pipeline } from "./pipeline.ts";
import { SelfFrames } from "../model/self-frames.ts";
import { collectSelf } from "./self.ts";
import type { Delivery, Sink } from "./sink.ts";
import { tierState } from "./source-state.ts";

const layout = (() => {
  const builder = new LayoutBuilder();
  builder.add(gpu.power, labelSet({ uuid: "A" }));
  return builder.build();
})();

function frameAt(timeMs: number): Frame {
  const writer = new FrameWriter(layout, timeMs);
  writer.set(0, 100);
  return writer.finish();
}

function polled(read: PolledSource["read"], tiers: readonly Tier[] = ["fast"]): PolledSource {
  return { shape: "polled", tiers, devices: () => [], read, close: () => {} };
}

function collecting(): Sink & { readonly taken: Delivery[] } {
  const taken: Delivery[] = [];
  return { name: "test", taken, write: (delivery) => void taken.push(delivery), close: () => {} };
}

function pipelineOf(
  sources: Record<string, PolledSource | StreamingSource>,
  sink: Sink,
  clock: FakeClock,
): Pipeline {
  return new Pipeline({
    sources: Object.entries(sources).map(([name, source]) => ({ name, source })),
    transforms: [],
    sinks: [sink],
    intervalMs: 1_000,
    host: "h",
    clock,
    log: silentLog,
  });
}

const good = polled((_tier, timeMs) => frameAt(timeMs));

test("reads once at the start, then at whole seconds of the wall clock", async () => {
  const clock = new FakeClock(10_250);
  const sink = collecting();
  const pipeline = pipelineOf({ good }, sink, clock);
  pipeline.start();
  await clock.advance(3_000);
  expect(sink.taken.map(({ frame }) => frame.timeMs)).toEqual([10_250, 11_000, 12_000, 13_000]);
  await pipeline.stop();
});

test("a source that throws, one that hangs and one that gives garbage leave the others on schedule", async () => {
  const clock = new FakeClock(0);
  const sink = collecting();
  const pipeline = pipelineOf(
    {
      throws: polled(() => {
        throw new Error("no driver");
      }),
      hangs: polled(() => new Promise(() => {})),
      garbage: polled(() => ({
        timeMs: 1,
        layout,
        values: new Float64Array(7),
        presence: new Uint8Array(7),
      })),
      nothing: polled(() => undefined as unknown as Frame),
      good,
    },
    sink,
    clock,
  );
  pipeline.start();
  await clock.advance(60_000);
  const fromGood = sink.taken.filter(({ source }) => source === "good");
  expect(fromGood.map(({ frame }) => frame.timeMs)).toEqual(
    Array.from({ length: 61 }, (_, second) => second * 1_000),
  );
  expect(sink.taken).toHaveLength(fromGood.length);
  const health = Object.fromEntries(
    pipeline.states.map((state) => [state.name, sourceHealth(state, clock.nowMs())]),
  );
  expect(health["good"]?.ok).toBe(true);
  expect(health["throws"]?.problem).toBe("fast readings: no driver");
  expect(health["hangs"]?.problem).toBe(
    "hung: no answer for 2000 ms, past its deadline since 58 s",
  );
  expect(health["garbage"]?.problem).toContain("7 values and 7 presences for 1 series");
  expect(health["nothing"]?.problem).toContain("undefined, not a frame");
  const hung = pipeline.states.find(({ name }) => name === "hangs");
  expect(hung && tierState(hung, "fast").reads.late, "a hung call is counted once").toBe(1);
  expect(hung && tierState(hung, "fast").skippedTicks).toBeGreaterThan(50);
  await pipeline.stop();
});

test("a hung source is read again as soon as its call comes back, and the late answer is thrown away", async () => {
  const clock = new FakeClock(0);
  const sink = collecting();
  let calls = 0;
  const release: ((frame: Frame) => void)[] = [];
  const source = polled((_tier, timeMs) => {
    calls++;
    return calls === 1 ? new Promise<Frame>((resolve) => release.push(resolve)) : frameAt(timeMs);
  });
  const pipeline = pipelineOf({ source }, sink, clock);
  pipeline.start();
  await clock.advance(10_500);
  expect(calls).toBe(1);
  release[0]?.(frameAt(0));
  await clock.advance(1_000);
  expect(sink.taken.map(({ frame }) => frame.timeMs)).toEqual([10_000, 11_000]);
  expect(pipeline.states[0] && sourceHealth(pipeline.states[0], clock.nowMs()).ok).toBe(true);
  await pipeline.stop();
});

test("a source with a deadline of its own delivers at its own pace, and its frames stay fresh until the next", async () => {
  const clock = new FakeClock(0);
  const sink = collecting();
  const slow: PolledSource = {
    ...polled(
      (_tier, timeMs) =>
        new Promise((resolve) => clock.after(12_000, () => resolve(frameAt(timeMs)))),
      ["slow"],
    ),
    deadlineMs: 30_000,
  };
  const pipeline = pipelineOf({ slow }, sink, clock);
  pipeline.start();
  await clock.advance(40_000);
  expect(sink.taken.map(({ frame }) => frame.timeMs)).toEqual([0, 10_000, 20_000]);
  const [first] = pipeline.states;
  expect(first && tierState(first, "slow").reads).toMatchObject({ ok: 3, late: 0 });
  for (const { freshForMs } of sink.taken) expect(freshForMs).toBeGreaterThan(24_000);
  await pipeline.stop();
});

test("a failing source is asked less and less often, and recovers by itself", async () => {
  const clock = new FakeClock(0);
  const sink = collecting();
  let calls = 0;
  let broken = true;
  const source = polled((_tier, timeMs) => {
    calls++;
    if (broken) throw new Error("no driver");
    return frameAt(timeMs);
  });
  const pipeline = pipelineOf({ source }, sink, clock);
  pipeline.start();
  await clock.advance(300_000);
  expect(calls).toBeLessThan(25);
  expect(calls).toBeGreaterThan(10);
  broken = false;
  await clock.advance(40_000);
  expect(pipeline.states[0] && sourceHealth(pipeline.states[0], clock.nowMs()).ok).toBe(true);
  await pipeline.stop();
});

test("ticks a held-up process missed are counted, not made up for", async () => {
  const clock = new FakeClock(0);
  const sink = collecting();
  const pipeline = pipelineOf({ good }, sink, clock);
  pipeline.start();
  await clock.advance(1_000);
  clock.stall(5_500);
  await clock.advance(1_000);
  expect(sink.taken.map(({ frame }) => frame.timeMs)).toEqual([0, 1_000, 6_000, 7_000]);
  expect(pipeline.states[0] && tierState(pipeline.states[0], "fast").skippedTicks).toBe(4);
  await pipeline.stop();
});

test("slow readings come every 5 s and static ones every minute, each as a frame of its own", async () => {
  const clock = new FakeClock(0);
  const sink = collecting();
  const source = polled((_tier, timeMs) => frameAt(timeMs), ["fast", "slow", "static"]);
  const pipeline = pipelineOf({ source }, sink, clock);
  pipeline.start();
  await clock.advance(60_000);
  const count = (wanted: Tier): number => sink.taken.filter(({ tier }) => tier === wanted).length;
  expect([count("fast"), count("slow"), count("static")]).toEqual([61, 13, 2]);
  await pipeline.stop();
});

test("a tier with news is read at once, and its schedule goes on", async () => {
  const clock = new FakeClock(0);
  const sink = collecting();
  let announce: ((tier: Tier) => void) | undefined;
  const source: PolledSource = {
    ...polled((_tier, timeMs) => frameAt(timeMs), ["slow"]),
    onChange: (listener) => (announce = listener),
  };
  const pipeline = pipelineOf({ source }, sink, clock);
  pipeline.start();
  await clock.advance(6_300);
  announce?.("slow");
  announce?.("slow");
  await clock.advance(4_000);
  expect(sink.taken.map(({ frame }) => frame.timeMs)).toEqual([0, 5_000, 6_300, 6_301, 10_000]);
  await pipeline.stop();
});

test("a stream waits for its sink and loses nothing; a failing one is started again", async () => {
  const clock = new FakeClock(0);
  const taken: number[] = [];
  const slow: Sink = {
    name: "slow",
    write: ({ frame }) =>
      new Promise((resolve) => void clock.after(10, () => (taken.push(frame.timeMs), resolve()))),
    close: () => {},
  };
  let runs = 0;
  const stream: StreamingSource = {
    shape: "streaming",
    devices: () => [],
    close: () => {},
    run: async (emit) => {
      if (++runs === 1) throw new Error("connection lost");
      for (let time = 0; time < 2_000; time++) await emit(frameAt(time));
    },
  };
  const pipeline = pipelineOf({ stream }, slow, clock);
  pipeline.start();
  await clock.advance(60_000);
  await pipeline.ended();
  expect(taken).toEqual(Array.from({ length: 2_000 }, (_, time) => time));
  expect(pipeline.outlets[0]?.counts).toEqual({ frames: 2_000, dropped: 0, failures: 0 });
  await pipeline.stop();
});

test("rows a stream cannot use are counted in the self-metrics", async () => {
  const clock = new FakeClock(0);
  const stream: StreamingSource = {
    shape: "streaming",
    devices: () => [],
    close: () => {},
    rejectedRows: () => 3,
    run: async (emit) => emit(frameAt(0)),
  };
  const pipeline = pipelineOf({ stream }, collecting(), clock);
  pipeline.start();
  await pipeline.ended();
  const { layout: own, values } = new SelfFrames().at(0, [
    (put, nowMs) =>
      collectSelf(put, nowMs, {
        version: "1",
        nodeVersion: "20",
        states: pipeline.states,
        outlets: [],
        served: [],
        process: { cpuSeconds: 0, residentBytes: 0, startTimeSeconds: 0, openFiles: 0 },
      }),
  ]);
  const slot = own.series.findIndex(({ metric }) => metric === self.sourceRejectedRows);
  expect([own.series[slot]?.labels, values[slot]]).toEqual([labelSet({ source: "stream" }), 3]);
  await pipeline.stop();
});

test("a stream that fails for hours leaves nothing behind for each time it was started again", async () => {
  const clock = new FakeClock(0);
  const waiting: number[] = [];
  const stream: StreamingSource = {
    shape: "streaming",
    devices: () => [],
    close: () => {},
    run: async (_emit, signal) => {
      waiting.push(getEventListeners(signal, "abort").length);
      throw new Error("no such file");
    },
  };
  const pipeline = pipelineOf({ stream }, collecting(), clock);
  pipeline.start();
  await clock.advance(3_600_000);
  expect(waiting.length).toBeGreaterThan(100);
  expect(waiting.at(-1)).toBe(waiting[0]);
  await pipeline.stop();
});

test("hardware does not wait: a stuck sink loses the oldest frames, counted, and the others are not delayed", async () => {
  const clock = new FakeClock(0);
  const stuck: Sink = { name: "stuck", write: () => new Promise(() => {}), close: () => {} };
  const sink = collecting();
  const pipeline = new Pipeline({
    sources: [{ name: "good", source: good }],
    transforms: [],
    sinks: [stuck, sink],
    intervalMs: 1_000,
    host: "h",
    clock,
    log: silentLog,
  });
  pipeline.start();
  await clock.advance(400_000);
  expect(sink.taken).toHaveLength(401);
  expect(pipeline.outlets[0]?.counts).toEqual({ frames: 0, dropped: 401 - 1 - 256, failures: 0 });
  const stopping = pipeline.stop();
  await clock.advance(60_000);
  await stopping;
});

const device = { uuid: "A", index: 0, vendor: "nvidia", model: "Card", simulated: false } as const;
const devices = [device];

test.for([
  ["set ahead by an hour", (clock: FakeClock) => clock.set(3_600_000)],
  ["set back by an hour", (clock: FakeClock) => clock.set(-3_600_000)],
  ["stopped for a minute", (clock: FakeClock) => clock.stall(60_000)],
] as const)("a clock that is %s makes no GPU look down", async ([, happen]) => {
  const clock = new FakeClock(10_000_000);
  const sink = collecting();
  const source: PolledSource = { ...good, devices: () => devices };
  const pipeline = pipelineOf({ source }, sink, clock);
  pipeline.start();
  await clock.advance(3_500);
  const before = sink.taken.length;
  happen(clock);
  await clock.advance(10_000);
  expect(sink.taken.length).toBeGreaterThan(before + 5);
  expect(sink.taken.every(({ frame }) => frame.layout === layout)).toBe(true);
  const times = sink.taken.map(({ frame }) => frame.timeMs);
  expect(new Set(times).size, "no instant is reported twice").toBe(times.length);
  await pipeline.stop();
});

test("an instant that was reported as silent is not read after all: what comes back is of a later one", async () => {
  const clock = new FakeClock(0);
  const sink = collecting();
  let calls = 0;
  const release: ((frame: Frame) => void)[] = [];
  const source: PolledSource = {
    ...polled((_tier, timeMs) => {
      calls++;
      return calls === 2 ? new Promise<Frame>((resolve) => release.push(resolve)) : frameAt(timeMs);
    }),
    devices: () => devices,
  };
  const pipeline = pipelineOf({ source }, sink, clock);
  pipeline.start();
  await clock.advance(10_300);
  release[0]?.(frameAt(0));
  await clock.advance(1_000);
  const reported = sink.taken.map(({ frame }) => [frame.timeMs, frame.layout === layout]);
  expect(reported.at(0)).toEqual([0, true]);
  expect(reported.slice(-3)).toEqual([
    [10_000, false],
    [10_300, true],
    [11_000, true],
  ]);
  await pipeline.stop();
});

test("a source that falls silent has its GPUs reported as down, until it is back", async () => {
  const clock = new FakeClock(0);
  const sink = collecting();
  let broken = false;
  const source: PolledSource = {
    ...polled((_tier, timeMs) => {
      if (broken) throw new Error("driver gone");
      return frameAt(timeMs);
    }),
    devices: () => devices,
  };
  const pipeline = pipelineOf({ source }, sink, clock);
  pipeline.start();
  await clock.advance(3_000);
  broken = true;
  await clock.advance(20_000);
  const reported = sink.taken.filter(({ frame }) => frame.layout.series[0]?.metric === gpu.up);
  expect(reported.length).toBeGreaterThan(10);
  expect(reported[0]?.frame.timeMs, "not before the last reading is too old").toBe(9_000);
  expect(reported.every(({ frame }) => frame.values[0] === 0)).toBe(true);
  broken = false;
  await clock.advance(40_000);
  expect(sink.taken.at(-1)?.frame.layout).toBe(layout);
  const times = sink.taken.map(({ frame }) => frame.timeMs);
  expect(new Set(times).size, "no instant is reported twice").toBe(times.length);
  await pipeline.stop();
});

test("a refresh reads every tier ahead of its schedule and returns when the last has answered", async () => {
  const clock = new FakeClock(10_000);
  const sink = collecting();
  const pauseMs: Readonly<Record<Tier, number>> = { fast: 0, slow: 300, static: 400 };
  const source = polled(
    (tier, timeMs) =>
      new Promise((resolve) => void clock.after(pauseMs[tier], () => resolve(frameAt(timeMs)))),
    ["fast", "slow", "static"],
  );
  const pipeline = pipelineOf({ source }, sink, clock);
  pipeline.start();
  let isDone = false;
  void pipeline.refresh(5_000).then(() => (isDone = true));
  await clock.advance(600);
  expect(isDone).toBe(false);
  await clock.advance(150);
  expect(isDone).toBe(true);
  expect(new Set(sink.taken.map(({ tier }) => tier))).toEqual(new Set(["fast", "slow", "static"]));
  await clock.advance(2_000);
  const before = sink.taken.length;
  void pipeline.refresh(5_000).then(() => (isDone = true));
  await clock.advance(900);
  expect(sink.taken.slice(before).map(({ tier }) => tier)).toContain("static");
  await pipeline.stop();
});

test("a refresh of a source that hangs or keeps failing ends at its deadline", async () => {
  const clock = new FakeClock(0);
  const pipeline = pipelineOf(
    {
      hangs: polled(() => new Promise(() => {})),
      fails: polled(() => Promise.reject(new Error("no driver"))),
      good,
    },
    collecting(),
    clock,
  );
  pipeline.start();
  let isDone = false;
  void pipeline.refresh(5_000).then(() => (isDone = true));
  await clock.advance(4_900);
  expect(isDone).toBe(false);
  await clock.advance(200);
  expect(isDone).toBe(true);
  await pipeline.stop();
});
