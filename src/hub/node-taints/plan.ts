/**
 * Which nodes to take out of service and which to return, from the health verdicts and the nodes as the API server has them.
 * Pure. The budget counts what the API server reports, not what this process remembers: a hub that was restarted, or that
 * another replaced, never taints more than the budget either.
 */
import { type ActionBudget, budgetLimit } from "../../config/budget.ts";
import type { HealthAction, HealthState } from "../../view/health/verdict.ts";

export interface NodeVerdict {
  readonly node: string;
  readonly state: HealthState;
  readonly action: HealthAction;
  /** Why, in one sentence. */
  readonly text: string;
}

export interface NodeTaintState {
  readonly node: string;
  /** It carries our taint. */
  readonly isTainted: boolean;
  /** What its condition of ours says; undefined where it has none. */
  readonly isReportedHealthy: boolean | undefined;
}

export interface TaintPlan {
  readonly taint: readonly NodeVerdict[];
  readonly release: readonly string[];
  /** Nodes that should be tainted and are not, because the budget is used up. */
  readonly withheld: readonly NodeVerdict[];
  /** How many nodes may be tainted at once. */
  readonly limit: number;
}

/** The actions that pods cannot be left to: the GPU or its node has to be taken out of service for them. */
const outOfService: ReadonlySet<HealthAction> = new Set(["reset_gpu", "reboot", "drain"]);

export const needsTaint = ({ state, action }: NodeVerdict): boolean =>
  (state === "failing" || state === "lost") && outOfService.has(action);

/**
 * `healthySinceMs` is the time since when a node has been judged healthy without a break; a node that cannot be judged
 * (its agent is silent) has none, and keeps its taint.
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
  // A release may fail at the API server: its node counts until it is gone from there.
  const tainted = nodes.filter(({ isTainted }) => isTainted).length;
  const wanted = known
    .filter(({ isTainted }) => !isTainted)
    .flatMap(({ node }) => judged.get(node) ?? [])
    .filter(needsTaint)
    .sort((one, other) => rank(other) - rank(one) || one.node.localeCompare(other.node));
  const free = Math.max(0, limit - tainted);
  return { taint: wanted.slice(0, free), release, withheld: wanted.slice(free), limit };
}

/** A lost GPU before one that still answers. */
const rank = ({ state }: NodeVerdict): number => (state === "lost" ? 1 : 0);
