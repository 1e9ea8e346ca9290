/**
 * `GET /api/rules/backtest`: when a rule would have fired over the hub's own history. Takes the name of a loaded rule, or an
 * expression with `for`. Bounded in steps; one runs at a time, and it is cancelled when the client disconnects.
 */
import type { FastifyInstance } from "fastify";
import {
  backtest,
  type BacktestResult,
  type RangeQuerySource,
} from "../../alerting/backtest/backtest.ts";
import { samplesOf } from "../../alerting/rules/context.ts";
import type { RuleGroupRunner } from "../../alerting/rules/group.ts";
import type { AlertingRule } from "../../alerting/rules/types.ts";
import type { History } from "../../storage/history.ts";
import { QueryError } from "../../query/errors.ts";
import { parse } from "../../query/parse/parse.ts";
import { PrometheusApiError, invalidParameter } from "../api/failure.ts";
import { Params } from "../api/params.ts";
import { success } from "../api/result.ts";

export interface BacktestContext {
  readonly history: Pick<History, "instant" | "range">;
  readonly alerting?: { readonly groups: readonly RuleGroupRunner[]; readonly externalUrl: string };
  readonly nowMs: () => number;
}

/** The page waits for the response: longer ranges are evaluated with a longer step. */
const maxSteps = 12_000;
const longestMs = 366 * 86_400_000;
const maxListedFirings = 500;
const defaultSinceMs = 7 * 86_400_000;
const defaultStepMs = 15_000;

export function addBacktest(app: FastifyInstance, context: BacktestContext): void {
  let busy = false;
  app.get("/api/rules/backtest", async (request, reply) => {
    const params = Params.of(request);
    const { rule, group } = ruleOf(params, context.alerting?.groups ?? []);
    const range = rangeOf(params, context.nowMs(), group?.intervalMs ?? defaultStepMs);
    if (busy)
      throw new PrometheusApiError(
        "unavailable",
        "another backtest is running: try again when it is done",
      );
    busy = true;
    const abort = new AbortController();
    reply.raw.once("close", () => abort.abort());
    try {
      const result = await backtest(rule, pastOf(context.history), {
        ...range,
        externalLabels: new Map(),
        externalUrl: context.alerting?.externalUrl ?? "",
        signal: abort.signal,
      });
      const data = JSON.stringify(resultJson(rule, group?.definition.name, result));
      return await reply
        .type("application/json")
        .header("cache-control", "no-store")
        .send(success(data));
    } finally {
      busy = false;
    }
  });
}

/** @throws PrometheusApiError */
function ruleOf(
  params: Params,
  groups: readonly RuleGroupRunner[],
): { readonly rule: AlertingRule; readonly group: RuleGroupRunner | undefined } {
  const expr = params.text("expr") ?? "";
  const name = params.text("rule") ?? "";
  if ((expr === "") === (name === ""))
    throw invalidParameter("rule", "give the name of an alert in rule, or an expression in expr");
  if (expr !== "") return { rule: ownRule(expr, params), group: undefined };
  const inGroup = params.text("group") ?? "";
  for (const group of groups)
    for (const { rule } of group.runs)
      if (rule.kind === "alert" && rule.name === name)
        if (inGroup === "" || inGroup === group.definition.name) return { rule, group };
  throw invalidParameter("rule", `there is no alert named "${name}" here`);
}

function ownRule(expr: string, params: Params): AlertingRule {
  try {
    parse(expr);
  } catch (thrown) {
    if (thrown instanceof QueryError) throw invalidParameter("expr", thrown.message);
    throw thrown;
  }
  return {
    kind: "alert",
    name: "expression",
    expr,
    forMs: params.durationMs("for") ?? 0,
    keepFiringForMs: params.durationMs("keep_firing_for") ?? 0,
    labels: {},
    annotations: {},
  };
}

function rangeOf(
  params: Params,
  nowMs: number,
  intervalMs: number,
): { readonly startMs: number; readonly endMs: number; readonly stepMs: number } {
  const endMs = params.timeMs("end", nowMs);
  const startMs = params.timeMs("start", endMs - (params.durationMs("since") ?? defaultSinceMs));
  if (startMs >= endMs || endMs - startMs > longestMs)
    throw invalidParameter("start", "the range must be longer than nothing and at most a year");
  const fitting = Math.max(intervalMs, Math.ceil((endMs - startMs) / maxSteps / 1_000) * 1_000);
  const stepMs = params.durationMs("step") ?? fitting;
  if (stepMs < 1_000) throw invalidParameter("step", "it must be a second at least");
  if ((endMs - startMs) / stepMs > maxSteps)
    throw invalidParameter("step", `more than ${maxSteps} steps: take a longer one`);
  return { startMs, endMs, stepMs };
}

function pastOf(history: BacktestContext["history"]): RangeQuerySource {
  return {
    range: async (query, startMs, endMs, stepMs, signal) => {
      const { data } = await history.range(query, startMs, endMs, stepMs, { signal });
      return data.type === "matrix" ? data.series : [];
    },
    ask: async (query, timeMs) =>
      samplesOf(await history.instant(query, timeMs)).map(({ labels, value }) => ({
        labels: new Map(labels),
        value,
      })),
  };
}

function resultJson(
  rule: AlertingRule,
  group: string | undefined,
  result: BacktestResult,
): unknown {
  const { startMs, endMs, stepMs, firings, totals } = result;
  return {
    rule: rule.name,
    ...(group === undefined ? {} : { group }),
    expr: rule.expr,
    forSeconds: rule.forMs / 1_000,
    keepFiringForSeconds: rule.keepFiringForMs / 1_000,
    start: iso(startMs),
    end: iso(endMs),
    stepSeconds: stepMs / 1_000,
    totals: {
      firings: totals.firings,
      labelSets: totals.labelSets,
      firingSeconds: totals.firingMs / 1_000,
      longestSeconds: totals.longestMs / 1_000,
      pendingOnly: totals.pendingOnly,
    },
    firings: firings.slice(0, maxListedFirings).map((firing) => ({
      labels: Object.fromEntries(firing.labels),
      annotations: firing.annotations,
      activeAt: iso(firing.activeAtMs),
      start: iso(firing.startMs),
      ...(firing.endMs === undefined ? {} : { end: iso(firing.endMs) }),
      durationSeconds: firing.durationMs / 1_000,
      // JSON has no infinity.
      peak: Number.isFinite(firing.peak) ? firing.peak : null,
    })),
  };
}

const iso = (ms: number): string => new Date(ms).toISOString();
