import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { areas } from "./areas.ts";
import { bandOf, isInside, leastFactor, ratioOf } from "./band.ts";
import { changesFile, mostRuns, pageFile, readBenchRecord, withRun } from "./record.ts";
import { commandOf, type Round } from "./measurement.ts";
import { standingOf, renderPage, tableRowsOf } from "./page.ts";

const kept = readBenchRecord();
const page = readFileSync(pageFile, "utf8");

test("every area has a command of its own, and no measurement has the name of another", () => {
  const ids = areas.flatMap(({ measurements }) => measurements.map(({ id }) => id));
  expect(new Set(ids).size).toBe(ids.length);
  expect(new Set(areas.map(({ name }) => name)).size).toBe(areas.length);
  for (const area of areas) {
    expect(commandOf(area)).toMatch(/^npm run bench -- --only [a-z]+$/);
    for (const { id } of area.measurements) expect(id.startsWith(`${area.name}.`), id).toBe(true);
  }
});

test.each(areas.map((area) => [area.name, area] as const))(
  "of %s every measurement has a peer, a unit, a ratio and a band that it lies in",
  (name, area) => {
    const runs = kept.runs[name];
    if (runs === undefined)
      return expect(page).toMatch(new RegExp(`Not measured yet:.*\`${name}\``));
    const rows = tableRowsOf(area, runs);
    expect(rows.map(({ measurement }) => measurement.id)).toEqual(
      area.measurements.map(({ id }) => id),
    );
    for (const { measurement, ratio, band } of rows) {
      expect(measurement.peer).not.toBe("");
      expect(measurement.what).not.toBe("");
      expect(band.low, measurement.id).toBeGreaterThan(0);
      expect(isInside(ratio, band), `${measurement.id}: ${ratio}`).toBe(true);
    }
  },
);

test("where we are behind the page says why", () => {
  const silent = areas
    .flatMap((area) => tableRowsOf(area, kept.runs[area.name] ?? []))
    .filter((row) => standingOf(row) === "behind")
    .filter(({ measurement }) => measurement.behind === undefined);
  expect(silent.map(({ measurement, ratio }) => `${measurement.id}: ${ratio}`)).toEqual([]);
});

test("the page is what the command makes of the raw output, and names no place on a disk", () => {
  expect(page).toBe(renderPage(areas, kept, readFileSync(changesFile, "utf8")));
  expect(page).not.toMatch(/\/(?:tmp|home|root|work)\//);
});

const steady: readonly Round[] = [
  [1, 2],
  [1.02, 2],
  [0.98, 2],
];

test("a ratio is the median of the rounds' ratios, whatever a disturbed round says", () => {
  expect(ratioOf(steady)).toBe(0.5);
  expect(ratioOf([...steady, [9, 2], [1, 2]])).toBe(0.5);
});

test("a band of steady runs is as wide as its kind moves, one of unsteady runs as wide as they were", () => {
  const { low, high } = bandOf("bytes", [steady, steady]);
  expect(high).toBeCloseTo(0.5 * leastFactor.bytes, 3);
  expect(low).toBeCloseTo(0.5 / leastFactor.bytes, 3);
  const far = steady.map(([ours, theirs]): Round => [ours * 2, theirs]);
  const wide = bandOf("bytes", [steady, far]);
  expect(isInside(0.5, wide) && isInside(1, wide)).toBe(true);
  expect(isInside(0.3, wide) || isInside(1.9, wide)).toBe(false);
});

test("a ratio outside its band is seen on both sides", () => {
  const band = bandOf("memory", [steady]);
  expect(isInside(0.5, band)).toBe(true);
  expect(isInside(0.41, band)).toBe(false);
  expect(isInside(0.61, band)).toBe(false);
});

test("of many runs the last are kept, of fresh ones only the new", () => {
  const run = (seconds: number) => ({ at: "", seconds, load: 0, rounds: {} });
  let runs: ReturnType<typeof withRun> = {};
  for (let at = 0; at < mostRuns + 2; at++) runs = withRun(runs, "a", run(at), false);
  expect(runs["a"]?.map(({ seconds }) => seconds)).toEqual([2, 3, 4, 5, 6]);
  expect(withRun(runs, "a", run(9), true)["a"]).toHaveLength(1);
});
