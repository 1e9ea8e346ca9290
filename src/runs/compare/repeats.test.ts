import { expect, test } from "vitest";
import { normal, repeatsOf } from "../../../test/fixtures/runs/compare.ts";
import { compare } from "./compare.ts";
import type { Figures } from "./figures.ts";
import { compareMeans, detectableDifference, repeatsToDetect } from "./interval.ts";
import { seeded } from "./random.ts";
import { adviseRepeats, countWarmUp, esdLimit, findOutliers, reviewRepeats } from "./repeats.ts";

/** The 54 values of Rosner (1983), as in the NIST/SEMATECH handbook, section 1.3.5.17.3. */
const rosner = [
  -0.25, 0.68, 0.94, 1.15, 1.2, 1.26, 1.26, 1.34, 1.38, 1.43, 1.49, 1.49, 1.55, 1.56, 1.58, 1.65,
  1.69, 1.7, 1.76, 1.77, 1.81, 1.91, 1.94, 1.96, 1.99, 2.06, 2.09, 2.1, 2.14, 2.15, 2.23, 2.24,
  2.26, 2.35, 2.37, 2.4, 2.47, 2.54, 2.62, 2.64, 2.9, 2.92, 2.92, 2.93, 3.21, 3.26, 3.3, 3.59, 3.68,
  4.3, 4.64, 5.34, 5.42, 6.01,
];

test("the limits of the deviate test are those of the handbook", () => {
  expect([54, 53, 52, 51].map(esdLimit).map((limit) => limit.toFixed(3))).toEqual([
    "3.159",
    "3.151",
    "3.144",
    "3.136",
  ]);
});

test("Rosner's three outliers are found although each hides the others", () => {
  expect(findOutliers(rosner).map((at) => rosner[at])).toEqual([5.34, 5.42, 6.01]);
});

test.each([
  [[100, 101, 99, 100.5, 120], [4]],
  [[100, 101, 99, 100.5, 99.5], []],
  [[100, 100, 100, 100, 100], []],
  [[100, 101, 99, 120], []],
])("of %j the places %j are outliers", (values, places) => {
  expect(findOutliers(values)).toEqual(places);
});

test.each([
  ["slow at first, then steady", [80, 95, 100, 100.4, 99.8, 100.2, 99.9, 100.1], 2],
  ["steady", [100.1, 99.9, 100.2, 99.8, 100.3, 100], 0],
  ["one slow in the middle", [100.1, 99.9, 80, 99.8, 100.3, 100], 0],
  ["faster at first", [120, 100.1, 99.9, 100, 100.2, 99.8], 1],
  ["first slow, second too fast", [80, 120, 100.1, 99.9, 100, 100.2, 99.8], 1],
  ["still getting faster", [80, 84, 88, 92, 96, 100], 0],
  ["too few to say", [80, 100, 100, 100], 0],
  ["counted, all alike but the first", [99, 100, 100, 100, 100], 1],
  ["all alike", [100, 100, 100, 100, 100], 0],
])("warm-up, %s", (_, values, count) => {
  expect(countWarmUp(values)).toBe(count);
});

test("of a thousand steady sets about 1 % lose their first repeat, and about 5 % have an outlier", () => {
  for (const repeats of [5, 6, 10]) {
    const random = seeded(repeats);
    let [dropped, flagged] = [0, 0];
    for (let set = 0; set < 2_000; set += 1) {
      const values = Array.from({ length: repeats }, () => 100 + normal(random));
      if (countWarmUp(values) > 0) dropped += 1;
      if (findOutliers(values).length > 0) flagged += 1;
    }
    expect(dropped / 2_000).toBeLessThan(0.018);
    expect(flagged / 2_000).toBeGreaterThan(0.03);
    expect(flagged / 2_000).toBeLessThan(0.075);
  }
});

/** Cohen (1988), table 2.4.1, two-sided 5 %, power 80 %: repeats of each for a difference of d standard deviations. */
test.each([
  [0.5, 64],
  [0.8, 26],
  [1, 17],
  [1.2, 12],
])("a difference of %f standard deviations takes %i of each", (d, count) => {
  expect(repeatsToDetect(d, 1)).toBe(count);
  expect(detectableDifference(1, count)).toBeLessThanOrEqual(d);
});

