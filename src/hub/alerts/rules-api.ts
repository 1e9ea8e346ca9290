/** `rules`, `alerts` and `alertmanagers` of the Prometheus API, in its response format. */
import { createHash } from "node:crypto";
import type { FastifyInstance } from "fastify";
import type { RuleGroupRunner, RuleRun } from "../../alerting/rules/group.ts";
import type { RuleAlert } from "../../alerting/rules/types.ts";
import { labelSet } from "../../model/labels.ts";
import { matchAll } from "../../query/matcher.ts";
import { listAnnotations } from "../../query/response.ts";
import { invalidParameter } from "../api/failure.ts";
import { type Params, parseSelectorParam } from "../api/params.ts";
import { addDataRoute } from "../api/result.ts";
import type { AlertSink } from "./sink.ts";

/** What these routes read of alerting; absent on a hub that evaluates no rules. */
export interface RulesView {
  readonly groups: readonly RuleGroupRunner[];
  readonly sink: Pick<AlertSink, "alertmanagers">;
}

export function addRules(app: FastifyInstance, view: RulesView | undefined): void {
  addDataRoute(app, "/api/v1/rules", (params) => listed(view?.groups ?? [], params));
  addDataRoute(app, "/api/v1/alerts", () => ({
    alerts: (view?.groups ?? []).flatMap(({ runs }) =>
      runs.flatMap(({ alerting }) => (alerting?.active ?? []).map(alertJson)),
    ),
  }));
  addDataRoute(app, "/api/v1/alertmanagers", () => {
    const { active = [], dropped = [] } = view?.sink.alertmanagers ?? {};
    return {
      activeAlertmanagers: active.map((url) => ({ url })),
      droppedAlertmanagers: dropped.map((url) => ({ url })),
    };
  });
}

function listed(groups: readonly RuleGroupRunner[], params: Params): unknown {
  const chosen = chosenBy(params);
  const { limit, token } = pageOf(params);
  const withAlerts = !truth(params, "exclude_alerts");
  const out: unknown[] = [];
  let next: string | undefined;
  let found = token === "";
  for (const group of groups) {
    found ||= token === tokenOf(group);
    if (!found || !chosen.group(group)) continue;
    const runs = group.runs.filter(chosen.rule);
    if (runs.length === 0) continue;
    if (limit > 0 && out.length === limit) {
      next = tokenOf(group);
      break;
    }
    out.push(groupJson(group, runs, withAlerts));
  }
  if (!found)
    throw invalidParameter(
      "group_next_token",
      `invalid group_next_token '${token}'. were rule groups changed?`,
    );
  return { groups: out, ...(next === undefined ? {} : { groupNextToken: next }) };
}

function chosenBy(params: Params): {
  readonly group: (group: RuleGroupRunner) => boolean;
  readonly rule: (run: RuleRun) => boolean;
} {
  const type = (params.text("type") ?? "").toLowerCase();
  if (!["", "alert", "record"].includes(type))
    throw invalidParameter("type", `not supported value "${type}"`);
  const set = (name: string): ((value: string) => boolean) => {
    const values = new Set(params.all(name));
    return (value) => values.size === 0 || values.has(value);
  };
  const [name, group, file] = [set("rule_name[]"), set("rule_group[]"), set("file[]")];
  const matches = params
    .all("match[]")
    .map((text) => matchAll(parseSelectorParam("match[]", text)));
  return {
    group: ({ definition }) => group(definition.name) && file(definition.file),
    rule: ({ rule }) =>
      (type === "" || rule.kind === type) &&
      name(rule.name) &&
      (matches.length === 0 || matches.some((matching) => matching(labelSet(rule.labels)))),
  };
}

function pageOf(params: Params): { readonly limit: number; readonly token: string } {
  const token = params.text("group_next_token") ?? "";
  const given = params.text("group_limit") ?? "";
  if (given === "") {
    if (token !== "")
      throw invalidParameter(
        "group_next_token",
        "group_limit needs to be present in order to paginate over the groups",
      );
    return { limit: 0, token };
  }
  if (!/^[-+]?\d{1,9}$/.test(given))
    throw invalidParameter("group_limit", `group_limit needs to be a valid number, not "${given}"`);
  if (Number(given) <= 0)
    throw invalidParameter("group_limit", "group_limit needs to be greater than 0");
  return { limit: Number(given), token };
}

function truth(params: Params, name: string): boolean {
  const given = (params.text(name) ?? "").toLowerCase();
  if (["1", "t", "true"].includes(given)) return true;
  if (["", "0", "f", "false"].includes(given)) return false;
  throw invalidParameter(name, `error converting ${name}: "${given}" is not true or false`);
}

const tokenOf = ({ key }: RuleGroupRunner): string =>
  createHash("sha256").update(key).digest("hex");

function groupJson(group: RuleGroupRunner, runs: readonly RuleRun[], withAlerts: boolean): unknown {
  const { definition, intervalMs, evaluationSeconds, lastEvaluationMs } = group;
  return {
    name: definition.name,
    file: definition.file,
    rules: runs.map((run) => ruleJson(run, withAlerts)),
    interval: intervalMs / 1_000,
    limit: definition.limit,
    evaluationTime: evaluationSeconds,
    lastEvaluation: time(lastEvaluationMs),
  };
}

function ruleJson(run: RuleRun, withAlerts: boolean): unknown {
  const { rule, query, alerting, health, lastError, warnings, infos } = run;
  const { evaluationSeconds, lastEvaluationMs } = run;
  const labels = sorted(rule.labels);
  const outcome = {
    health,
    ...(lastError === "" ? {} : { lastError }),
    ...(warnings.length === 0 ? {} : { warnings: listAnnotations("warning", warnings) }),
    ...(infos.length === 0 ? {} : { infos: listAnnotations("info", infos) }),
    evaluationTime: evaluationSeconds,
    lastEvaluation: time(lastEvaluationMs),
  };
  if (rule.kind === "record")
    return { name: rule.name, query, labels, ...outcome, type: "recording" };
  return {
    state: lastEvaluationMs === undefined ? "unknown" : (alerting?.state ?? "unknown"),
    name: rule.name,
    query,
    duration: rule.forMs / 1_000,
    keepFiringFor: rule.keepFiringForMs / 1_000,
    labels,
    annotations: sorted(rule.annotations),
    alerts: withAlerts ? (alerting?.active ?? []).map(alertJson) : null,
    ...outcome,
    type: "alerting",
  };
}

function alertJson(alert: RuleAlert): unknown {
  const { labels, annotations, state, activeAtMs, keepFiringSinceMs, value } = alert;
  return {
    labels: Object.fromEntries(labels),
    annotations,
    state,
    activeAt: time(activeAtMs),
    ...(keepFiringSinceMs === undefined ? {} : { keepFiringSince: time(keepFiringSinceMs) }),
    value: exponential(value),
  };
}

/** Formats as Go's shortest %e: at least two digits in the exponent. */
function exponential(value: number): string {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "+Inf" : "-Inf";
  const text = Object.is(value, -0) ? "-0e+0" : value.toExponential();
  return text.replace(/e([-+])(\d)$/, "e$10$2");
}

const time = (ms: number | undefined): string =>
  ms === undefined ? "0001-01-01T00:00:00Z" : new Date(ms).toISOString();

const sorted = (labels: Readonly<Record<string, string>>): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(labels).sort(([left], [right]) => (left < right ? -1 : 1)));
