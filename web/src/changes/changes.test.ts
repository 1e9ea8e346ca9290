import { expect, test } from "vitest";
import type { SeriesChange } from "../../../src/view/changes/report.ts";
import { distanceOf, numbersOf } from "./change-text.ts";
import { bandPath, linePath, scaleFor } from "./small-path.ts";

const change: SeriesChange = {
  kind: "moved",
  title: "Temperature (edge)",
  metric: "gpu_temperature_celsius",
  unit: "celsius",
  labels: {},
  place: "GPU 1 of node-1",
  relation: "own",
  promql: "gpu_temperature_celsius",
  before: 41,
  after: 86.63,
  sigmas: 18.2,
  sinceMs: 0,
  untilMs: 1,
  peers: { count: 7, value: 40, sigmas: 13.7 },
  series: 1,
  chart: { startMs: 0, stepMs: 1, values: [], peerLow: [], peerHigh: [], anomalies: [] },
};

test.each([
  [{}, "41 °C → 86.6 °C"],
  [{ before: null }, "n/a → 86.6 °C"],
  [{ kind: "grew", unit: "none", before: null, after: 1 } as const, "+1 (none in as long before)"],
  [{ kind: "stopped", series: 38 } as const, "stopped reporting"],
  [{ kind: "stopped" } as const, "ended"],
])("%j is shown as %s", (more, text) => {
  expect(numbersOf({ ...change, ...more })).toBe(text);
});

test("the distance names the GPU's own history and its peers, also where they changed alike", () => {
  expect(distanceOf(change)).toBe(
    "18 sigmas from its own history; its 7 peers are at 40 °C, 14 sigmas apart",
  );
  expect(distanceOf({ ...change, peers: { count: 7, value: 80, sigmas: 1 } })).toContain(
    "its 7 peers changed alike",
  );
  expect(distanceOf({ ...change, sigmas: null, peers: null })).toBe("");
});

test("a line is open over a gap, bridges the distance of samples, and a reading alone is a dot", () => {
  const cells = [0, null, 10, null, null, null, null, 10, null, null, null, null, null, 5, 5];
  const scale = scaleFor([cells], 15, 10);
  expect(linePath(cells, scale)).toBe("M0.5 10L2.5 0M7.5 0h0.1M13.5 5L14.5 5");
});

test("the band is closed around each stretch that has both edges", () => {
  const low = [0, 0, null, 0];
  const high = [10, 10, 10, 10];
  expect(bandPath(low, high, scaleFor([low, high], 4, 10))).toBe(
    "M0.5 0L1.5 0L3.5 0L3.5 10L1.5 10L0.5 10Z",
  );
});

test("a constant is drawn in the middle", () => {
  expect(scaleFor([[5, 5]], 10, 8).y(5)).toBe(4);
});
