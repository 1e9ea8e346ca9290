/** Health of the sources, for `/readyz`. Process health is separate: a process that responds is healthy. */
import type { SourceState } from "./source-state.ts";

export interface SourceHealth {
  readonly source: string;
  readonly ok: boolean;
  /** `starting`: the source has neither delivered nor failed yet. */
  readonly state: "delivering" | "starting" | "failing" | "hung";
  /** One sentence about the problem; absent if there is none. */
  readonly problem?: string;
}

export function sourceHealth(state: SourceState, nowMs: number): SourceHealth {
  const source = state.name;
  const tiers = [...state.tiers.values()];
  const ill = tiers.find((tier) => tier.problem !== undefined);
  if (state.hungSinceMs !== undefined) {
    const seconds = Math.round((nowMs - state.hungSinceMs) / 1_000);
    return {
      source,
      ok: false,
      state: "hung",
      problem: `hung: ${ill?.problem ?? "no answer"}, past its deadline since ${seconds} s`,
    };
  }
  if (ill !== undefined)
    return { source, ok: false, state: "failing", problem: `${ill.tier} readings: ${ill.problem}` };
  if (state.ended !== true && !tiers.some((tier) => tier.success === true)) {
    return { source, ok: false, state: "starting", problem: "has not delivered yet" };
  }
  return { source, ok: true, state: "delivering" };
}

/**
 * True once every source has been tried and at least one delivers or waits for a hung driver. A hung driver is a reason
 * for an alert, not for holding up a rollout: a new process would hang on it as well.
 */
export function isReady(sources: readonly SourceHealth[]): boolean {
  return (
    sources.every(({ state }) => state !== "starting") &&
    sources.some(({ state }) => state === "delivering" || state === "hung")
  );
}
