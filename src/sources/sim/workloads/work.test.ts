import { expect, test } from "vitest";
import { noDemand } from "../physics/card.ts";
import { Random } from "../random.ts";
import { Tally, type WorkContext } from "./workload.ts";
import { CountedWorkload } from "./make.ts";

const context = (speed: number): WorkContext => ({
  random: new Random(1, "test"),
  tally: new Tally(),
  memoryBytes: 1_000,
  speed,
  done: { units: 0 },
});

function run(speed: number, pace: number, rate: number | undefined): [units: number, busy: number] {
  const own = context(speed);
  const work = new CountedWorkload(own, { level: 0, warm: true, rate });
  const demand = noDemand();
  for (let step = 0; step < 200; step++) work.advance(50, pace, 0, demand);
  return [Number(own.done.units.toFixed(6)), Number(demand.busy.toFixed(6))];
}

test.each<[number, number, number | undefined, number, number]>([
  [1, 1, undefined, 10_000, 1],
  [0.075, 1, undefined, 750, 1],
  [0.075, 0.8, undefined, 600, 1],
  [0.075, 1, 50, 500, 0.666667],
  [0.075, 0.8, 50, 500, 0.833333],
  [0.075, 1, 100, 750, 1],
])("speed %d at pace %d, asked for %s, does %d busy %d", (speed, pace, rate, units, busy) => {
  expect(run(speed, pace, rate)).toEqual([units, busy]);
});
