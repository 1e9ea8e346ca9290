import { describe, expect, test } from "vitest";
import { type Kernel, kernels } from "../kernels.ts";
import { models } from "../models/index.ts";
import { h200, rtx4090 } from "../models/nvidia.ts";
import { rx7800xt } from "../models/amd.ts";
import { makeSimCard, type SimCard, stepMs, type Demand, noDemand } from "./card.ts";
import { ambientForIdle, idleState, step } from "./gpu.ts";
import { reasonBit } from "./governor.ts";
import {
  type CardEnvironment,
  clockHertz,
  governingCelsius,
  normalEnvironment,
  reportedWatts,
  type SimGpuState,
} from "./state.ts";

const load = (kernel: Kernel, busy = 1): Demand => ({
  ...noDemand(),
  ...kernel,
  context: true,
  busy,
});

function run(
  card: SimCard,
  around: CardEnvironment,
  seconds: number,
  demand: Demand,
  from?: SimGpuState,
): SimGpuState {
  const state = from ?? idleState(card, around, false);
  for (let at = 0; at < seconds * 1_000; at += stepMs) step(card, state, around, demand);
  return state;
}

describe.each(models)("$name", (model) => {
  const card = makeSimCard(model);
  const around = normalEnvironment(card, 27);

  test("sits in deep idle, cool and far below its limit, when nothing runs", () => {
    const state = run(card, around, 120, noDemand());
    expect(clockHertz(card, state)).toBe(model.clocks.idleHertz);
    expect(reportedWatts(card, state)).toBeLessThan(model.power.limitWatts * 0.25);
    expect(governingCelsius(card, state)).toBeLessThan(60);
    expect(state.reasons).toBe(0);
  });

  test("is held at its power limit under a stress test, below slowdown, and says why", () => {
    const state = run(card, around, 600, load(kernels.stress));
    expect(reportedWatts(card, state)).toBeGreaterThan(model.power.limitWatts * 0.96);
    expect(reportedWatts(card, state)).toBeLessThan(model.power.limitWatts * 1.005);
    expect(clockHertz(card, state)).toBeLessThan(model.clocks.boostHertz);
    expect(clockHertz(card, state)).toBeGreaterThan(model.clocks.boostHertz * 0.6);
    expect(state.reasons).toBe(reasonBit.powerCap);
    expect(governingCelsius(card, state)).toBeLessThan(model.thermal.slowdownCelsius - 8);
    expect(governingCelsius(card, state)).toBeGreaterThan(50);
  });

  test("with its cooling gone it throttles on heat and stays below shutdown", () => {
    const state = run(card, { ...around, fansFailed: true }, 1_200, load(kernels.stress));
    expect(state.reasons & (reasonBit.thermal | reasonBit.thermalHardware)).not.toBe(0);
    expect(reportedWatts(card, state)).toBeLessThan(model.power.limitWatts * 0.9);
    expect(governingCelsius(card, state)).toBeLessThan(model.thermal.shutdownCelsius);
  });

  test("its energy is the sum of its power", () => {
    const state = run(card, around, 60, load(kernels.train));
    const before = state.energyJoules;
    let joules = 0;
    for (let at = 0; at < 100; at++) {
      step(card, state, around, load(kernels.train));
      joules += (state.powerWatts * stepMs) / 1_000;
    }
    expect(state.energyJoules - before).toBeCloseTo(joules, 6);
  });
});

const card = makeSimCard(h200);
const room = normalEnvironment(card, 30);

test("a context keeps an H200 at boost though nothing runs, and costs about 40 W", () => {
  const deep = run(card, room, 60, noDemand());
  const held = run(card, room, 60, { ...noDemand(), context: true });
  expect(clockHertz(card, held)).toBe(1_980e6);
  expect(reportedWatts(card, held) - reportedWatts(card, deep)).toBeGreaterThan(30);
  expect(reportedWatts(card, held) - reportedWatts(card, deep)).toBeLessThan(55);
});

test("an RTX 4090 drops its clocks although a context is held", () =>
  expect(
    clockHertz(
      makeSimCard(rtx4090),
      run(makeSimCard(rtx4090), room, 60, { ...noDemand(), context: true }),
    ),
  ).toBe(210e6));

test("reported power needs about a second to follow a step, the true power none", () => {
  const state = run(card, room, 30, { ...noDemand(), context: true });
  run(card, room, 0.5, load(kernels.matmul_bf16), state);
  expect(state.powerWatts).toBeGreaterThan(650);
  expect(reportedWatts(card, state)).toBeLessThan(450);
  run(card, room, 0.7, load(kernels.matmul_bf16), state);
  expect(reportedWatts(card, state)).toBeGreaterThan(650);
});

test("the die heats in tenths of a second, the heatsink over tens", () => {
  const state = run(card, room, 60, { ...noDemand(), context: true });
  const cold = state.dieCelsius;
  run(card, room, 0.3, load(kernels.matmul_bf16), state);
  expect(state.dieCelsius - cold).toBeGreaterThan(10);
  const sink = state.sinkCelsius;
  run(card, room, 1, load(kernels.matmul_bf16), state);
  expect(state.sinkCelsius - sink).toBeLessThan(0.3);
  run(card, room, 60, load(kernels.matmul_bf16), state);
  expect(state.sinkCelsius - sink).toBeGreaterThan(1);
});

test("a lower power limit means a lower clock", () => {
  const full = run(card, room, 20, load(kernels.matmul_bf16));
  const half = run(card, { ...room, powerLimitWatts: 400 }, 20, load(kernels.matmul_bf16));
  expect(clockHertz(card, half)).toBeLessThan(clockHertz(card, full) * 0.8);
  expect(reportedWatts(card, half)).toBeCloseTo(400 * 0.987, -1);
});

test("a power brake halves the clock", () => {
  const state = run(card, { ...room, powerBrake: true }, 5, load(kernels.matmul_bf16));
  expect(clockHertz(card, state)).toBeLessThanOrEqual(990e6);
  expect(state.reasons & reasonBit.powerBrake).not.toBe(0);
});

test("old paste shows at the die under load, not at idle", () => {
  const worn = { ...room, pasteFactor: 3 };
  const loads = [load(kernels.matmul_bf16), { ...noDemand(), context: true }];
  const [hot = 0, idle = 0] = loads.map(
    (demand) => run(card, worn, 60, demand).dieCelsius - run(card, room, 60, demand).dieCelsius,
  );
  expect(hot).toBeGreaterThan(8);
  expect(idle).toBeLessThan(3);
});

test("fans stand still on a cool desktop card and speed up with heat", () => {
  const radeon = makeSimCard(rx7800xt);
  const around = normalEnvironment(radeon, 22);
  expect(run(radeon, around, 60, noDemand()).fanRatio).toBe(0);
  expect(run(radeon, around, 300, load(kernels.stress)).fanRatio).toBeGreaterThan(0.3);
});

test("the room is found again from an idle card's temperature", () => {
  for (const context of [true, false]) {
    const state = run(card, room, 300, { ...noDemand(), context });
    expect(ambientForIdle(card, state.dieCelsius, context)).toBeCloseTo(30, 1);
  }
});

test("the same inputs give the same state, bit for bit", () => {
  const twice = [0, 1].map(() =>
    run(card, normalEnvironment(card, 25), 30, load(kernels.train, 0.9)),
  );
  expect(twice[0]).toEqual(twice[1]);
});
