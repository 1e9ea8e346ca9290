/**
 * Takes nodes with failing GPUs out of service and returns them: sets a condition and a taint on the Kubernetes node, based on
 * the hub's health verdicts. Never exceeds the node budget; every step is in the audit log, and a dry run only writes the audit
 * log.
 */
import type { AuditLog } from "../../access/audit.ts";
import type { ActionBudget } from "../../config/budget.ts";
import { formatError } from "../../base/error.ts";
import type { Log } from "../../base/log.ts";
import type { HealthReport } from "../../view/health/report.ts";
import { type HealthAction, healthActions } from "../../view/health/verdict.ts";
import { NodeConflictError } from "./node-api.ts";
import { type NodeTaintState, type NodeVerdict, planTaints, type TaintPlan } from "./plan.ts";

/** The part of `NodeApi` used here. */
export interface NodeWriter {
  list(): Promise<readonly NodeTaintState[]>;
  setTaint(node: string, isTainted: boolean): Promise<void>;
  setCondition(node: string, isHealthy: boolean, message: string, time: string): Promise<void>;
}

export interface NodeTaintsOptions {
  readonly mode: "dry-run" | "on";
  readonly budget: ActionBudget;
  readonly returnAfterMs: number;
  readonly nodes: NodeWriter;
  readonly report: () => Pick<HealthReport, "hosts">;
  readonly audit: Pick<AuditLog, "note">;
  readonly log: Log;
  readonly nowMs: () => number;
}

const roundEveryMs = 2_000;
/** While there is nothing to write, the nodes are listed this often: a list of a large cluster is tens of megabytes. */
const listEveryMs = 30_000;
const actionRank = (action: HealthAction): number => healthActions.indexOf(action);

export class NodeTaints {
  readonly #options: NodeTaintsOptions;
  readonly #healthySinceMs = new Map<string, number>();
  /** Dry run: the nodes that would be tainted, so that each is reported once. */
  #imagined: ReadonlySet<string> = new Set();
  #withheld: ReadonlySet<string> = new Set();
  #timer: NodeJS.Timeout | undefined;
  #round: Promise<void> | undefined;
  #problem: string | undefined;
  /** The last list, if nothing was written since. */
  #listed: { readonly atMs: number; readonly nodes: readonly NodeTaintState[] } | undefined;

  constructor(options: NodeTaintsOptions) {
    this.#options = options;
  }

