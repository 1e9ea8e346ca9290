/**
 * Selects the nodes to take out of service and to return, from the health verdicts and the state at the API server. Pure. The
 * budget counts the state at the API server, not this process's memory: a restarted or replaced hub does not exceed it either.
 */
import { type ActionBudget, budgetLimit } from "../../config/budget.ts";
import type { HealthAction, HealthState } from "../../view/health/verdict.ts";

export interface NodeVerdict {
  readonly node: string;
  readonly state: HealthState;
  readonly action: HealthAction;
  /** The reason, in one sentence. */
  readonly text: string;
}

export interface NodeTaintState {
  readonly node: string;
  /** True if the node has gpulse's taint. */
  readonly isTainted: boolean;
  /** Status of gpulse's condition on the node; undefined if missing. */
  readonly isReportedHealthy: boolean | undefined;
}

export interface TaintPlan {
  readonly taint: readonly NodeVerdict[];
  readonly release: readonly string[];
  /** Nodes that should be tainted but are not, because the budget is used up. */
  readonly withheld: readonly NodeVerdict[];
  /** Maximum number of tainted nodes. */
  readonly limit: number;
}

/** Actions during which no pods may run: the GPU or its node has to be out of service. */
const outOfService: ReadonlySet<HealthAction> = new Set(["reset_gpu", "reboot", "drain"]);

const needsTaint = ({ state, action }: NodeVerdict): boolean =>
  (state === "failing" || state === "lost") && outOfService.has(action);

/**
 * `healthySinceMs`: since when each node has been healthy without interruption. A node without a verdict (its agent is silent)
 * has no entry and keeps its taint.
 */
export function planTaints(
  verdicts: readonly NodeVerdict[],
  nodes: readonly NodeTaintState[],
  budget: ActionBudget,
  healthySinceMs: ReadonlyMap<string, number>,
  nowMs: number,
  returnAfterMs: number,
): TaintPlan {
  const judged = new Map(verdicts.map((verdict) => [verdict.node, verdict]));
  const known = nodes.filter(({ node }) => judged.has(node));
  const limit = budgetLimit(budget, known.length);
  const release = nodes
    .filter(({ node, isTainted }) => {
      const sinceMs = healthySinceMs.get(node);
      return isTainted && sinceMs !== undefined && nowMs - sinceMs >= returnAfterMs;
    })
    .map(({ node }) => node);
  // Removing a taint may fail at the API server: the node counts until its taint is gone there.
  const tainted = nodes.filter(({ isTainted }) => isTainted).length;
  const wanted = known
    .filter(({ isTainted }) => !isTainted)
    .flatMap(({ node }) => judged.get(node) ?? [])
    .filter(needsTaint)
    .sort((one, other) => rank(other) - rank(one) || one.node.localeCompare(other.node));
  const free = Math.max(0, limit - tainted);
  return { taint: wanted.slice(0, free), release, withheld: wanted.slice(free), limit };
}

/** Lost GPUs first, then those that still respond. */
const rank = ({ state }: NodeVerdict): number => (state === "lost" ? 1 : 0);
