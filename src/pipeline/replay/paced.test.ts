import { expect, test } from "vitest";
import { gpu } from "../../model/catalogue/index.ts";
import { FrameWriter } from "../../model/frame.ts";
import { labelSet } from "../../model/labels.ts";
import { LayoutBuilder } from "../../model/layout.ts";
import type { StreamingSource } from "../../sources/source.ts";
import { systemClock } from "../../base/clock.ts";
import { FakeClock } from "../../../test/fixtures/fake-clock.ts";
import { PacedSource, type PaceOptions } from "./paced.ts";

const layout = (() => {
  const builder = new LayoutBuilder();
  builder.add(gpu.power, labelSet({ uuid: "A" }));
  return builder.build();
})();

const recording = (times: readonly number[]): StreamingSource => ({
  shape: "streaming",
  devices: () => [],
  run: async (emit, signal) => {
    for (const timeMs of times)
      if (!signal.aborted) await emit(new FrameWriter(layout, timeMs).finish());
  },
  close: () => {},
});

/** When each frame was emitted, and its timestamp. */
async function replay(
  times: readonly number[],
  options: Partial<PaceOptions>,
  clock: FakeClock,
  forMs: number,
) {
  const given: [wallMs: number, timeMs: number][] = [];
  const stop = new AbortController();
  const source = new PacedSource({
    open: async () => recording(times),
    speed: 1,
    loop: false,
    now: false,
    clock,
    ...options,
  });
  const running = source.run(async (frame) => {
    given.push([clock.nowMs(), frame.timeMs]);
  }, stop.signal);
  await clock.advance(forMs);
  stop.abort();
  await running;
  return { given, state: source.state };
}

const irregular = [0, 100, 1_100, 1_150, 4_150, 4_151, 9_151].map((ms) => 1_000_000 + ms);

test.each([1, 2, 0.5])("at speed %d the spacing is the recorded one, scaled", async (speed) => {
  const { given } = await replay(irregular, { speed }, new FakeClock(50_000), 40_000);
  expect(given.length).toBe(irregular.length);
  given.forEach(([wallMs, timeMs], index) => {
    expect(timeMs).toBe(irregular[index]);
    expect(wallMs - 50_000).toBeCloseTo((timeMs - 1_000_000) / speed, 6);
  });
});

test("what is held up is caught up with: an error does not add up", async () => {
  const clock = new FakeClock(0);
  const times = Array.from({ length: 100 }, (_, index) => index * 100);
  const given: number[] = [];
  const source = new PacedSource({
    open: async () => recording(times),
    speed: 1,
    loop: false,
    now: false,
    clock,
  });
  const running = source.run(async () => {
    given.push(clock.nowMs());
    if (given.length === 10) clock.stall(2_000);
    else clock.stall(30);
  }, new AbortController().signal);
  // Small steps, so that every frame that is due is emitted before the clock advances.
  for (let step = 0; step < 2_000; step++) await clock.advance(10);
  await running;
  expect(given[9]).toBeLessThan(1_000);
  // Pacing starts after the first frame, which took 30 ms to deliver.
  expect(given.at(-1)).toBe(9_930);
});

test("speed max waits for nothing", async () => {
  const { given } = await replay(irregular, { speed: Infinity }, new FakeClock(7), 0);
  expect(given.map(([wallMs]) => wallMs)).toEqual(irregular.map(() => 7));
});

test("a loop goes on after its last time with the usual spacing, and never back", async () => {
  const times = [0, 1_000, 2_000, 3_000];
  const { given, state } = await replay(times, { loop: true }, new FakeClock(0), 11_000);
  expect(given.map(([, timeMs]) => timeMs)).toEqual(
    Array.from({ length: 12 }, (_, index) => index * 1_000),
  );
  expect(given.every(([wallMs, timeMs]) => wallMs === timeMs)).toBe(true);
  expect(state.round, "the fourth has begun").toBe(3);
});

test("a loop over a recording whose clock went back still never goes back", async () => {
  const times = [10_000, 11_000, 5_000, 6_000];
  const { given } = await replay(times, { loop: true }, new FakeClock(0), 9_000);
  const seen = given.map(([, timeMs]) => timeMs);
  expect(seen.length).toBe(10);
  expect(seen.every((timeMs, index) => index === 0 || timeMs > (seen[index - 1] ?? 0))).toBe(true);
});

test("without a loop a recording keeps its own times, also where its clock went back, and its pace", async () => {
  const times = [10_000, 11_000, 5_000, 6_000];
  const { given } = await replay(times, {}, new FakeClock(0), 9_000);
  expect(given).toEqual([
    [0, 10_000],
    [1_000, 11_000],
    [2_000, 5_000],
    [3_000, 6_000],
  ]);
});

test("with now, frames have the time at which they are given", async () => {
  const { given } = await replay(
    [5_000, 7_000, 9_000],
    { now: true, speed: 2 },
    new FakeClock(900_000),
    9_000,
  );
  expect(given).toEqual([
    [900_000, 900_000],
    [901_000, 901_000],
    [902_000, 902_000],
  ]);
});

test.each([
  [{ start: { kind: "offset", ms: 1_000 }, end: { kind: "offset", ms: 3_000 } }, [2_000, 3_000]],
  [{ start: { kind: "time", ms: 3_000 } }, [3_000, 4_000]],
  [{ end: { kind: "time", ms: 2_000 } }, [1_000]],
] as const)("bounds %o give the frames between them, the first at once", async (bounds, want) => {
  const { given } = await replay([1_000, 2_000, 3_000, 4_000], bounds, new FakeClock(0), 9_000);
  expect(given.map(([, timeMs]) => timeMs)).toEqual(want);
  expect(given[0]?.[0]).toBe(0);
});

test("a loop that gives nothing ends instead of turning for ever", async () => {
  const { given } = await replay(
    [1_000],
    { loop: true, start: { kind: "time", ms: 5_000 } },
    new FakeClock(0),
    10,
  );
  expect(given).toEqual([]);
});

test("on a real clock the whole takes as long as it should", async () => {
  const times = Array.from({ length: 41 }, (_, index) => index * 50);
  const source = new PacedSource({
    open: async () => recording(times),
    speed: 2,
    loop: false,
    now: false,
    clock: systemClock,
  });
  const began = performance.now();
  await source.run(async () => {}, new AbortController().signal);
  // Frames are never early. A busy machine may delay them, so there is no upper limit.
  expect(performance.now() - began).toBeGreaterThan(980);
});