test("the advised repeats find the difference in four of five cases", () => {
  const random = seeded(5);
  const count = repeatsToDetect(0.01, 0.008) ?? 0;
  let found = 0;
  for (let pair = 0; pair < 2_000; pair += 1) {
    const draw = (mean: number) =>
      Array.from({ length: count }, () => mean + 0.008 * normal(random));
    if (compareMeans(draw(1), draw(1.01)).p < 0.05) found += 1;
  }
  expect(found / 2_000).toBeGreaterThan(0.77);
  expect(found / 2_000).toBeLessThan(0.87);
});

const figures = (key: string, value: number): Figures => new Map([[key, { value: { value } }]]);
const review = (values: readonly number[]) =>
  reviewRepeats(
    values.map((value, at) => ({ run: `r${at}`, figures: figures("throughput", value) })),
    "perWatt",
  );

test("repeats without the preferred metric are judged by throughput, and without that by nothing", () => {
  const found = review([80, 100, 101, 99, 100, 100]);
  expect(found).toMatchObject({
    metric: "throughput",
    warmUp: [{ run: "r0", metric: "throughput", value: 80 }],
    outliers: [],
    used: 5,
  });
  expect(found?.warmUp[0]?.offRatio).toBeCloseTo(-0.2, 9);
  expect(reviewRepeats([{ run: "a", figures: new Map() }], "perWatt")).toBeUndefined();
});

test.each([
  [[100, 101, 99], "14 more runs of each to tell 1 % apart"],
  [[100, 100.1, 99.9], "enough to tell 1 % apart"],
  [[100, 180, 20], "1 % would take more repeats than anybody records"],
])("%j: %s", (values, words) => {
  const advice = adviseRepeats([review(values), review(values)]);
  expect(advice?.sentence).toContain(words);
  expect(adviseRepeats([review(values), review(values.slice(1))])).toBeUndefined();
});

test("warm-up shows in the pace although the headline varies too much to show it", () => {
  const paces = [30, 100, 101, 99, 100, 100];
  const noisy = [2, 3, 1, 2.5, 1.2, 2.8];
  const runs = paces.map((pace, at) => ({
    run: `r${at}`,
    figures: new Map([
      ...figures("throughput", pace),
      ...figures("perWatt", noisy[at] ?? Number.NaN),
    ]),
  }));
  expect(reviewRepeats(runs, "perWatt")).toMatchObject({
    metric: "perWatt",
    warmUp: [{ run: "r0", metric: "throughput" }],
    used: 5,
  });
});

test("a comparison leaves out warm-up, says so, and counts an outlier", () => {
  const random = seeded(3);
  const truth = { watts: 250, work: 5_000, between: 0.002, within: 0.01, following: 0.5 };
  const steady = repeatsOf({ ...truth, name: "A", repeats: 8 }, random);
  const other = repeatsOf({ ...truth, name: "B", repeats: 8 }, random);
  const cold = steady.runs.map((run, at) =>
    at === 0 ? { ...run, work: { amount: 3_000, unit: "images" } } : run,
  );
  const odd = other.runs.map((run, at) =>
    at === 5 ? { ...run, work: { amount: 4_000, unit: "images" } } : run,
  );
  const subjects = [
    { name: "A", runs: cold.toReversed() },
    { name: "B", runs: odd },
  ];
  const found = compare(subjects);
  expect(found.subjects.map(({ runs }) => runs.length)).toEqual([7, 8]);
  expect(found.subjects[0]?.repeats?.warmUp.map(({ run }) => run)).toEqual([cold[0]?.name]);
  expect(found.subjects[1]?.repeats?.outliers.map(({ run }) => run)).toEqual([odd[5]?.name]);
  expect(found.metrics[0]?.of.map(({ runs }) => runs.length)).toEqual([7, 8]);
  const said = found.caveats.map(({ level, code }) => `${level} ${code}`);
  expect(said).toContain("note warm-up");
  expect(said).toContain("warning outlier");
  expect(found.advice?.repeats).toBe(7);
  const kept = compare(subjects, { keepsWarmUp: true });
  expect(kept.subjects.map(({ runs }) => runs.length)).toEqual([8, 8]);
  expect(kept.caveats.map(({ code }) => code)).not.toContain("warm-up");
});
