import { expect, test } from "vitest";
import { dropBelow, type Pace } from "./pace.ts";
import { fitRobust, quantileOf } from "./statistics.ts";

test("a fit finds the weight and the offset of each group, whatever the groups' means", () => {
  const inputs: number[] = [];
  const targets: number[] = [];
  const groups: number[] = [];
  for (let group = 0; group < 3; group++)
    for (let row = 0; row < 60; row++) {
      const input = 0.5 + group * 0.2 + 0.01 * (row % 20);
      inputs.push(input);
      // A fault in a sixth of the rows.
      targets.push(20 + group + 24 * input + (row < 10 ? 15 : 0));
      groups.push(group);
    }
  const { weights, offsets } = fitRobust(
    {
      inputCount: 1,
      inputs: Float64Array.from(inputs),
      targets: Float64Array.from(targets),
      groups: Int32Array.from(groups),
      groupCount: 3,
    },
    0.3,
  );
  expect(weights[0]).toBeCloseTo(24, 0);
  expect([...offsets].map((offset) => Math.round(offset))).toEqual([20, 21, 22]);
});

/** Runs of one job: some use more memory and less power. */
const runs: readonly Pace[] = Array.from({ length: 12 }, (_, at) => ({
  traffic: -0.6 + 0.02 * at,
  power: 6.4 - 0.01 * at,
}));
const exact = { traffic: 0, power: 0 };

test("a run with another mix of work is no slow one; one with a fifth less of both is", () => {
  const mix = dropBelow(runs, { traffic: -0.66, power: 6.43 }, exact);
  expect(Math.abs(mix.drop / mix.sigma)).toBeLessThan(2);
  const slow = dropBelow(runs, { traffic: -0.5 - 0.22, power: 6.35 - 0.22 }, exact);
  expect(slow.drop).toBeCloseTo(0.22, 1);
  expect(slow.drop / slow.sigma).toBeGreaterThan(4);
});

test("slow runs among the others do not hide a slow one", () => {
  const some = [...runs, { traffic: -0.9, power: 6.1 }, { traffic: -0.85, power: 6.15 }];
  const slow = dropBelow(some, { traffic: -0.72, power: 6.13 }, exact);
  expect(slow.drop / slow.sigma).toBeGreaterThan(4);
});

test("a quantile is the one of the sorted numbers, whatever their order, length and gaps", () => {
  const sorted = (values: readonly number[], share: number): number => {
    const kept = values.filter((value) => !Number.isNaN(value)).toSorted((a, b) => a - b);
    const place = share * (kept.length - 1);
    const [low, high] = [kept[Math.floor(place)] ?? NaN, kept[Math.ceil(place)] ?? NaN];
    return kept.length === 0 ? NaN : low + (high - low) * (place - Math.floor(place));
  };
  const orders: readonly ((at: number, length: number) => number)[] = [
    (at) => at,
    (at, length) => length - at,
    () => 7,
    (at) => at % 3,
    (at, length) => Math.min(at, length - at),
    (at) => (at % 5 === 0 ? NaN : (at * 7_919) % 1_009),
    (at) => (at % 2 === 0 ? 1e9 : -1e9),
  ];
  for (const length of [0, 1, 2, 3, 10, 1_001, 9_000])
    for (const order of orders)
      for (const share of [0, 0.02, 0.5, 0.55, 0.9, 1]) {
        const values = Array.from({ length }, (_, at) => order(at, length));
        expect([length, share, quantileOf(values, share)]).toEqual([
          length,
          share,
          sorted(values, share),
        ]);
      }
});
