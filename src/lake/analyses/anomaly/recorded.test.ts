import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { loadRecording } from "../../../../bench/sim-compare/load.ts";
import {
  type FixtureValues,
  makeFrames,
  summary,
  watchAll,
} from "../../../../test/fixtures/lake/analyses-anomaly.ts";

const captures = new URL("../../../sources/sim/captures/", import.meta.url);

/** A recording of a real H200, second by second, repeated from the start when it ends. */
function recorded(folder: string, job: string | undefined): (second: number) => FixtureValues {
  const { rows } = loadRecording(fileURLToPath(new URL(folder, captures)));
  const firstMs = rows[0]?.timeMs ?? 0;
  const seconds = new Map(rows.map((row) => [Math.floor((row.timeMs - firstMs) / 1_000), row]));
  return (second) => {
    const row = seconds.get(second % seconds.size);
    if (row === undefined) return {};
    const { watts, utilization, celsius, memoryBytes, memoryUtilization, smHertz } = row;
    return {
      watts,
      utilization,
      celsius,
      memoryBytes,
      memoryUtilization,
      clockHertz: smHertz,
      powerCapped: Number(row.powerCapped),
      ...(job === undefined ? {} : { job }),
    };
  };
}

test.each([
  ["h200-first", undefined],
  ["h200-mixed", undefined],
  ["h200-unseen", undefined],
  ["h200-mixed", "benchmark-1"],
  ["h200-unseen", "benchmark-1"],
])("three hours of what a real card did (%s, job %s) are nothing to report on", (folder, job) => {
  expect(summary(watchAll(makeFrames(3 * 3_600, recorded(folder, job))).began)).toEqual([]);
});

test("the same card 12 K hotter than before at the same work is reported", () => {
  const usual = recorded("h200-mixed", undefined);
  const { began } = watchAll(
    makeFrames(3 * 3_600, (second) => {
      const given = usual(second);
      const hotter = second > 2 * 3_600 && (given.watts ?? 0) > 300 ? 12 : 0;
      return given.celsius === undefined ? given : { ...given, celsius: given.celsius + hotter };
    }),
  );
  expect(summary(began)[0]).toMatch(/cooling_degraded|temperature_spike/);
});
