import { expect, test } from "vitest";
import { compare, type Comparison } from "./compare.ts";
import { differenceOf } from "./difference.ts";
import { distributionOf, weighReadings } from "./distribution.ts";
import { figuresOf } from "./figures.ts";
import { normal, repeatsOf, type Truth } from "../../../test/fixtures/runs/compare.ts";
import { compareMeans, meanInterval } from "./interval.ts";
import { metrics } from "./metrics.ts";
import { decimalsFor, formatDecimals } from "./quantity.ts";
import { seeded } from "./random.ts";
import { csvOf } from "./report/csv.ts";
import { metricRows } from "./report/rows.ts";
import { criticalT, twoSided } from "./student.ts";

const usual = { repeats: 5, watts: 250, work: 5_000, between: 0.004, within: 0.03, following: 0.9 };
const compared = (one: Partial<Truth>, other: Partial<Truth>, seed = 1): Comparison => {
  const random = seeded(seed);
  return compare([
    repeatsOf({ ...usual, name: "A", ...one }, random),
    repeatsOf({ ...usual, name: "B", ...other }, random),
  ]);
};
const metricOf = (comparison: Comparison, key: string) => {
  const found = comparison.metrics.find((metric) => metric.key === key);
  if (found === undefined) throw new Error(`no ${key}`);
  return found;
};
const said = (comparison: Comparison, key: string) =>
  comparison.statements.find(({ metric }) => metric === key)?.text.replaceAll("\u00a0", " ");
const codes = (comparison: Comparison) => comparison.caveats.map(({ code }) => code);

test.each([
  [1, 12.706],
  [2, 4.303],
  [4, 2.776],
  [10, 2.228],
  [30, 2.042],
])("Student's table at %i degrees of freedom says %f", (freedom, t) => {
  expect(criticalT(0.95, freedom)).toBeCloseTo(t, 3);
  expect(twoSided(t, freedom)).toBeCloseTo(0.05, 4);
});

test("of a thousand null pairs 3.5 to 6.5 % are called real, at 3, 5 and 10 repeats", () => {
  const power = metrics.find(({ key }) => key === "throughput");
  if (power === undefined) throw new Error("BUG");
  for (const repeats of [3, 5, 10]) {
    const random = seeded(repeats);
    const draw = () =>
      Array.from({ length: repeats }, () => ({ value: 100 * Math.exp(0.01 * normal(random)) }));
    let real = 0;
    for (let pair = 0; pair < 1_000; pair += 1) {
      const { verdict } = differenceOf(power, draw(), draw(), { paired: false, level: 0.95 });
      if (verdict === "real") real += 1;
    }
    expect(real).toBeGreaterThanOrEqual(35);
    expect(real).toBeLessThanOrEqual(65);
  }
});

test("a mean's interval holds the truth in about 95 % of cases, also of three repeats", () => {
  for (const repeats of [3, 5, 10]) {
    const random = seeded(90 + repeats);
    let held = 0;
    for (let round = 0; round < 400; round += 1) {
      const found = meanInterval(
        Array.from({ length: repeats }, () => normal(random)),
        random,
      );
      if (found !== undefined && found.low <= 0 && found.high >= 0) held += 1;
    }
    expect(held / 400).toBeGreaterThan(0.92);
    expect(held / 400).toBeLessThan(0.98);
  }
});

test("the test of means agrees with an example worked by hand", () => {
  // Errors 1.6667 / 4 and 2.3333 / 3: t = 2.8333 / 1.0929 at 3.9593 degrees of freedom.
  const { difference, p, low, high } = compareMeans([3, 4, 5, 6], [6, 7, 9]);
  expect(difference).toBeCloseTo(2.8333, 4);
  expect(p).toBeCloseTo(twoSided(2.5925, 3.9593), 4);
  expect((high - low) / 2).toBeCloseTo(criticalT(0.95, 3.9593) * 1.0929, 3);
});

test("readings count by the time they stand for, and a gap by nothing", () => {
  // 0 to 1 s at 10 Hz of 100 W, then one reading per second of 200 W until 11 s.
  const times = [
    ...Array.from({ length: 11 }, (_, at) => at * 100),
    ...[2, 3, 4, 5, 6, 7, 8, 9, 10, 11].map((s) => s * 1_000),
  ];
  const values = times.map((at) => (at <= 1_000 ? 100 : 200));
  const found = weighReadings(
    Float64Array.from(times),
    Float64Array.from(values),
    0,
    11_000,
    1_000,
  );
  if (found === undefined) throw new Error("BUG");
  const { mean, p50, min, p1, max } = distributionOf(found);
  expect({ min, p1, p50, max }).toEqual({ min: 100, p1: 100, p50: 200, max: 200 });
  // 1.5 s of 100 W, since a reading covers half of the time to the next.
  expect(mean).toBeCloseTo((1.5 * 100 + 9.5 * 200) / 11, 6);
  const gap = weighReadings(
    Float64Array.from([0, 100, 200, 9_800, 9_900, 10_000]),
    Float64Array.from([1, 1, 1, 3, 3, 3]),
    0,
    10_000,
    100,
  );
  expect(gap?.coverage).toBeLessThan(0.08);
});

