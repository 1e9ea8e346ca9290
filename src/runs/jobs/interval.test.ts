import { expect, test } from "vitest";
import { Ledger } from "./ledger.ts";
import type { GpuTick, TickOwner } from "./tick.ts";

const hour = Date.UTC(2026, 10, 18, 12);
const first = { workload: "1", user: "ada" };
const second = { workload: "2", user: "ada" };
const owner = (labels: TickOwner["labels"], memoryBytes?: number): TickOwner => ({
  labels,
  memoryBytes,
});

const tick = (
  atMs: number,
  owners: readonly TickOwner[] | undefined,
  idleMs?: number,
): GpuTick => ({
  uuid: "GPU-1",
  host: "node7",
  gpu: 0,
  model: "H200",
  simulated: false,
  timeMs: hour + atMs,
  joules: 5_000 + atMs / 3,
  meter: "hardware",
  activityRatio: 0.4,
  tensorRatio: 0.3,
  memoryBytes: 7_000,
  idleMs,
  throttleSeconds: { power_cap: Math.max(0, atMs) / 7_000 },
  xids: { 31: atMs > 0 ? 2 : 1 },
  anomalies: ["slow"],
  owners,
});

const owners = [
  undefined,
  [],
  [owner(first)],
  [owner({ ...first }, 1_000)],
  [owner(second)],
  [owner(first), owner(second)],
];
const times = [
  [0, 5_000],
  [1, 4_002],
  [0, 1],
  [-2_000, 3_001],
  [0, 90_000],
] as const;
const cases = owners.flatMap((before) =>
  owners.flatMap((after) =>
    times.flatMap(([from, to]) =>
      [undefined, 0, 900].map((idleMs) => [
        tick(from - 3_000, before),
        tick(from, before),
        tick(to, after, idleMs),
        tick(to + 2_000, after),
      ]),
    ),
  ),
);

test("the fast path books every change of owners as the general code does, which a scheduler without jobs leads to", () => {
  expect(cases).toHaveLength(540);
  for (const ticks of cases) {
    const [fast, general] = [new Ledger(), new Ledger()];
    const scheduler = { scheduler: "slurm", asOfMs: hour * 2, jobs: [] } as const;
    general.apply(["report", scheduler]);
    for (const one of ticks)
      expect(fast.apply(["ticks", [one]])).toEqual(general.apply(["ticks", [one]]));
    const states = [...general.snapshot()].filter(([kind]) => kind !== "report");
    expect([...fast.snapshot()]).toEqual(states);
  }
});
