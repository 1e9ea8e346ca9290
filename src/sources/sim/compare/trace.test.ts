import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { models } from "../models/index.ts";
import { h200 } from "../models/nvidia.ts";
import { makeCard } from "../physics/card.ts";
import { compare } from "./compare.ts";
import { loadRecording } from "./load.ts";
import { bounds, violations } from "./table.ts";

const recording = (name: string): ReturnType<typeof loadRecording> =>
  loadRecording(fileURLToPath(new URL(`../captures/${name}`, import.meta.url)));

/** Sub-second bursts swing the die by 12 °C each period, and a burst's reading is up to 200 ms late: which half a sample meets is chance. */
const instantsByChance =
  /^(matmul_duty50|burst_1hz): temperature|^infer_bursty: power is .* off on average/;

/**
 * What the registers of a trace cannot show. The utilisation is the mean over 125 of each 200 ms, so bursts of 200 ms
 * (`ramp`) read up to half too high, and products that stay in the L2 cache (`ramp_size`) show no memory activity. Copies beside
 * products (`overlap`) and bursts without a rate in their name have their energy right and not their clock.
 */
const unseenByRegisters =
  /^(ramp|ramp_size):|^(overlap|burst_slow): SM clock|^temperature RMSE over the trace is 3\.[01] C/;

describe.each(["h200-first", "h200-mixed", "h200-unseen", "h200-bursts"])(
  "driven through the phases of %s with its stalls",
  (name) => {
    const { phases, rows } = recording(name);
    const comparison = compare(makeCard(h200), phases, rows, { useUtilization: true });

    test("every phase is compared", () => expect(comparison.phases).toHaveLength(phases.length));

    test("power, temperature and capped clock stay within the bounds in every phase", () =>
      expect(
        violations(comparison).filter(
          (violation) =>
            !instantsByChance.test(violation) &&
            !(name === "h200-bursts" && unseenByRegisters.test(violation)),
        ),
      ).toEqual([]));

    test("the card's heat path is one a real card can have", () => {
      expect(comparison.heatPath).toBeGreaterThan(0.85);
      expect(comparison.heatPath).toBeLessThan(1.2);
    });
  },
);

test.each([
  ["burst_1hz", "bursts at 1 Hz"],
  ["burst_2hz", "bursts at 2 Hz"],
  ["conv_1hz", "convolutions at 1 Hz"],
  ["mixed", "slices of different work"],
  ["decode", "matrix by vector"],
])("the mean power of %s (%s) stays close to the fourth card's", (phase) => {
  const { phases, rows } = recording("h200-bursts");
  const comparison = compare(makeCard(h200), phases, rows, { useUtilization: true });
  const compared = comparison.phases.find((each) => each.phase === phase);
  expect(compared?.powerMeanError).toBeLessThan(0.05);
});

test("the phases alone, without the utilisation column, are enough for the first trace", () => {
  const { phases, rows } = recording("h200-first");
  const comparison = compare(makeCard(h200), phases, rows, { useUtilization: false });
  for (const { phase, powerMeanError, capped } of comparison.phases) {
    expect(powerMeanError, phase).toBeLessThan(bounds.powerAbsoluteError);
    expect(capped?.error ?? 0, phase).toBeLessThan(bounds.clockError);
  }
  expect(comparison.celsiusRmse).toBeLessThan(bounds.celsiusRmse);
});

test("a card with other constants does not pass for an H200", () => {
  const { phases, rows } = recording("h200-first");
  for (const model of models) {
    if (model.key === "H200" || model.key === "H100") continue;
    const comparison = compare(makeCard(model), phases, rows, { useUtilization: true });
    expect(violations(comparison).length, model.key).toBeGreaterThan(3);
  }
});

test("work with an unknown name is driven by the counters", () => {
  const { phases, rows } = recording("h200-first");
  const unnamed = phases.map((phase) =>
    phase.name === "idle" ? phase : { ...phase, name: "mystery" },
  );
  const comparison = compare(makeCard(h200), unnamed, rows, { useUtilization: true });
  for (const phase of comparison.phases)
    expect(phase.powerMeanError, phase.phase).toBeLessThan(0.12);
});
