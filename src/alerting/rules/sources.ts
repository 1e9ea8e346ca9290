/**
 * Checks whether the inputs of an expression have reported since a start. Only then does a missing result mean that an alert has
 * resolved: before, its agents may not be back. In doubt the result is false.
 */
import { formatError } from "../../base/error.ts";
import { labelKey, type LabelSet, labelValue } from "../../model/labels.ts";
import type { Expr, VectorSelector } from "../../query/ast.ts";
import { parse } from "../../query/parse/parse.ts";
import type { Matcher, SelectedSeries } from "../../model/select.ts";
import type { RuleContext } from "./context.ts";
import type { FiringAlert } from "./firing-store.ts";
import { timerName } from "./output.ts";
import { outageToleranceMs } from "./restore.ts";
import type { AlertingRule, RuleAlert } from "./types.ts";

/** The lookback of a query. */
const lookbackMs = 300_000;

interface Source {
  readonly matchers: readonly Matcher[];
  /** A range function needs two samples. */
  readonly samples: number;
}

export class RuleSources {
  readonly #rule: AlertingRule;
  /** The series of each source at the shutdown. */
  #before: readonly (readonly LabelSet[])[] | "unknown" | undefined;

  constructor(rule: AlertingRule) {
    this.#rule = rule;
  }

  /**
   * For alerts that fired before a restart. Call it before the expression is evaluated, so that the expression sees at least the
   * same data.
   */
  async haveReported(
    alerts: ReadonlyMap<string, FiringAlert>,
    sinceMs: number,
    askedMs: number,
    { history, log }: Pick<RuleContext, "history" | "log">,
  ): Promise<(alert: RuleAlert["labels"]) => boolean> {
    try {
      let firedAtMs = 0;
      for (const alert of alerts.values()) firedAtMs = Math.max(firedAtMs, alert.firedAtMs);
      return await this.#look(sinceMs, askedMs, firedAtMs, history);
    } catch (thrown) {
      log.debug("state of alerts from before the restart not known yet", {
        rule: this.#rule.name,
        error: formatError(thrown),
      });
      return () => false;
    }
  }

  async #look(
    sinceMs: number,
    askedMs: number,
    firedAtMs: number,
    history: RuleContext["history"],
  ): Promise<(alert: RuleAlert["labels"]) => boolean> {
    const sources = sourcesOf(parse(this.#rule.expr));
    if (sources.length === 0) return () => true;
    this.#before ??= await this.#seriesBefore(sources, sinceMs, firedAtMs, history);
    if (this.#before === "unknown") return () => false;
    const waits: ((alert: RuleAlert["labels"]) => boolean)[] = [];
    let anyReported = false;
    for (const [at, { matchers, samples }] of sources.entries()) {
      const found = await history.select(matchers, sinceMs + 1, askedMs);
      const reported = new Set(
        found
          .filter(({ column: { times, stale } }) => times.length >= samples || stale?.at(-1) === 1)
          .map(({ labels }) => labelKey(labels)),
      );
      anyReported ||= reported.size > 0;
      const before = this.#before[at] ?? [];
      const silent = before.filter((labels) => !reported.has(labelKey(labels)));
      if (silent.length === 0) continue;
      const [isOfBefore, isOfSilent] = [fitting(before), fitting(silent)];
      // If the expression changes the labels, an alert cannot be matched to its series: then wait for all of them.
      waits.push((alert) => isOfSilent(alert) || !isOfBefore(alert));
    }
    if (!anyReported) return () => false;
    return (alert) => {
      const own = this.#ownOf(alert);
      return !waits.some((isWaiting) => isWaiting(own));
    };
  }

  /** The alert's labels without those that the rule adds. */
  #ownOf(alert: RuleAlert["labels"]): RuleAlert["labels"] {
    const { labels } = this.#rule;
    return new Map([...alert].filter(([name]) => name !== "alertname" && !(name in labels)));
  }

  async #seriesBefore(
    sources: readonly Source[],
    sinceMs: number,
    firedAtMs: number,
    history: RuleContext["history"],
  ): Promise<readonly (readonly LabelSet[])[] | "unknown"> {
    const timers: readonly Matcher[] = [
      { name: "__name__", op: "=", value: timerName },
      { name: "alertname", op: "=", value: this.#rule.name },
    ];
    const known = await history.select(timers, sinceMs - outageToleranceMs, sinceMs);
    let leftMs = Math.min(firedAtMs, sinceMs);
    for (const { column } of known) leftMs = Math.max(leftMs, column.times.at(-1) ?? leftMs);
    if (leftMs < sinceMs - outageToleranceMs) return "unknown";
    const before: LabelSet[][] = [];
    for (const { matchers } of sources) {
      const found = await history.select(matchers, leftMs - lookbackMs, leftMs);
      before.push(found.filter((series) => !hasEnded(series)).map(({ labels }) => labels));
    }
    return before;
  }
}

const hasEnded = ({ column: { stale } }: SelectedSeries): boolean => stale?.at(-1) === 1;

/**
 * True if any of the series may have produced an alert: every label that both have is equal. Uses an index, since there may be
 * ten thousand series and ten thousand alerts.
 */
function fitting(series: readonly LabelSet[]): (alert: RuleAlert["labels"]) => boolean {
  const shapes = new Map<string, (alert: RuleAlert["labels"]) => boolean>();
  return (alert) => {
    const names = [...alert.keys()];
    const shape = names.join("\u0000");
    let fits = shapes.get(shape);
    if (fits === undefined) shapes.set(shape, (fits = fittingNames(series, names)));
    return fits(alert);
  };
}

function fittingNames(
  series: readonly LabelSet[],
  names: readonly string[],
): (alert: RuleAlert["labels"]) => boolean {
  const shared = new Map<string, { readonly names: readonly string[]; values: Set<string> }>();
  for (const labels of series) {
    const both = names.filter((name) => labelValue(labels, name) !== undefined);
    const key = both.join("\u0000");
    const kept = shared.get(key) ?? { names: both, values: new Set() };
    shared.set(key, kept);
    kept.values.add(both.map((name) => labelValue(labels, name)).join("\u0000"));
  }
  return (alert) =>
    [...shared.values()].some(({ names: both, values }) =>
      values.has(both.map((name) => alert.get(name)).join("\u0000")),
    );
}

function sourcesOf(expr: Expr, samples = 1): Source[] {
  // The inputs of info() may be every stored series, and do not change which samples are returned.
  const of = ({ matchers, mayBeEmpty }: VectorSelector, least: number): Source[] =>
    mayBeEmpty ? [] : [{ matchers, samples: least }];
  switch (expr.kind) {
    case "vector":
      return of(expr, samples);
    case "matrix":
      return of(expr.selector, 2);
    case "subquery":
      return sourcesOf(expr.expr, 2);
    case "call":
      return expr.args.flatMap((one) => sourcesOf(one, samples));
    case "aggregate":
      return [expr.param, expr.expr].flatMap((one) =>
        one === undefined ? [] : sourcesOf(one, samples),
      );
    case "binary":
      return [expr.lhs, expr.rhs].flatMap((one) => sourcesOf(one, samples));
    case "unary":
    case "paren":
      return sourcesOf(expr.expr, samples);
    case "number":
    case "string":
      return [];
  }
}
