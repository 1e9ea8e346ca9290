/** Whether sources deliver: what `/readyz` answers. Process health is another question, and always yes while it answers. */
import type { SourceState } from "./source-state.ts";

export interface SourceHealth {
  readonly source: string;
  readonly ok: boolean;
  /** One sentence on what is wrong; absent while all is well. */
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
      problem: `hung: ${ill?.problem ?? "no answer"}, past its deadline since ${seconds} s`,
    };
  }
  if (ill !== undefined)
    return { source, ok: false, problem: `${ill.tier} readings: ${ill.problem}` };
  if (state.ended !== true && !tiers.some((tier) => tier.success === true)) {
    return { source, ok: false, problem: "has not delivered yet" };
  }
  return { source, ok: true };
}