  start(): void {
    this.#timer = setInterval(() => {
      this.#round ??= this.round().finally(() => (this.#round = undefined));
    }, roundEveryMs);
    this.#timer.unref();
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#round;
  }

  problems(): readonly string[] {
    return this.#problem === undefined ? [] : [`node taints: ${this.#problem}`];
  }

  /** Evaluates verdicts and nodes once and acts on the result. Never rejects. */
  async round(): Promise<void> {
    const { log } = this.#options;
    try {
      await this.#act();
      this.#problem = undefined;
    } catch (thrown) {
      const problem = formatError(thrown);
      if (problem !== this.#problem) log.warn("node taints failed", { error: problem });
      this.#problem = problem;
    }
  }

  async #act(): Promise<void> {
    const { nodes, mode, nowMs } = this.#options;
    const verdicts = this.#verdicts();
    const last = this.#listed;
    if (last !== undefined && nowMs() - last.atMs < listEveryMs) {
      const { plan, isIdle } = this.#plan(verdicts, last.nodes);
      if (isIdle) return this.#noteWithheld(plan);
    }
    // Every write is based on a new list: the budget counts the taints there.
    this.#listed = undefined;
    const listed = await nodes.list();
    const { plan, states, isIdle } = this.#plan(verdicts, listed);
    if (isIdle) this.#listed = { atMs: nowMs(), nodes: listed };
    this.#noteWithheld(plan);
    if (mode === "dry-run") return this.#imagine(plan, states);
    const failures: unknown[] = [];
    /** A node that fails to update does not block others. */
    const attempt = async (write: Promise<void>): Promise<boolean> => {
      try {
        await write;
        return true;
      } catch (thrown) {
        if (!(thrown instanceof NodeConflictError)) failures.push(thrown);
        return false;
      }
    };
    const tainted = new Set(listed.filter(({ isTainted }) => isTainted).map(({ node }) => node));
    for (const { node, text } of plan.taint)
      if (await attempt(nodes.setTaint(node, true))) {
        tainted.add(node);
        this.#note("taint node", node, text);
      }
    for (const node of plan.release)
      if (await attempt(nodes.setTaint(node, false))) {
        tainted.delete(node);
        this.#note("return node to service", node, "its GPUs are healthy again");
      }
    // Based on the state listed by the API server, so that a later round retries a failed condition update.
    const texts = new Map(verdicts.map(({ node, text }) => [node, text]));
    const time = new Date(nowMs()).toISOString();
    for (const { node, isHealthy } of this.#conditions(listed, tainted)) {
      const text = isHealthy ? "All GPUs are healthy." : texts.get(node) || "A GPU needs service.";
      await attempt(nodes.setCondition(node, isHealthy, text, time));
    }
    if (failures.length > 0) throw failures[0];
  }

  /** What to do if the API server has the nodes as `listed`; idle if that is nothing. */
  #plan(
    verdicts: readonly NodeVerdict[],
    listed: readonly NodeTaintState[],
  ): { plan: TaintPlan; states: readonly NodeTaintState[]; isIdle: boolean } {
    const { mode, budget, returnAfterMs, nowMs } = this.#options;
    const isDry = mode === "dry-run";
    const states = isDry
      ? listed.map((one) => ({ ...one, isTainted: this.#imagined.has(one.node) }))
      : listed;
    const plan = planTaints(verdicts, states, budget, this.#healthySinceMs, nowMs(), returnAfterMs);
    const tainted = new Set(listed.filter(({ isTainted }) => isTainted).map(({ node }) => node));
    const changes = plan.taint.length + plan.release.length;
    const conditions = isDry ? 0 : this.#conditions(listed, tainted).length;
    return { plan, states, isIdle: changes + conditions === 0 };
  }

  /** The conditions that differ from the taints. */
  #conditions(
    listed: readonly NodeTaintState[],
    tainted: ReadonlySet<string>,
  ): readonly { node: string; isHealthy: boolean }[] {
    return listed
      .filter(({ node, isReportedHealthy }) =>
        tainted.has(node)
          ? isReportedHealthy !== false
          : isReportedHealthy === false && this.#healthySinceMs.has(node),
      )
      .map(({ node }) => ({ node, isHealthy: !tainted.has(node) }));
  }

  #imagine({ taint, release }: TaintPlan, states: readonly NodeTaintState[]): void {
    const gone = new Set(release);
    for (const { node, text } of taint) this.#note("dry run: taint node", node, text);
    for (const node of release)
      this.#note("dry run: return node to service", node, "its GPUs are healthy again");
    const kept = states.filter(({ node, isTainted }) => isTainted && !gone.has(node));
    this.#imagined = new Set([...kept, ...taint].map(({ node }) => node));
  }

  #noteWithheld({ withheld, limit }: TaintPlan): void {
    for (const { node, text } of withheld)
      if (!this.#withheld.has(node))
        this.#note(
          "taint node",
          node,
          `withheld, ${limit} tainted nodes are the budget: ${text}`,
          "refused",
        );
    this.#withheld = new Set(withheld.map(({ node }) => node));
  }

  #verdicts(): readonly NodeVerdict[] {
    const { report, nowMs } = this.#options;
    const verdicts = report().hosts.map((host): NodeVerdict => {
      const [worst] = [host, ...host.gpus]
        .flatMap(({ reasons }) => reasons)
        .filter(({ state }) => state === host.worst)
        .sort((one, other) => actionRank(other.action) - actionRank(one.action));
      return {
        node: host.host,
        state: host.worst,
        action: worst?.action ?? "none",
        text: worst?.text ?? "",
      };
    });
    for (const { node, state } of verdicts)
      if (state !== "healthy" && state !== "degraded") this.#healthySinceMs.delete(node);
      else if (!this.#healthySinceMs.has(node)) this.#healthySinceMs.set(node, nowMs());
    const seen = new Set(verdicts.map(({ node }) => node));
    for (const node of this.#healthySinceMs.keys())
      if (!seen.has(node)) this.#healthySinceMs.delete(node);
    return verdicts;
  }

  #note(what: string, node: string, why: string, outcome: "done" | "refused" = "done"): void {
    const { audit, log } = this.#options;
    audit.note({ who: "gpulse hub", by: "nobody", what, target: node, outcome, why });
    log.info(what, { node, outcome, reason: why });
  }
}
