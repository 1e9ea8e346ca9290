import { expect, test } from "vitest";
import { absenceOf, failed, present, type ReadResult } from "../../machine/sysfs/read-result.ts";
import { EnergyMeters, energyScopes, type EnergyScope } from "./energy.ts";

type Counters = Readonly<Partial<Record<EnergyScope, number | "absent">>>;
const absent = absenceOf(Object.assign(new Error("EIO"), { code: "EIO" }));

/** Reads the counters, in joules, at a given second and returns the readings. */
function look(meters: EnergyMeters, second: number, counters: Counters) {
  const readings = new Map<EnergyScope, ReadResult<number>>();
  for (const scope of energyScopes) {
    const joules = counters[scope];
    if (joules !== undefined) readings.set(scope, joules === "absent" ? absent : present(joules));
  }
  meters.update(second * 1_000, readings);
  return {
    board: meters.watts("board"),
    chip: meters.watts("chip"),
    energy: meters.joules(),
    scope: meters.scope,
  };
}

/** The readings after the last of the given counters, one per second. */
function after(...looks: readonly Counters[]) {
  const meters = new EnergyMeters();
  return looks.map((counters, second) => look(meters, second, counters)).at(-1);
}

test("a card counter that stands still is no board power: energy is the chip's, and is named so", () => {
  const meters = new EnergyMeters();
  expect(look(meters, 0, { board: 0, chip: 100 })).toMatchObject({
    board: failed,
    energy: failed,
    scope: undefined,
  });
  expect(look(meters, 1, { board: 0, chip: 160 })).toEqual({
    board: failed,
    chip: present(60),
    energy: present(160),
    scope: "chip",
  });
  expect(look(meters, 2, { board: 0, chip: 230 })).toMatchObject({
    board: failed,
    chip: present(70),
    energy: present(230),
    scope: "chip",
  });
});

test.each<[string, readonly Counters[], object]>([
  [
    "both count: the board's",
    [
      { board: 10, chip: 5 },
      { board: 90, chip: 65 },
    ],
    { board: present(80), chip: present(60), energy: present(90), scope: "board" },
  ],
  [
    "only the board's is there",
    [{ board: 10 }, { board: 10 }],
    { board: present(0), energy: present(10), scope: "board" },
  ],
  ["only the chip's is there", [{ chip: 10 }], { energy: present(10), scope: "chip" }],
  [
    "a board that starts to count has power; the energy stays the chip's, since another total would be a jump",
    [
      { board: 10, chip: 5 },
      { board: 10, chip: 65 },
      { board: 90, chip: 125 },
    ],
    { board: present(80), energy: present(125), scope: "chip" },
  ],
  [
    "a board counter that stops is not 0 W while the chip counts",
    [
      { board: 10, chip: 5 },
      { board: 90, chip: 65 },
      { board: 90, chip: 125 },
    ],
    { board: failed, chip: present(60), energy: failed },
  ],
  [
    "a board counter that cannot be read yet decides nothing",
    [
      { board: "absent", chip: 5 },
      { board: "absent", chip: 65 },
    ],
    { board: failed, chip: present(60), energy: failed, scope: undefined },
  ],
  [
    "a read that failed changes nothing",
    [
      { board: 10, chip: 5 },
      { board: "absent", chip: 65 },
      { board: 170, chip: 125 },
    ],
    { board: present(80), chip: present(60) },
  ],
])("%s", (_name, looks, state) => expect(after(...looks)).toMatchObject(state));

test.each([
  ["a jump of 12 kW", [100, 180, 12_180, 12_260]],
  ["a jump of 1.1 kW", [100, 180, 1_280, 1_360]],
  ["a reset to 0", [100, 180, 0, 80]],
  ["a wrap", [4_294, 4_294.9, 3, 83]],
])("%s is no power in its interval, and the next one counts from there", (_name, joules) => {
  const meters = new EnergyMeters();
  const watts = joules.map((board, second) => look(meters, second, { board }).board);
  expect(watts.slice(2)).toEqual([failed, present(80)]);
});

test("energy leaves an implausible jump out and starts again after a reset", () => {
  const meters = new EnergyMeters();
  const energy = [100, 180, 12_180, 12_260, 5, 85].map(
    (board, second) => look(meters, second, { board }).energy,
  );
  expect(energy).toEqual([100, 180, 180, 260, 5, 85].map((joules) => present(joules)));
});
