import { expect, test } from "vitest";
import { Random } from "../../../../sources/sim/random.ts";
import { StreamFit } from "./fit.ts";
import { Seasonal } from "./seasonal.ts";
import { medianOf, Spread } from "./spread.ts";

/** Approximately normal noise: a sum of uniform draws. */
const noise = (random: Random): number =>
  Array.from({ length: 12 }, () => random.next()).reduce((sum, one) => sum + one, -6);

test("a spread finds the middle and the sigma of noise", () => {
  const spread = new Spread(0.01);
  const random = new Random(1, "noise");
  for (let at = 0; at < 5_000; at++) spread.add(50 + 3 * noise(random));
  expect(spread.median).toBeCloseTo(50, 0);
  expect(spread.sigma).toBeGreaterThan(2.4);
  expect(spread.sigma).toBeLessThan(3.6);
});

test("one in ten wild numbers moves a spread hardly at all", () => {
  const spread = new Spread(0.01);
  const random = new Random(2, "wild");
  for (let at = 0; at < 5_000; at++) spread.add(random.chance(0.1) ? 1e6 : 50 + noise(random));
  expect(Math.abs(spread.median - 50)).toBeLessThan(0.5);
  expect(spread.sigma).toBeLessThan(2);
});

test("a spread follows a level that stays changed", () => {
  const spread = new Spread(0.1);
  const random = new Random(3, "moved");
  for (let at = 0; at < 2_000; at++) spread.add(10 + noise(random));
  for (let at = 0; at < 4_000; at++) spread.add(20 + noise(random));
  expect(spread.median).toBeCloseTo(20, 0);
});

test("numbers that are all the same have the least sigma that was asked for", () => {
  const spread = new Spread(0.5);
  for (let at = 0; at < 500; at++) spread.add(7);
  expect([spread.median, spread.sigma]).toEqual([7, expect.closeTo(0.5)]);
});

test("the median of an even count lies between the two in the middle", () => {
  expect([medianOf([]), medianOf([4]), medianOf([9, 1, 5, 2])]).toEqual([0, 4, 3.5]);
});

test("a fit finds a line through noise and outliers", () => {
  const fit = new StreamFit(2, 2_000, 0.1, 0.1);
  const random = new Random(4, "line");
  for (let at = 0; at < 3_000; at++) {
    const load = random.next();
    const wild = random.chance(0.03) ? 200 : 0;
    fit.learn(Float64Array.of(1, load), 30 + 40 * load + noise(random) + wild);
  }
  const { value, sigma } = fit.predict(Float64Array.of(1, 0.5));
  expect(Math.abs(value - 50)).toBeLessThan(0.5);
  expect(sigma).toBeLessThan(2);
});

test("a fit is unsure where it has seen nothing like it", () => {
  const fit = new StreamFit(2, 2_000, 0.1, 0.1);
  const random = new Random(5, "narrow");
  for (let at = 0; at < 500; at++) fit.learn(Float64Array.of(1, 0.1), 34 + noise(random));
  const known = fit.predict(Float64Array.of(1, 0.1));
  const unknown = fit.predict(Float64Array.of(1, 1));
  expect(unknown.sigma).toBeGreaterThan(3 * known.sigma);
});

test("a fit that believes its peers predicts before it has seen anything", () => {
  const fit = new StreamFit(2, 2_000, 0.3, 0.5);
  fit.believe(Float64Array.of(30, 40));
  expect(fit.predict(Float64Array.of(1, 0.5)).value).toBeCloseTo(50);
});

test("an hour is a season once two other days have reported it", () => {
  const season = new Seasonal(0.1);
  const dayMs = 86_400_000;
  const at = (day: number, hour: number): number => day * dayMs + hour * 3_600_000;
  const tell = (day: number): void => {
    for (let minute = 0; minute < 60; minute++) season.add(at(day, 15) + minute * 60_000, 2);
  };
  tell(0);
  expect(season.at(at(1, 15))).toBeUndefined();
  tell(1);
  expect(season.at(at(2, 15))).toBeCloseTo(2);
  expect(season.at(at(2, 3))).toBeUndefined();
});
