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

/** The utilisation register sees a one-second burst up to 200 ms late, differently each time: instants cannot be told better. */
const burstsByTheClock = /^infer_bursty: power is .* off on average$/;

describe.each(["h200-first", "h200-mixed", "h200-unseen"])(
  "driven through the phases of %s with its stalls",
  (name) => {
    const { phases, rows } = recording(name);
    const comparison = compare(makeCard(h200), phases, rows, { useUtilization: true });

    test("every phase is compared", () => expect(comparison.phases).toHaveLength(phases.length));

    test("power, temperature and capped clock stay within the bounds in every phase", () =>
      expect(
        violations(comparison).filter((violation) => !burstsByTheClock.test(violation)),
      ).toEqual([]));
  },
);

test.each(["h200-first", "h200-mixed", "h200-unseen"])(
  "the temperature follows %s within 4 °C in each phase too",
  (name) => {
    const { phases, rows } = recording(name);
    // Half duty swings 12 °C every 100 ms: which half a sample meets is chance.
    const steadier = compare(makeCard(h200), phases, rows, { useUtilization: true }).phases.filter(
      ({ phase }) => phase !== "matmul_duty50",
    );
    for (const { phase, celsiusRmse } of steadier)
      expect(celsiusRmse, phase).toBeLessThan(bounds.celsiusRmse);
  },
);

test("the phases alone, without the utilisation column, are enough for the first trace", () => {
  const { phases, rows } = recording("h200-first");
  const comparison = compare(makeCard(h200), phases, rows, { useUtilization: false });
  for (const { phase, powerMeanError, capped } of comparison.phases) {
    expect(powerMeanError, phase).toBeLessThan(bounds.powerError);
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

test("work with a name nobody knows is driven by what the counters say", () => {
  const { phases, rows } = recording("h200-first");
  const unnamed = phases.map((phase) =>
    phase.name === "idle" ? phase : { ...phase, name: "mystery" },
  );
  const comparison = compare(makeCard(h200), unnamed, rows, { useUtilization: true });
  for (const phase of comparison.phases)
    expect(phase.powerMeanError, phase.phase).toBeLessThan(0.25);
});
