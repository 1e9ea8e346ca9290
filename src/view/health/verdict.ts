/** The terms of a health verdict: states, actions, checks and reasons, and how several reasons make one verdict. Pure. */

/** Worst last. `unknown` is separate: nothing could be judged, which is neither good nor bad. */
export const healthStates = ["healthy", "degraded", "failing", "lost"] as const;
export type JudgedState = (typeof healthStates)[number];
export type HealthState = JudgedState | "unknown";

/** The recommended action for an operator or a scheduler, smallest first. */
export const healthActions = [
  "none",
  "restart_app",
  "inspect",
  "reset_gpu",
  "reboot",
  "drain",
] as const;
export type HealthAction = (typeof healthActions)[number];

export const actionWords: Readonly<Record<HealthAction, string>> = {
  none: "nothing to do",
  restart_app: "restart the application",
  inspect: "inspect at the next maintenance",
  reset_gpu: "drain the jobs and reset the GPU",
  reboot: "drain the machine and reboot it",
  drain: "drain and replace",
};

/** The checks of a GPU. A verdict lists the checks whose input the GPU does not report. */
export const gpuChecks = [
  "presence",
  "driver_errors",
  "memory",
  "recovery",
  "interconnect",
  "pcie",
  "cooling",
  "clock",
  "power",
  "anomaly",
] as const;
export const hostChecks = ["host_memory", "switch"] as const;
export type HealthCheck = (typeof gpuChecks)[number] | (typeof hostChecks)[number];

export interface HealthReason {
  readonly check: HealthCheck;
  /** A stable name for programs, such as `xid_48` or `ecc_uncorrected`. */
  readonly reason: string;
  /** A few words, the same for every occurrence. */
  readonly title: string;
  /** `healthy` marks a note that is no fault of the GPU. */
  readonly state: JudgedState;
  readonly action: HealthAction;
  /** One sentence with the numbers. */
  readonly text: string;
  readonly sinceMs: number;
}

/** A check without input. */
export interface UncheckedCheck {
  readonly check: HealthCheck;
  readonly why: string;
}

export interface Verdict {
  readonly state: HealthState;
  readonly action: HealthAction;
  /** Worst first. */
  readonly reasons: readonly HealthReason[];
  readonly unchecked: readonly UncheckedCheck[];
}

export const stateRank = (state: JudgedState): number => healthStates.indexOf(state);
const actionRank = (action: HealthAction): number => healthActions.indexOf(action);

/** Keeps the worst reason per name, and sorts by severity, worst first. */
function orderReasons(reasons: readonly HealthReason[]): HealthReason[] {
  const byName = new Map<string, HealthReason>();
  for (const reason of reasons) {
    const before = byName.get(reason.reason);
    if (before === undefined || compareReasons(reason, before) < 0)
      byName.set(reason.reason, reason);
  }
  return [...byName.values()].sort(compareReasons);
}

const compareReasons = (left: HealthReason, right: HealthReason): number =>
  stateRank(right.state) - stateRank(left.state) ||
  actionRank(right.action) - actionRank(left.action) ||
  left.sinceMs - right.sinceMs ||
  left.reason.localeCompare(right.reason);

/**
 * The worst reason decides. Without reasons, the verdict is `healthy` only if something was checked, and `unknown` otherwise.
 * @param isJudged whether at least one check beyond presence had its input
 */
export function combineReasons(
  reasons: readonly HealthReason[],
  unchecked: readonly UncheckedCheck[],
  isJudged: boolean,
): Verdict {
  const ordered = orderReasons(reasons);
  const [worst] = ordered;
  if (!isJudged && (worst === undefined || worst.state === "healthy"))
    return { state: "unknown", action: "none", reasons: ordered, unchecked };
  return {
    state: worst?.state ?? "healthy",
    action: worst?.action ?? "none",
    reasons: ordered,
    unchecked,
  };
}

/** Returns the worst state: a known problem before `unknown`, `unknown` before `healthy`. */
export function worstState(states: readonly HealthState[]): HealthState {
  const rank = (state: HealthState): number => (state === "unknown" ? 0.5 : stateRank(state));
  return states.reduce<HealthState>(
    (worst, state) => (rank(state) > rank(worst) ? state : worst),
    states.length === 0 ? "unknown" : "healthy",
  );
}
