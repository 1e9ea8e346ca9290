import { expect, test } from "vitest";
import { but, healthStartMs, sound, watchFor } from "../../../test/fixtures/view/health.ts";
import { gpu } from "../../model/catalogue/index.ts";
import { createHealthReport } from "./report.ts";
import { HealthWatch } from "./watch.ts";
import { verdictLevels, verdictTip } from "./words.ts";

function tipOf(readings: typeof sound): string {
  const watch = new HealthWatch({ acceptsVerdicts: false });
  watchFor(5, readings, watch);
  const nowMs = healthStartMs + 5_000;
  const [verdict] = createHealthReport(watch.report(nowMs), nowMs, "1").hosts[0]?.gpus ?? [];
  return verdict === undefined ? "" : `${verdictLevels[verdict.state]}: ${verdictTip(verdict)}`;
}

test("a verdict's tip has its reasons and the action", () => {
  expect(tipOf(but([gpu.recoveryAction, 2]))).toBe(
    "bad: The driver asks for a reboot of the machine (recovery action 2).\nAction: drain the machine and reboot it.",
  );
  expect(tipOf(sound)).toBe("note: ");
});

test("an unknown verdict says what is missing", () => {
  expect(tipOf([[gpu.up, 1]])).toContain("ECC: not reported by this card");
});
