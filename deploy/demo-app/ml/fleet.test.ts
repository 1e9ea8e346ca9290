import { expect, test } from "vitest";

import { seeded } from "../run/seeded.ts";
import type { Watcher } from "./engine.ts";
import { Fleet } from "./fleet.ts";
import { newSequence } from "./sequence.ts";

const settings = {
  gpus: 4,
  slots: 4,
  kvTokens: 10_000,
  packTo: 2,
  batchGpus: 2,
  unloadSeconds: 60,
};
const nothing = (): void => undefined;
const watcher: Watcher = {
  scheduled: nothing,
  firstToken: nothing,
  nextToken: nothing,
  step: nothing,
  preempted: nothing,
  finished: nothing,
};
const fleetOf = (): Fleet => new Fleet(settings, watcher, seeded(1));
const submit = (fleet: Fleet, id: number, nowMs = 0): number =>
  fleet.submit(
    newSequence({ id: `${id}`, promptTokens: 8, maxTokens: 1000, outputTokens: 1000 }, nowMs),
    "",
    nowMs,
  ).index;

test("requests are packed onto few GPUs, then spread, and never refused", () => {
  const fleet = fleetOf();
  const given = Array.from({ length: 10 }, (_, id) => submit(fleet, id));
  expect(given).toEqual([0, 0, 1, 1, 2, 2, 3, 3, 0, 1]);
});

test("a batch job gets the GPU it asked for where that is free, else the farthest", () => {
  const fleet = fleetOf();
  submit(fleet, 1);
  fleet.order({ id: "wished", seconds: 10, gpu: 2 }, 0);
  fleet.order({ id: "taken", seconds: 10, gpu: 0 }, 0);
  expect(fleet.training(2)?.order.id).toBe("wished");
  expect(fleet.training(3)?.order.id).toBe("taken");
});

test("batch jobs leave GPUs to requests: what is over waits its turn", () => {
  const fleet = fleetOf();
  for (const id of ["a", "b", "c"]) fleet.order({ id, seconds: 10, gpu: undefined }, 0);
  expect(["a", "b", "c"].map((id) => fleet.batchState(id))).toEqual([
    "running",
    "running",
    "waiting",
  ]);
  const ended = fleet.advance(10_000).map(({ order }) => order.id);
  expect(ended.sort()).toEqual(["a", "b"]);
  expect(fleet.batchState("c")).toBe("running");
  expect(fleet.batchState("a")).toBeUndefined();
});

test("a job ordered twice is one job", () => {
  const fleet = fleetOf();
  for (let count = 0; count < 3; count += 1)
    fleet.order({ id: "a", seconds: 10, gpu: undefined }, 0);
  expect([fleet.batchWaiting, fleet.training(3)?.order.id, fleet.training(2)]).toEqual([
    0,
    "a",
    undefined,
  ]);
});

test("a batch job's steps are counted, and its loss falls", () => {
  const fleet = fleetOf();
  fleet.order({ id: "a", seconds: 100, gpu: 3 }, 0);
  fleet.advance(1_000);
  const early = fleet.training(3)?.loss ?? 0;
  fleet.advance(99_000);
  expect(fleet.training(3)?.loss).toBeLessThan(early);
  fleet.advance(200_000);
  expect(fleet.trainingSteps).toEqual([0, 0, 0, 200]);
});

test("each GPU says what it does now, and an idle one gives its memory back after a while", () => {
  const fleet = fleetOf();
  submit(fleet, 1);
  fleet.order({ id: "a", seconds: 5, gpu: 3 }, 0);
  fleet.advance(1_000);
  const now = fleet.loads(1_000);
  expect(now.map(({ workload }) => workload)).toEqual(["inference", "idle", "idle", "training"]);
  expect(now[3]?.busy).toBeCloseTo(0.96);
  expect(now[1]).toMatchObject({ busy: 0, memoryBytes: 5e8 });
  fleet.advance(50_000);
  const [served] = fleet.loads(50_000);
  expect(served).toMatchObject({ workload: "idle", busy: 0, memoryBytes: 6e10 });
  expect(fleet.loads(110_000)[0]).toMatchObject({ workload: "idle", memoryBytes: 5e8 });
});
