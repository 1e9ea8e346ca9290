import { expect, test } from "vitest";
import {
  autocorrelationTime,
  differenceOfMeans,
  quantile,
  seeded,
  spreadOf,
  workPerJoule,
} from "./statistics.ts";

const of = (...values: number[]) => Float64Array.from(values);
const gap = Number.NaN;

/** Each value keeps `keep` of the one before: its autocorrelation time is (1 + keep) / (1 - keep). */
function following(keep: number, length: number, random: () => number, mean = 0): Float64Array {
  let last = 0;
  const normal = (): number =>
    Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  for (let at = 0; at < 200; at += 1) last = keep * last + normal();
  return Float64Array.from({ length }, () => {
    last = keep * last + normal();
    return mean + last;
  });
}

test.each<[readonly number[], number, number]>([
  [[1, 2, 3, 4], 0.5, 2.5],
  [[1, 2, 3], 0.5, 2],
  [[7], 0.95, 7],
  [[0, 10], 0.95, 9.5],
  [[5, 5, 5], 0.05, 5],
])("of %j the quantile %d is %d", (values, share, want) =>
  expect(quantile(of(...values), share)).toBeCloseTo(want, 12),
);

test("a gap counts for nothing, never for zero", () => {
  expect(spreadOf(of(gap, 10, gap, 20))).toMatchObject({ count: 2, mean: 15, max: 20 });
  expect(spreadOf(of(gap, gap))).toBeUndefined();
  expect(spreadOf(of())).toBeUndefined();
});

test.each([
  [0, 1],
  [0.5, 3],
  [0.8, 9],
])("readings that keep %d of the last tell about %d of them", (keep, want) => {
  const found = autocorrelationTime(following(keep, 20_000, seeded(4)));
  expect(found).toBeGreaterThan(want * 0.75);
  expect(found).toBeLessThan(want * 1.25);
});

test("a constant has no memory to speak of", () =>
  expect(autocorrelationTime(of(4, 4, 4, 4))).toBe(1));

test.each([
  [0, false],
  [0.5, false],
  [0.8, false],
  [0.8, true],
])(
  "the interval holds the true difference about 95 times of 100 (readings keep %d, together %s)",
  (keep, together) => {
    const random = seeded(11);
    const rounds = 200;
    let held = 0;
    for (let round = 0; round < rounds; round += 1) {
      const found = differenceOfMeans(
        following(keep, 800, random),
        following(keep, 800, random, 2),
        together,
        seeded(round),
      );
      if (found.known && found.low <= 2 && found.high >= 2) held += 1;
    }
    expect(held / rounds).toBeGreaterThan(0.89);
    expect(held / rounds).toBeLessThan(0.995);
  },
);

test("what moves both at the same instants is no doubt about their difference", () => {
  const shared = following(0.5, 800, seeded(1));
  const noise = following(0, 800, seeded(2));
  const other = shared.map((value, at) => value + 1 + 0.1 * (noise[at] ?? 0));
  const width = (together: boolean): number => {
    const found = differenceOfMeans(shared, other, together, seeded(3));
    if (!found.known) throw new Error(found.why);
    expect(found.mean).toBeCloseTo(1, 1);
    return found.high - found.low;
  };
  expect(width(true)).toBeLessThan(width(false) / 3);
});

test("the same readings and seed give the same interval", () => {
  const [a, b] = [following(0.3, 300, seeded(1)), following(0.3, 300, seeded(2))];
  expect(differenceOfMeans(a, b, true, seeded(9))).toEqual(
    differenceOfMeans(a, b, true, seeded(9)),
  );
});

test("too few readings, or ones that only drift, give no interval but the reason", () => {
  const few = of(...Array.from({ length: 29 }, (_, at) => at % 3));
  expect(differenceOfMeans(few, few, true, seeded(1))).toEqual({
    known: false,
    why: "too few readings for an interval: 29 of 30",
  });
  const drift = Float64Array.from({ length: 300 }, (_, at) => at);
  expect(differenceOfMeans(drift, drift, true, seeded(1))).toMatchObject({
    known: false,
    why: expect.stringContaining("follow each other too closely") as unknown,
  });
});

test("work per joule counts only instants at which work and power were both read", () => {
  expect(workPerJoule(of(100, gap, 300), of(50, 50, 150))).toEqual({
    work: 200,
    perJoule: 2,
    count: 2,
  });
  expect(workPerJoule(of(gap, 1), of(1, gap))).toBeUndefined();
  expect(workPerJoule(of(1), of(0))).toBeUndefined();
});
