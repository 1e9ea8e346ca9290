/** A verdict as text for the page: level, and one line per reason. Pure. */
import type { Level } from "../gpu-status.ts";
import { actionWords, type HealthState } from "./verdict.ts";
import type { GpuHealthReport } from "./report.ts";

export const verdictLevels: Readonly<Record<HealthState, Level>> = {
  healthy: "note",
  unknown: "note",
  degraded: "warn",
  failing: "bad",
  lost: "bad",
};

/** All reasons except notes, then the action; for `unknown`, why. */
export function verdictTip({ state, action, reasons, unchecked }: GpuHealthReport): string {
  const found = reasons.filter((reason) => reason.state !== "healthy").map(({ text }) => text);
  const why = state === "unknown" ? unchecked.map((one) => one.why) : [];
  const todo = action === "none" ? [] : [`Action: ${actionWords[action]}.`];
  return [...found, ...why, ...todo].join("\n");
}
