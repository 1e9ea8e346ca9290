import { expect, test } from "vitest";
import { frameBytes } from "../../base/state/record.ts";
import { gpu } from "../../model/catalogue/index.ts";
import { type Device, deviceKey, deviceLabels } from "../../model/device.ts";
import { FrameWriter } from "../../model/frame.ts";
import { LayoutBuilder } from "../../model/layout.ts";
import { FrameTicks } from "./frame-ticks.ts";
import type { FrameTicksOptions, TickDelivery } from "./frame-ticks-options.ts";
import { Ledger } from "./ledger.ts";
import { TickCodec } from "./tick-codec.ts";
import type { GpuTick } from "./tick.ts";

const startMs = Date.UTC(2026, 10, 18, 12);
const device: Device = {
  uuid: "GPU-1",
  index: 0,
  vendor: "nvidia",
  model: "H200",
  simulated: false,
};

interface Reading {
  readonly seconds: number;
  readonly joules: number;
  readonly activity?: number;
  readonly workload?: string | undefined;
  readonly memory?: number;
}

function slow(
  { seconds, joules, activity = 0.9, workload, memory }: Reading,
  of = device,
): TickDelivery {
  const builder = new LayoutBuilder();
  const add = (metric: Parameters<typeof builder.add>[0], more?: Record<string, string>): number =>
    builder.add(metric, deviceLabels(of, "node7", more));
  const slots: [number, number | undefined][] = [
    [add(gpu.energy), joules],
    [add(gpu.smActivity), activity],
    [add(gpu.memoryUsed), memory],
    [add(gpu.processes), workload === undefined ? 0 : 1],
  ];
  if (workload !== undefined) slots.push([add(gpu.ownerInfo, { workload, user: "ada" }), 1]);
  const writer = new FrameWriter(builder.build(), startMs + seconds * 1_000);
  for (const [slot, value] of slots) if (value !== undefined) writer.set(slot, value);
  return { frame: writer.finish(), devices: [of], tier: "slow" };
}

const takeAll = (readings: readonly Reading[], options: FrameTicksOptions = {}) => {
  const frames = new FrameTicks(options);
  const ticks = readings.flatMap((reading) => [...frames.take(slow(reading)).ticks]);
  return [...ticks, ...frames.flush()];
};

/** Owners, activity and the meter change at irregular times, with a counter reset, a gap and an hour boundary. */
const story = Array.from({ length: 900 }, (_, at): Reading => {
  const seconds = at * 5 + (at > 400 ? 200 : 0);
  return {
    seconds,
    joules: (at > 250 ? 0 : 10_000) + at * 500 + (at % 7) * 40,
    activity: at % 23 < 4 ? 0.01 : 0.5,
    workload: at % 90 < 60 ? String(Math.floor(at / 90)) : undefined,
    memory: 1e9 + (at % 11) * 1e6,
  };
});

const figures = (readings: readonly Reading[], options?: FrameTicksOptions): unknown =>
  figuresOf([takeAll(readings, options)]);

function figuresOf(batches: Iterable<readonly GpuTick[]>, ledger: Ledger = new Ledger()): unknown {
  const outputs = Array.from(batches, (ticks) => ledger.apply(["ticks", ticks]));
  const jobs = outputs.flatMap((output) => output.jobs);
  const parts = outputs.flatMap((output) => output.parts);
  const round = (value: number): number => Number(value.toFixed(3));
  return {
    jobs: jobs.map(({ id, startMs: from, endMs, stretches }) => [
      id,
      from,
      endMs,
      ...stretches.map((stretch) => [
        stretch.gpuSeconds,
        stretch.usefulSeconds,
        stretch.heldIdleSeconds,
        round(stretch.joules),
        stretch.peakMemoryBytes,
      ]),
    ]),
    hours: parts.map(({ part }) => part.hours.map((hour) => hour.map(round))),
    books: [...ledger.openBooks()].map(({ meterJoules, jobJoules, idleJoules, gaps }) =>
      [meterJoules, jobJoules, idleJoules].map(round).concat(Object.keys(gaps).length),
    ),
  };
}

test("readings that are booked together give the same seconds, joules and peaks as one tick for each", () => {
  const whole = figures(story, { isUrgent: () => true });
  expect(takeAll(story).length).toBeLessThan(story.length / 2);
  expect(figures(story)).toEqual(whole);
});

test.each([4.9, 5, 7, 11, 14.5])("a steady GPU that is read every %d s has no gap", (every) => {
  const readings = Array.from({ length: 200 }, (_, at) => ({
    seconds: at * every,
    joules: at * 500,
    workload: at < 100 ? "ends" : "goes on",
  }));
  const ticks = takeAll(readings);
  expect(ticks.length).toBeLessThan(4 + (200 * every) / 45);
  const { jobs } = new Ledger().apply(["ticks", ticks]);
  expect(jobs[0]?.stretches[0]).toMatchObject({ unobservedSeconds: 0 });
});

