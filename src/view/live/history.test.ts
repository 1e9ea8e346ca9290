import { expect, test } from "vitest";
import { RecentHistory } from "./history.ts";

const written = (
  ...points: readonly (readonly [second: number, power: number | undefined])[]
): RecentHistory => {
  const history = new RecentHistory(5);
  for (const [second, power] of points)
    history.write("a", second, power === undefined ? {} : { power });
  return history;
};

test("points come back oldest first", () => {
  expect(written([1, 10], [2, 20], [3, 30]).read("a", "power", 3, 3)).toEqual([10, 20, 30]);
});

test("seconds before the first point are gaps", () => {
  expect(written([7, 10]).read("a", "power", 7)).toEqual([null, null, null, null, 10]);
});

test("a skipped second is a gap, not the value before", () => {
  expect(written([1, 10], [3, 30]).read("a", "power", 3, 3)).toEqual([10, null, 30]);
});

test("an absent reading is a gap, not a zero", () => {
  expect(written([1, 10], [2, undefined], [3, 0]).read("a", "power", 3, 3)).toEqual([10, null, 0]);
});

test("the ring keeps only its last seconds", () => {
  const history = written([1, 10], [2, 20], [3, 30], [4, 40], [5, 50], [6, 60]);
  expect(history.read("a", "power", 6, 99)).toEqual([20, 30, 40, 50, 60]);
});

test("a silence longer than the ring leaves nothing of the time before", () => {
  expect(written([1, 10], [1_000, 20]).read("a", "power", 1_000)).toEqual([
    null,
    null,
    null,
    null,
    20,
  ]);
});

test("seconds after the newest point are gaps", () => {
  expect(written([1, 10]).read("a", "power", 3, 3)).toEqual([10, null, null]);
});

test("a second written twice keeps the later point", () => {
  expect(written([1, 10], [1, 11]).read("a", "power", 1, 1)).toEqual([11]);
});

test("a point from before the ring's reach changes nothing", () => {
  expect(written([10, 10], [5, 99]).read("a", "power", 10)).toEqual([null, null, null, null, 10]);
});

test("each reading keeps the steps a curve needs", () => {
  const history = new RecentHistory(2);
  history.write("a", 1, {
    utilization: 0.935,
    memoryUsedRatio: 1,
    power: 1_400.5,
    temperatureEdge: -12.5,
  });
  expect(
    ["utilization", "memoryUsedRatio", "power", "temperatureEdge"].map((key) =>
      history.read("a", key as "power", 1, 1),
    ),
  ).toEqual([[0.935], [1], [1_400.5], [-12.5]]);
});

test("an unknown device has gaps only", () => {
  expect(new RecentHistory(2).read("b", "power", 1)).toEqual([null, null]);
});

test("forgotten devices lose their points", () => {
  const history = written([1, 10]);
  history.forgetAllBut(new Set(["b"]));
  expect(history.read("a", "power", 1, 1)).toEqual([null]);
});

test.each([
  ["a new device", []],
  ["older points, which stay", [1, 2]],
  ["a gap before", [-9]],
  ["the same seconds, which are replaced", [4, 5, 6]],
  ["newer points, which stay", [9]],
])("curves are the same points at once: %s", (_what, seconds) => {
  const before = seconds.map((second) => [second, 70] as const);
  const [byPoint, byCurve] = [written(...before), written(...before)];
  const power = [10, null, 30];
  power.forEach((value, at) => byPoint.write("a", 4 + at, value === null ? {} : { power: value }));
  byCurve.writeCurves("a", 6, { power });
  for (const key of ["power", "utilization"] as const)
    expect(byCurve.read("a", key, 9)).toEqual(byPoint.read("a", key, 9));
});
