/** `/api/rules/backtest`: when a rule that is loaded would have fired over the past. One at a time; writes and sends nothing. */
import type { FastifyInstance } from "fastify";
import type { BacktestResult, Past } from "../../alert/backtest/backtest.ts";
import { backtest } from "../../alert/backtest/backtest.ts";
import type { Group } from "../../alert/rules/group.ts";
import type { AlertingRule } from "../../alert/rules/types.ts";
import type { History } from "../../history/history.ts";
import { ApiFailure, badParameter } from "../api/failure.ts";
import { Params } from "../api/params.ts";
import { success } from "../api/result.ts";

export interface BacktestView {
  readonly groups: readonly Group[];
  readonly externalUrl: string;
}

const usualMs = 7 * 86_400_000;
const longestMs = 366 * 86_400_000;
/** A page waits for it: a longer past is walked in longer steps. */
const mostSteps = 12_000;
const shownFirings = 500;

export function addBacktest(
  app: FastifyInstance,
  view: BacktestView | undefined,
  history: History,
  nowMs: () => number,
): void {
  let busy = false;
  app.get("/api/rules/backtest", async (request, reply) => {
    const params = Params.of(request);
    const endMs = params.timeMs("end", nowMs());
    const startMs = params.timeMs("start", endMs - usualMs);
    if (endMs <= startMs || endMs - startMs > longestMs)
      throw badParameter("start", "the range must be longer than nothing and at most a year");
    const { rule, intervalMs } = ruleOf(view?.groups ?? [], params);
    const stepMs = Math.max(intervalMs, Math.ceil((endMs - startMs) / mostSteps / 1_000) * 1_000);
    if (busy)
      throw new ApiFailure("unavailable", "another backtest is running: try again when it is done");
    busy = true;
    const abort = new AbortController();
    reply.raw.once("close", () => abort.abort());
    try {
      const result = await backtest(rule, pastOf(history), {
        startMs,
        endMs,
        stepMs,
        externalLabels: new Map(),
        externalUrl: view?.externalUrl ?? "",
        signal: abort.signal,
      });
      return await reply
        .type("application/json")
        .header("cache-control", "no-store")
        .send(success(JSON.stringify(shown(rule, result))));
    } finally {
      busy = false;
    }
  });
}

function ruleOf(
  groups: readonly Group[],
  params: Params,
): { readonly rule: AlertingRule; readonly intervalMs: number } {
  const [name = "", group = ""] = [params.text("rule"), params.text("group")];
  for (const { definition, runs, intervalMs } of groups)
    for (const { rule } of runs)
      if (
        rule.kind === "alert" &&
        rule.name === name &&
        (group === "" || group === definition.name)
      )
        return { rule, intervalMs };
  throw badParameter("rule", `there is no alert named "${name}" here`);
}

const pastOf = (history: History): Past => ({
  range: async (query, startMs, endMs, stepMs, signal) => {
    const { data } = await history.range(query, startMs, endMs, stepMs, {
      ...(signal === undefined ? {} : { signal }),
    });
    return data.type === "matrix" ? data.series : [];
  },
  ask: async (query, timeMs) => {
    const { data } = await history.instant(query, timeMs);
    if (data.type === "scalar") return [{ labels: new Map(), value: data.value }];
    if (data.type !== "vector") return [];
    return data.samples.map(({ labels, value }) => ({ labels: new Map(labels), value }));
  },
});

function shown(rule: AlertingRule, { startMs, endMs, stepMs, firings, totals }: BacktestResult) {
  const iso = (ms: number): string => new Date(ms).toISOString();
  return {
    rule: rule.name,
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
    firings: firings.slice(0, shownFirings).map((firing) => ({
      labels: Object.fromEntries(firing.labels),
      annotations: firing.annotations,
      start: iso(firing.startMs),
      ...(firing.endMs === undefined ? {} : { end: iso(firing.endMs) }),
      peak: Number.isFinite(firing.peak) ? firing.peak : null,
    })),
  };
}
