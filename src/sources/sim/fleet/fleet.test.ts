import { describe, expect, test } from "vitest";
import { clockHertz, reportedWatts } from "../physics/state.ts";
import { loadScenario, parseScenario } from "../scenario/load.ts";
import { SimFleet } from "./fleet.ts";
import type { FaultName } from "./faults.ts";
import type { SimGpu } from "./gpu.ts";

const startMs = Date.UTC(2026, 0, 5, 9);
const secondMs = 1_000;

function fleetOf(text: string, seed = 1, gpus?: number): SimFleet {
  return new SimFleet(parseScenario(text, "test"), { seed, gpus, model: undefined }, startMs);
}

describe.each([1, 2, 3, 7, 42, 2_026])("the default scenario with seed %i", (seed) => {
  const fleet = new SimFleet(loadScenario("default"), { seed, gpus: 8, model: undefined }, startMs);
  const utilization: number[] = [];
  let waited = 0;
  for (let second = 1; second <= 3_600; second++) {
    fleet.advanceTo(second * secondMs);
    for (const { state } of fleet.gpus) utilization.push(state.utilization);
    waited += Math.sign(fleet.machines[0]?.tally.waiting ?? 0);
  }

  test("averages 50 to 65 % utilisation over an hour, as a real shared machine does", () => {
    const mean = utilization.reduce((sum, value) => sum + value, 0) / utilization.length;
    expect(mean).toBeGreaterThan(0.5);
    expect(mean).toBeLessThan(0.65);
  });

  test("has jobs that wait, run, and end in each way that counts", () => {
    const { ended, steps, requests, tokens, samples, running } =
      fleet.machines[0]?.tally ?? expect.fail("no machine");
    expect(waited).toBeGreaterThan(60);
    for (const kind of ["training", "inference", "batch"] as const)
      expect(ended[kind].succeeded).toBeGreaterThan(2);
    expect(running.training + running.inference + running.batch).toBeLessThanOrEqual(8);
    expect(steps.sum).toBeGreaterThan(3_600);
    expect(requests.counts.reduce((sum, count) => sum + count, 0)).toBeGreaterThan(10_000);
    expect(tokens.inference).toBeGreaterThan(1e6);
    expect(samples.training).toBeGreaterThan(1e5);
  });
});

test("where a fleet stands depends on the time, never on how often one looked", () => {
  const [often, once] = [1, 2].map(
    () => new SimFleet(loadScenario("default"), { seed: 5, gpus: 16, model: undefined }, startMs),
  );
  if (often === undefined || once === undefined) return expect.fail();
  for (let atMs = 0; atMs <= 300_000; atMs += 137) often.advanceTo(atMs);
  often.advanceTo(300_000);
  once.advanceTo(300_000);
  expect(often.gpus.map(({ state }) => state)).toEqual(once.gpus.map(({ state }) => state));
  expect(often.machines.map(({ tally }) => tally)).toEqual(once.machines.map(({ tally }) => tally));
});

test("more GPUs change nothing for those that were there", () => {
  const [few, many] = [8, 24].map(
    (gpus) => new SimFleet(loadScenario("default"), { seed: 5, gpus, model: undefined }, startMs),
  );
  few?.advanceTo(120_000);
  many?.advanceTo(120_000);
  expect(many?.gpus.slice(0, 8).map(({ state }) => state)).toEqual(
    few?.gpus.map(({ state }) => state),
  );
});

test("another seed is another fleet", () => {
  const [one, other] = [1, 2].map(
    (seed) => new SimFleet(loadScenario("default"), { seed, gpus: 1, model: undefined }, startMs),
  );
  expect(one?.devices[0]?.uuid).not.toBe(other?.devices[0]?.uuid);
  one?.advanceTo(60_000);
  other?.advanceTo(60_000);
  expect(one?.gpus[0]?.state.energyJoules).not.toBe(other?.gpus[0]?.state.energyJoules);
});

test("without a number the scenario's own fleet comes up, with one it is filled in its order", () => {
  const text = "fleet: [{ model: RTX 4090, count: 1 }, { model: H100, count: 1 }]";
  const models = (fleet: SimFleet): string[] => fleet.gpus.map(({ model }) => model.key);
  expect(models(fleetOf(text))).toEqual(["RTX4090", "H100"]);
  expect(models(fleetOf(text, 1, 5))).toEqual(["RTX4090", "H100", "RTX4090", "H100", "RTX4090"]);
});

test("ten thousand GPUs fit, and each has an identity of its own", () => {
  const fleet = new SimFleet(
    loadScenario("default"),
    { seed: 1, gpus: 10_000, model: undefined },
    startMs,
  );
  expect(new Set(fleet.devices.map(({ uuid }) => uuid)).size).toBe(10_000);
  expect(new Set(fleet.devices.map(({ pciBusId }) => pciBusId)).size).toBe(10_000);
  fleet.advanceTo(500);
});

/** Two cards with the same work; one of them has the fault from the second minute on, for five minutes. */
function pair(fault: FaultName, amount?: number): { well: SimGpu; ill: SimGpu; fleet: SimFleet } {
  const fleet = fleetOf(
    `
workloads: [{ run: training }]
faults: [{ fault: ${fault}, gpu: 1, at: 1m, for: 5m${amount === undefined ? "" : `, amount: ${amount}`} }]`,
    3,
    2,
  );
  const [well, ill] = fleet.gpus;
  if (well === undefined || ill === undefined) return expect.fail();
  return { well, ill, fleet };
}

