import { expect, test } from "vitest";
import { gpu } from "../../model/catalogue/index.ts";
import { type Device, deviceLabels } from "../../model/device.ts";
import { FrameWriter } from "../../model/frame.ts";
import { LayoutBuilder } from "../../model/layout.ts";
import { FrameTicks, type FrameTicksOptions, type TickDelivery } from "./frame-ticks.ts";
import { Ledger } from "./ledger.ts";

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

function slow({ seconds, joules, activity = 0.9, workload, memory }: Reading): TickDelivery {
  const builder = new LayoutBuilder();
  const add = (metric: Parameters<typeof builder.add>[0], more?: Record<string, string>): number =>
    builder.add(metric, deviceLabels(device, "node7", more));
  const slots: [number, number | undefined][] = [
    [add(gpu.energy), joules],
    [add(gpu.smActivity), activity],
    [add(gpu.memoryUsed), memory],
    [add(gpu.processes), workload === undefined ? 0 : 1],
  ];
  if (workload !== undefined) slots.push([add(gpu.ownerInfo, { workload, user: "ada" }), 1]);
  const writer = new FrameWriter(builder.build(), startMs + seconds * 1_000);
  for (const [slot, value] of slots) if (value !== undefined) writer.set(slot, value);
  return { frame: writer.finish(), devices: [device], tier: "slow" };
}

const takeAll = (readings: readonly Reading[], options: FrameTicksOptions = {}) => {
  const frames = new FrameTicks(options);
  const ticks = readings.flatMap((reading) => [...frames.take(slow(reading)).ticks]);
  return [...ticks, ...frames.flush()];
};

/** Owners, activity and the meter change at odd times, with a restart of the counter, a gap and an end of the hour. */
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

function figures(readings: readonly Reading[], options?: FrameTicksOptions): unknown {
  const ledger = new Ledger();
  const { jobs, parts } = ledger.apply(["ticks", takeAll(readings, options)]);
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

test("a steady GPU is one tick a minute, and what waits is for the journal", () => {
  const frames = new FrameTicks();
  let [made, same] = [0, 0];
  for (let at = 0; at <= 60; at++) {
    const { ticks, unchanged } = frames.take(
      slow({ seconds: at * 5, joules: at * 500, workload: "1" }),
    );
    made += ticks.length;
    same += unchanged?.uuids.length ?? 0;
  }
  expect([made, same]).toEqual([6, 55]);
});

test("after the journal was replaced the next reading is a whole tick", () => {
  const frames = new FrameTicks();
  frames.take(slow({ seconds: 0, joules: 0 }));
  expect(frames.take(slow({ seconds: 5, joules: 500 })).ticks).toEqual([]);
  frames.restart();
  expect(frames.take(slow({ seconds: 10, joules: 1_000 })).ticks).toHaveLength(1);
});