test("a journal that is read again gives the same seconds and joules", () => {
  const [writer, reader] = [new TickCodec(), new TickCodec()];
  const frames = new FrameTicks({ indexOf: (key) => writer.indexOf(key) });
  const again = (...given: Parameters<TickCodec["encode"]>): readonly GpuTick[] => {
    const { bytes, payloadBytes } = writer.encode(...given);
    return reader.decode(bytes.subarray(frameBytes, frameBytes + payloadBytes)) ?? [];
  };
  const batches = story.map((reading) => {
    const { ticks, unchanged } = frames.take(slow(reading));
    return again(ticks, unchanged);
  });
  const read = figuresOf([...batches, again(frames.flush())]);
  expect(read).toEqual(figures(story));
});

test.each([false, true])(
  "readings that come again are booked once, after a restart too: %s",
  (isRestart) => {
    const ledger = new Ledger();
    let codec = new TickCodec();
    const journal: Uint8Array[] = [];
    const options: FrameTicksOptions = {
      lastTickOf: (name) => ledger.lastTickOf(name),
      indexOf: (key) => codec.indexOf(key),
    };
    let frames = new FrameTicks(options);
    const take = (reading: Reading): readonly GpuTick[] => {
      const { ticks, unchanged } = frames.take(slow(reading));
      const { bytes, payloadBytes } = codec.encode(ticks, unchanged);
      journal.push(Uint8Array.from(bytes.subarray(frameBytes, frameBytes + payloadBytes)));
      return ticks;
    };
    function* batches(): Generator<readonly GpuTick[]> {
      for (let at = 0; at < story.length; at++) {
        yield take(story[at] ?? { seconds: 0, joules: 0 });
        if (at % 47 !== 46) continue;
        if (isRestart) {
          // The ledger has the ticks of the journal already: what follows them is all that a replay adds.
          codec = new TickCodec();
          for (const payload of journal) codec.decode(payload);
          yield codec.takeReadings();
          frames = new FrameTicks(options);
        }
        for (const again of story.slice(at - 20, at + 1)) yield take(again);
      }
      yield frames.flush();
    }
    const peaks = /,10\d{8}\]/g;
    const text = (of: unknown): string => JSON.stringify(of).replace(peaks, "]");
    // A restart loses the peaks since the last tick.
    expect(text(figuresOf(batches(), ledger))).toBe(text(figures(story)));
  },
);

test("a GPU that is used now and then is one tick in five minutes too, which says how long it was idle", () => {
  const readings = Array.from({ length: 121 }, (_, at): Reading => ({
    seconds: at * 5,
    joules: at * 500,
    activity: at % 3 === 0 ? 0.01 : 0.5,
    workload: "1",
  }));
  const ticks = takeAll(readings);
  expect(ticks).toHaveLength(3);
  expect(ticks.map(({ idleMs, idleSinceMs }) => [idleMs, idleSinceMs])).toEqual([
    [undefined, undefined],
    [100_000, startMs + 295_000],
    [100_000, startMs + 595_000],
  ]);
});

test("a GPU that was forgotten while it was silent is followed again, and what waited is booked", () => {
  const frames = new FrameTicks();
  const at = (seconds: number): TickDelivery =>
    slow({ seconds, joules: seconds * 100, workload: "1" });
  const other = slow({ seconds: 7_200, joules: 1 }, { ...device, uuid: "GPU-2" });
  const times = [at(0), at(5), other, at(7_205)].flatMap((delivery) =>
    frames.take(delivery).ticks.map(({ uuid, timeMs }) => [uuid, timeMs - startMs]),
  );
  expect(times).toEqual([
    ["GPU-1", 0],
    ["GPU-2", 7_200_000],
    ["GPU-1", 5_000],
    ["GPU-1", 7_205_000],
  ]);
});

test("a steady GPU is one tick in five minutes, and what waits is for the journal", () => {
  const frames = new FrameTicks();
  let [made, same] = [0, 0];
  for (let at = 0; at <= 60; at++) {
    const { ticks, unchanged } = frames.take(
      slow({ seconds: at * 5, joules: at * 500, workload: "1" }),
    );
    made += ticks.length;
    same += unchanged?.count ?? 0;
  }
  expect([made, same]).toEqual([2, 59]);
});

test("where a scheduler's job or a policy waits, a steady GPU is one tick a minute", () => {
  const readings = Array.from({ length: 61 }, (_, at) => ({ seconds: at * 5, joules: at * 500 }));
  expect(takeAll(readings, { mostDelayMs: () => 60_000 })).toHaveLength(6);
});

test("a GPU whose tick is asked for is read with its anomalies at the next reading", () => {
  const frames = new FrameTicks({ anomaliesOf: () => ["straggler"] });
  frames.take(slow({ seconds: 0, joules: 0 }));
  expect(frames.take(slow({ seconds: 5, joules: 500 })).ticks).toEqual([]);
  frames.tickNext(deviceKey("node7", "GPU-1"));
  expect(frames.take(slow({ seconds: 10, joules: 1_000 })).ticks).toMatchObject([
    { joules: 1_000, anomalies: ["straggler"] },
  ]);
});

test("after the journal was replaced the next reading is a whole tick", () => {
  const frames = new FrameTicks();
  frames.take(slow({ seconds: 0, joules: 0 }));
  expect(frames.take(slow({ seconds: 5, joules: 500 })).ticks).toEqual([]);
  frames.restart();
  expect(frames.take(slow({ seconds: 10, joules: 1_000 })).ticks).toHaveLength(1);
});