const atMinute = (
  fault: FaultName,
  minute: number,
): { well: SimGpu; ill: SimGpu; fleet: SimFleet } => {
  const made = pair(fault);
  made.fleet.advanceTo(minute * 60_000);
  return made;
};

test("fan-failure makes a GPU hot, and it cools down again afterwards", () => {
  expect(atMinute("fan-failure", 5).ill.state.sinkCelsius).toBeGreaterThan(
    atMinute("fan-failure", 5).well.state.sinkCelsius + 20,
  );
  const later = atMinute("fan-failure", 20);
  expect(later.ill.state.sinkCelsius).toBeLessThan(later.well.state.sinkCelsius + 6);
});

test("degraded-paste heats the die, not the heatsink", () => {
  const { well, ill } = atMinute("degraded-paste", 5);
  expect(ill.state.dieCelsius - ill.state.sinkCelsius).toBeGreaterThan(
    well.state.dieCelsius - well.state.sinkCelsius + 8,
  );
  expect(Math.abs(ill.state.sinkCelsius - well.state.sinkCelsius)).toBeLessThan(6);
});

test("stuck-clocks holds the clock far down", () => {
  const { ill } = atMinute("stuck-clocks", 3);
  expect(clockHertz(ill.card, ill.state)).toBeLessThan(700e6);
});

test("power-brake halves the clock and counts the time", () => {
  const { ill, well } = atMinute("power-brake", 5);
  expect(clockHertz(ill.card, ill.state)).toBeLessThanOrEqual(990e6);
  expect(ill.state.reasonSeconds[1]).toBeGreaterThan(200);
  expect(well.state.reasonSeconds[1]).toBe(0);
});

test("straggler takes longer for its steps at the same clock", () => {
  const stepsOf = (amount: number): number => {
    const { fleet } = pair("straggler", amount);
    fleet.advanceTo(300_000);
    return fleet.machines[0]?.tally.steps.counts.reduce((sum, count) => sum + count, 0) ?? 0;
  };
  expect(stepsOf(0.5)).toBeLessThan(stepsOf(1) * 0.9);
});

test("straggler is as busy as before and draws less: what is not done costs no energy", () => {
  const { fleet, ill, well } = pair("straggler");
  let [illWatts, wellWatts, illBusy, wellBusy] = [0, 0, 0, 0];
  for (let second = 120; second < 300; second++) {
    fleet.advanceTo(second * 1_000);
    illWatts += reportedWatts(ill.card, ill.state);
    wellWatts += reportedWatts(well.card, well.state);
    illBusy += ill.state.utilization;
    wellBusy += well.state.utilization;
  }
  expect(illWatts).toBeLessThan(wellWatts * 0.85);
  expect(illBusy).toBeGreaterThan(wellBusy * 0.9);
});

test("memory-leak grows while the program runs, never past the card's memory, and is given back", () => {
  const { fleet, ill, well } = pair("memory-leak", 5);
  fleet.advanceTo(58_000);
  const [before, others] = [ill.state.memoryBytes, well.state.memoryBytes];
  fleet.advanceTo(120_000);
  expect(ill.state.memoryBytes).toBeGreaterThan(before + 0.03 * ill.context.memoryBytes);
  fleet.advanceTo(355_000);
  expect(ill.state.memoryBytes).toBeLessThanOrEqual(ill.context.memoryBytes);
  fleet.advanceTo(365_000);
  expect([ill.state.memoryBytes, well.state.memoryBytes]).toEqual([before, others]);
});

test("ecc-growth counts more and more errors on that GPU alone", () => {
  const { fleet, ill, well } = pair("ecc-growth");
  fleet.advanceTo(180_000);
  const early = ill.eccCorrected;
  fleet.advanceTo(300_000);
  expect(early).toBeGreaterThan(0);
  expect(ill.eccCorrected - early).toBeGreaterThan(early);
  expect(well.eccCorrected).toBe(0);
});

test("xid happens once, takes the job down, and the next one starts", () => {
  const { fleet, ill } = pair("xid");
  fleet.advanceTo(120_000);
  expect([...ill.xids]).toEqual([[31, { count: 1, lastMs: startMs + 60_000 }]]);
  expect(fleet.machines[0]?.tally.ended.training.failed).toBe(1);
  expect(ill.workload.kind).toBe("training");
});

test("pcie-downgrade lowers generation and width and counts replays, then fixes", () => {
  const { fleet, ill } = pair("pcie-downgrade");
  fleet.advanceTo(120_000);
  expect([ill.pcieGeneration, ill.pcieWidth]).toEqual([1, 8]);
  expect(ill.pcieReplays).toBeGreaterThan(0);
  fleet.advanceTo(400_000);
  expect([ill.pcieGeneration, ill.pcieWidth]).toEqual([5, 16]);
});

test("gpu-lost is gone for its time and comes back cold with its counters at zero", () => {
  const { fleet, ill } = pair("gpu-lost");
  fleet.advanceTo(180_000);
  expect(ill.lost).toBe(true);
  fleet.advanceTo(361_000);
  expect(ill.lost).toBe(false);
  expect(ill.state.energyJoules).toBeLessThan(2_000);
  expect(reportedWatts(ill.card, ill.state)).toBeLessThan(300);
});

test("hung-driver hangs for what is left of it", () => {
  const fleet = fleetOf("faults: [{ fault: hung-driver, at: 10s, for: 30s }]");
  expect([5_000, 10_000, 25_000, 40_000].map((atMs) => fleet.hangsForMs(atMs))).toEqual([
    0, 30_000, 15_000, 0,
  ]);
});