test("equal work at 15 W more is worse per watt, and is said so", () => {
  const found = compared({ watts: 235 }, { watts: 250 });
  const { differences, headline } = metricOf(found, "perWatt");
  expect(headline).toBe(true);
  expect(differences[0]).toMatchObject({ verdict: "real" });
  expect(differences[0]?.ratio).toBeCloseTo(235 / 250 - 1, 1);
  expect(said(found, "perWatt")).toMatch(
    /^B is 6 % ± [\d.]+ % worse per watt than A\.$|^B is [\d.]+ (to|%).* worse per watt than A\.$/,
  );
  expect(said(found, "power")).toMatch(
    /^B draws 1[2-8](\.\d)? W more than A \([\d.]+ to [\d.]+ W\)\.$/,
  );
});

test("what is better per watt, cooler and less utilised is said with intervals that hold the truth", () => {
  const found = compared(
    { celsius: 70, utilization: 0.97 },
    { work: 6_000, celsius: 63, utilization: 0.85 },
  );
  expect(said(found, "perWatt")).toMatch(
    /^B is (19|20|21)[.\d]* % ± [\d.]+ % better per watt than A\.$/,
  );
  expect(said(found, "utilization")).toBe("Utilisation of B: 12 points lower than of A.");
  expect(said(found, "edge")).toBe("Edge temperature of B: 7 °C cooler than of A.");
  expect(said(found, "power")).toMatch(/^Power of B: cannot be decided yet \(.*95 % interval/);
  expect(metricOf(found, "rise").of.map(({ mean }) => Math.round(mean ?? 0))).toEqual([35, 28]);
});

test("one repeat of each gives figures and decides nothing yet", () => {
  const found = compared({ repeats: 1 }, { repeats: 1, watts: 280 });
  for (const { differences } of found.metrics)
    expect(differences[0]).toMatchObject({ verdict: "undecided", needs: { more: 2 } });
  expect(metricOf(found, "power").differences[0]?.amount).toBeGreaterThan(10);
  expect(said(found, "power")).toMatch(/cannot be decided yet .*2 more repeats of each are needed/);
  expect(codes(found)).toContain("repeats");
});

test("performance per watt is n/a without work, whatever the utilisation", () => {
  const random = seeded(1);
  const { work: _, ...idle } = usual;
  const found = compare([
    repeatsOf({ ...idle, name: "A" }, random),
    repeatsOf({ ...idle, name: "B" }, random),
  ]);
  const perWatt = metricOf(found, "perWatt");
  expect(perWatt.of.map(({ why }) => why)).toEqual(["no work was counted", "no work was counted"]);
  expect(perWatt.differences[0]).toMatchObject({ verdict: "not-compared" });
  expect(metricOf(found, "power").headline).toBe(true);
});

test("board power is never compared with chip power, and everything else still is", () => {
  const found = compared({}, { power: "chip", work: 6_000 });
  expect(codes(found)).toContain("power-kind");
  for (const key of ["power", "perWatt", "perJoule", "energyIntegrated"])
    expect(metricOf(found, key).differences[0]).toMatchObject({ verdict: "not-compared" });
  expect(metricOf(found, "throughput").differences[0]).toMatchObject({ verdict: "real" });
});

test.each<[string, Partial<Truth>, Partial<Truth>]>([
  ["simulated", {}, { simulated: false }],
  ["work-unit", {}, { unit: "tokens" }],
  ["sampling", {}, { samplingMs: 1_000 }],
  ["doubt", {}, { doubts: ["the driver changed"] }],
  ["throttled", {}, { throttled: 0.4 }],
  ["repeats", {}, { repeats: 2 }],
])("what is not alike is reported: %s", (code, one, other) => {
  expect(codes(compared({}, {}))).not.toContain(code);
  expect(codes(compared(one, other))).toContain(code);
});

test("work in different units keeps its own unit with every figure", () => {
  const found = compared({ unit: "images" }, { unit: "tokens" });
  const row = metricRows(found).find(({ metric }) => metric.key === "throughput");
  expect(row?.means.map((text) => /images|tokens/.exec(text)?.[0])).toEqual(["images", "tokens"]);
  const lines = csvOf(found)
    .split("\r\n")
    .filter((line) => line.startsWith("perWatt,"));
  expect(lines.map((line) => line.split(",")[1])).toEqual([
    "images_per_second_watt",
    "tokens_per_second_watt",
  ]);
});

test("a simulated card beside a real one gets no verdict at all", () => {
  const found = compared({}, { simulated: false, watts: 400 });
  expect(found.metrics.map(({ differences }) => differences[0]?.verdict)).toEqual(
    found.metrics.map(() => "not-compared"),
  );
});

test("a difference that is not decided yet names the repeats it needs, and with those it is decided", () => {
  const power = metrics.find(({ key }) => key === "power");
  if (power === undefined) throw new Error("BUG");
  // Means 2 apart, with the same spread for any number of repeats.
  const around = (mean: number, count: number) =>
    Array.from({ length: count }, (_, at) => ({ value: mean + (at % 2 === 0 ? 3 : -3) }));
  const differ = (count: number) =>
    differenceOf(power, around(200, count), around(202, count), { paired: false, level: 0.95 });
  const { verdict, needs } = differ(4);
  expect([verdict, needs?.of]).toEqual(["undecided", "repeats"]);
  expect(differ(4 + (needs?.more ?? 0) + 2).verdict).toBe("real");
});

test.each([
  ["within the resolution", 0.004, "same"],
  ["beyond the resolution", 0.06, "undecided"],
])("an interval that lies %s is %f wide and %s", (_, spread, verdict) => {
  const busy = metrics.find(({ key }) => key === "utilization");
  if (busy === undefined) throw new Error("BUG");
  const values = [0, 1, 2, 3, 4].map((at) => ({ value: 0.5 + spread * (at / 4 - 0.5) }));
  const others = values.map(({ value }) => ({ value: value + 0.0005 }));
  expect(
    differenceOf(busy, values, others, { paired: false, level: 0.95, resolution: 0.01 }).verdict,
  ).toBe(verdict);
});

test("work that stood still in a repeat is compared by its difference: 0 has no ratio", () => {
  const rate = metrics.find(({ key }) => key === "throughput");
  if (rate === undefined) throw new Error("BUG");
  const of = (...values: readonly number[]) => values.map((value) => ({ value }));
  expect(
    differenceOf(rate, of(0, 0.1, 0), of(45, 45.2, 44.9), { paired: false, level: 0.95 }),
  ).toMatchObject({ verdict: "real", as: "difference" });
});

test("GPUs that are sampled slowly are summed without counting a sample twice", () => {
  const timeMs = Float64Array.from({ length: 7 }, (_, at) => at * 15_000);
  const gpu = (uuid: string) => ({
    uuid,
    model: "Card",
    host: "h",
    simulated: true,
    power: "board" as const,
    timeMs,
    columns: new Map([["gpu_power_watts", timeMs.map(() => 100)]]),
  });
  const run = {
    name: "host",
    startMs: 0,
    endMs: 90_000,
    samplingMs: 1_000,
    gpus: [gpu("a"), gpu("b")],
    work: { why: "none" },
    doubts: [],
  };
  const found = figuresOf(run, metrics).get("power");
  expect(found).toMatchObject({ value: { value: 200 }, distribution: { count: 7 } });
});

test.each([
  ["falls within the run", [100, 200, 50, 400], { why: "the counter was reset during the run" }],
  ["rises steadily", [100, 200, 300, 400], { value: 300 }],
])("energy of a counter that %s", (_, joules, value) => {
  const run = {
    name: "run",
    startMs: 0,
    endMs: 30_000,
    samplingMs: 10_000,
    gpus: [
      {
        uuid: "a",
        model: "Card",
        host: "h",
        simulated: true,
        power: "none" as const,
        timeMs: Float64Array.of(0, 10_000, 20_000, 30_000),
        columns: new Map([["gpu_energy_joules_total", Float64Array.from(joules)]]),
      },
    ],
    work: { why: "none" },
    doubts: [],
  };
  expect(figuresOf(run, metrics).get("energyCounter")?.value).toEqual(value);
});

test("the same repeats give the same report, and alike ones are the same", () => {
  expect(compared({}, { watts: 260 })).toEqual(compared({}, { watts: 260 }));
  const still = { between: 0, within: 0 };
  expect(metricOf(compared(still, still), "power").differences[0]).toMatchObject({
    verdict: "same",
  });
});

test("GPUs of one run add up their power and share their utilisation", () => {
  const random = seeded(4);
  const one = repeatsOf({ ...usual, name: "A", between: 0, within: 0 }, random);
  const both = {
    name: "both",
    runs: one.runs.map((run) => ({ ...run, gpus: [...run.gpus, ...run.gpus] })),
  };
  const found = compare([one, both]);
  expect(metricOf(found, "power").of.map(({ mean }) => Math.round(mean ?? 0))).toEqual([250, 500]);
  const busy = metricOf(found, "utilization").of.map(({ mean }) => mean ?? 0);
  expect(busy[1]).toBeCloseTo(busy[0] ?? 0, 2);
  expect(codes(found)).toContain("gpu-count");
});

test.for<[value: number, uncertainty: number, text: string]>([
  [0, 0, "0.0"],
  [0, 1e-12, "0.0"],
  [1e-9, 1e-9, "0.0"],
  [41.234, 0.5, "41.23"],
  [41.234, 12, "41"],
  [0.000_012, 0.000_001, "0.000012"],
])("%d with an uncertainty of %d is printed as %s", ([value, uncertainty, text]) =>
  expect(formatDecimals(value, decimalsFor(uncertainty, value + uncertainty))).toBe(text),
);
