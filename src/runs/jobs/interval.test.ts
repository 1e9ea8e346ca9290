import { expect, test } from "vitest";
import { type EnergyInterval, splitInterval } from "./interval.ts";
import type { TickOwner } from "./tick.ts";

const hour = Date.UTC(2026, 10, 18, 12);
const owner = (workload: string): TickOwner => ({ labels: { workload, user: "ada" } });

const between = (
  from: number,
  to: number,
  before: readonly TickOwner[] | undefined,
  owners: readonly TickOwner[] | undefined,
  isGap = false,
): EnergyInterval => ({
  fromMs: hour + from,
  toMs: hour + to,
  joules: 1_000,
  isGap,
  before,
  after: {
    uuid: "GPU-1",
    host: "node7",
    gpu: 0,
    model: "H200",
    simulated: false,
    timeMs: hour + to,
    owners,
  },
});

/** An allocation of a job that is not on the GPU: it disables the fast path and changes nothing else. */
const other = [
  { id: "slurm:9@0", workload: "9", fromMs: 0, toMs: hour * 2, isCertain: false },
] as const;

const owners = [undefined, [], [owner("1")], [owner("2")], [owner("1"), owner("2")]];
const cases = owners.flatMap((before) =>
  owners.flatMap((after) =>
    [
      [0, 5_000],
      [1, 4_002],
      [0, 1],
      [-2_000, 3_001],
    ].flatMap(([from = 0, to = 0]) =>
      [false, true].map((isGap) => between(from, to, before, after, isGap)),
    ),
  ),
);

test("an interval in which one owner follows another is divided as any other", () => {
  expect(cases).toHaveLength(200);
  for (const interval of cases)
    expect(splitInterval(interval, [])).toEqual(splitInterval(interval, other));
});
