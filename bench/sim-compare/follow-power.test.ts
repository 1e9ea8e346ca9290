import { describe, expect, test } from "vitest";
import { followPower } from "./follow-power.ts";

const binMs = 25;
const perSecond = 1_000 / binMs;

/** What a card shows that draws `fullWatts` over rest while busy: a mean over each second, every 100 ms. */
const readings = (
  busy: readonly number[],
  fullWatts: number,
): { endBin: number; watts: number }[] =>
  Array.from({ length: (busy.length - perSecond) / 4 + 1 }, (_, index) => {
    const endBin = perSecond + index * 4;
    const window = busy.slice(endBin - perSecond, endBin);
    return {
      endBin,
      watts: (fullWatts * window.reduce((sum, share) => sum + share, 0)) / perSecond,
    };
  });

const ramp = Array.from({ length: 400 }, (_, bin) => (bin % 8 === 0 ? 0 : 0.2 + (0.6 * bin) / 400));
const flat = ramp.map((share) => (share === 0 ? 0 : 0.5));
const error = (shares: readonly number[]): number =>
  Math.sqrt(ramp.reduce((sum, share, bin) => sum + (share - (shares[bin] ?? 0)) ** 2, 0) / 400);

describe("activity in line with the reported power", () => {
  test("a rising load that was taken for a steady one rises", () =>
    expect(error(followPower(flat, binMs, readings(ramp, 560)))).toBeLessThan(error(flat) / 3));

  test("pauses stay pauses", () => {
    const followed = followPower(flat, binMs, readings(ramp, 560));
    expect(followed.filter((share) => share === 0)).toHaveLength(50);
  });

  test("the same course at other watts gives the same activity", () => {
    const other = followPower(flat, binMs, readings(ramp, 616));
    for (const [bin, share] of followPower(flat, binMs, readings(ramp, 560)).entries())
      expect(other[bin]).toBeCloseTo(share, 9);
  });

  test("without power nothing is moved", () => {
    expect(followPower(flat, binMs, [])).toEqual(flat);
    expect(followPower(flat, binMs, readings(ramp, 0))).toEqual(flat);
  });
});
