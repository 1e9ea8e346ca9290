/** One group of rules, evaluated in order at one instant. A failing rule does not stop the others. */
import { performance } from "node:perf_hooks";
import { formatError } from "../../base/error.ts";
import { print } from "../../query/format.ts";
import { parse } from "../../query/parse/parse.ts";
import { SharedSelects } from "../../query/shared-selects.ts";
import { AlertingState } from "./alerting.ts";
import type { FiringStore } from "./firing-store.ts";
import type { PostableAlert } from "../alert.ts";
import type { QueryResult, VectorSample } from "../../query/result.ts";
import { type RuleContext, samplesOf } from "./context.ts";
import { AlertOutput, type OutSample, recordedSamples, RuleOutput, timerName } from "./output.ts";
import { restoreTimers } from "./restore.ts";
import type { TemplateContext } from "./texts.ts";
import { RuleSources } from "./sources.ts";
import type { RuleAlert, Rule, RuleGroup, RuleHealth } from "./types.ts";

export interface RuleRun {
  readonly rule: Rule;
  /** The rule's identity with its expression: another expression has other alerts. */
  readonly key: string;
  /** The expression as Prometheus prints it; computed on demand to keep the start fast. */
  readonly query: string;
  readonly alerting: AlertingState | undefined;
  readonly sources: RuleSources | undefined;
  readonly alertOutput: AlertOutput;
  readonly output: RuleOutput;
  health: RuleHealth;
  lastError: string;
  /** Annotations of the last successful evaluation. */
  warnings: readonly string[];
  infos: readonly string[];
  lastEvaluationMs: number | undefined;
  evaluationSeconds: number;
}

export interface EvaluateOptions {
  readonly signal?: AbortSignal | undefined;
  readonly selects?: SharedSelects | undefined;
}

type Evaluation = EvaluateOptions & { readonly selects: SharedSelects };

/** Timers are restored after the second evaluation, since not every target may have reported at the first one after a start. */
const evaluationsBeforeRestore = 2;

export class RuleGroupRunner {
  readonly definition: RuleGroup;
  readonly runs: readonly RuleRun[];
  readonly intervalMs: number;
  lastEvaluationMs: number | undefined;
  evaluationSeconds = 0;
  /** Evaluations skipped because the previous one took too long. */
  missed = 0;
  evaluations = 0;
  failures = 0;
  #untilRestore = evaluationsBeforeRestore;
  /** Since when the group waits for alerts from before a restart. */
  #sinceMs = 0;
  readonly #left = new RuleOutput();

  /** `restores` is false for a group added by a reload, which has nothing to restore. */
  constructor(definition: RuleGroup, defaultIntervalMs: number, restores = true) {
    this.definition = definition;
    this.intervalMs = definition.intervalMs ?? defaultIntervalMs;
    this.runs = definition.rules.map((rule) => ({
      rule,
      key: `${this.key};${identity(rule)};${rule.expr}`,
      get query() {
        return print(parse(rule.expr));
      },
      alerting: rule.kind === "alert" ? new AlertingState(rule) : undefined,
      sources: rule.kind === "alert" ? new RuleSources(rule) : undefined,
      alertOutput: new AlertOutput(),
      output: new RuleOutput(),
      health: "unknown",
      lastError: "",
      warnings: [],
      infos: [],
      lastEvaluationMs: undefined,
      evaluationSeconds: 0,
    }));
    if (!restores) this.skipRestore();
  }

  get key(): string {
    return `${this.definition.file};${this.definition.name}`;
  }

  skipRestore(): void {
    this.#untilRestore = 0;
    for (const { alerting } of this.runs) if (alerting !== undefined) alerting.restored = true;
  }

  /** Starts waiting for the alerts from before a restart; returns them in the router's form. */
  expect(store: FiringStore, sinceMs: number, context: RuleContext): readonly PostableAlert[] {
    this.#sinceMs = sinceMs;
    const untilMs = sinceMs + this.#validMs(context) + 2 * this.intervalMs;
    return this.runs.flatMap(({ key, alerting }) => {
      alerting?.expect(store.of(key));
      return [...(alerting?.before.values() ?? [])].map((alert) => ({
        labels: new Map([...context.externalLabels, ...Object.entries(alert.labels)]),
        annotations: alert.annotations,
        startsAtMs: alert.firedAtMs,
        endsAtMs: untilMs,
        generatorUrl: "",
      }));
    });
  }

  /** Continues the group of the same name: rules with the same name and labels keep their alerts. */
  adopt(other: RuleGroupRunner): void {
    const waiting = new Map<string, RuleRun[]>();
    for (const run of other.runs) {
      const key = identity(run.rule);
      waiting.set(key, [...(waiting.get(key) ?? []), run]);
    }
    this.#untilRestore = other.#untilRestore;
    this.#sinceMs = other.#sinceMs;
    if (this.#untilRestore === 0) this.skipRestore();
    for (const run of this.runs) {
      const from = waiting.get(identity(run.rule))?.shift();
      if (from === undefined) continue;
      run.output.adopt(from.output);
      if (run.alerting !== undefined && from.alerting !== undefined)
        run.alerting.adopt(from.alerting);
    }
    this.#left.adopt(other.#left);
    for (const left of waiting.values()) for (const run of left) this.#left.adopt(run.output);
    this.lastEvaluationMs = other.lastEvaluationMs;
    this.evaluationSeconds = other.evaluationSeconds;
    this.missed = other.missed;
    this.evaluations = other.evaluations;
    this.failures = other.failures;
  }

  /** `selects` is shared with the groups that are evaluated at the same instant. */
  async evaluate(
    timeMs: number,
    context: RuleContext,
    options: EvaluateOptions = {},
  ): Promise<void> {
    const began = performance.now();
    const { signal, selects = new SharedSelects() } = options;
    for (const run of this.runs) {
      if (signal?.aborted === true) return;
      await this.#evaluateRule(run, timeMs, context, { signal, selects });
    }
    if (await this.#endLeft(this.#askedMs(timeMs, context), context)) selects.clear();
    this.lastEvaluationMs = timeMs;
    this.evaluationSeconds = (performance.now() - began) / 1_000;
    if (this.#untilRestore > 0 && --this.#untilRestore === 0) {
      const states = this.runs.flatMap(({ alerting }) => alerting ?? []);
      await restoreTimers(states, timeMs, context);
    }
  }

  /** The group was removed: its series get staleness markers. */
  async end(timeMs: number, context: RuleContext): Promise<void> {
    for (const { output } of this.runs) this.#left.adopt(output);
    await this.#endLeft(this.#askedMs(timeMs, context), context);
  }

  /** Runs after the rules, since one rule may continue a series of another. */
  async #endLeft(timeMs: number, context: RuleContext): Promise<boolean> {
    const batch = this.#left.end(timeMs);
    if (batch.sampleCount === 0) return false;
    try {
      await context.write(batch);
    } catch (thrown) {
      context.log.warn("staleness markers of removed rules not written", {
        group: this.definition.name,
        error: formatError(thrown),
      });
    }
    return true;
  }

  #askedMs(timeMs: number, { queryOffsetMs }: RuleContext): number {
    return timeMs - (this.definition.queryOffsetMs ?? queryOffsetMs);
  }

  async #evaluateRule(
    run: RuleRun,
    timeMs: number,
    context: RuleContext,
    options: Evaluation,
  ): Promise<void> {
    const began = performance.now();
    this.evaluations++;
    try {
      await this.#run(run, timeMs, context, options);
      run.health = "ok";
      run.lastError = "";
    } catch (thrown) {
      if (options.signal?.aborted === true) return;
      this.failures++;
      const message = formatError(thrown);
      if (run.lastError !== message)
        context.log.warn("rule evaluation failed", {
          group: this.definition.name,
          rule: run.rule.name,
          error: message,
        });
      run.health = "err";
      run.lastError = message;
    }
    run.lastEvaluationMs = timeMs;
    run.evaluationSeconds = (performance.now() - began) / 1_000;
  }

  async #run(
    run: RuleRun,
    timeMs: number,
    context: RuleContext,
    options: Evaluation,
  ): Promise<void> {
    const askedMs = this.#askedMs(timeMs, context);
    const hasReported = await this.#hasReported(run, timeMs, context);
    const { history } = context;
    // Shared selections may be older than the reports just checked, so they are not used here.
    const asking = hasReported === undefined ? options : { signal: options.signal };
    const result = await history.instant(run.rule.expr, askedMs, asking);
    this.#annotate(run, result, context);
    const out = await this.#outcome(run, samplesOf(result), timeMs, context, hasReported);
    const firing = run.alerting?.firing ?? noAlerts;
    context.firing?.began(run.key, firing);
    this.#send(run, timeMs, context);
    context.firing?.ended(run.key, [firing, run.alerting?.before ?? noAlerts]);
    const { samples, ends, commit: kept } = run.output.batches(out, askedMs);
    const refused = samples.sampleCount === 0 ? 0 : (await context.write(samples)).refusedConflicts;
    if (ends.sampleCount > 0) await context.write(ends);
    if (samples.sampleCount + ends.sampleCount > 0)
      for (const name of writtenBy(run.rule)) options.selects.forget(name);
    kept();
    if (refused > 0)
      throw new Error("duplicate sample for timestamp: another rule gives the same series");
  }

  /** Keeps the annotations of this evaluation, and logs warnings when they change. */
  #annotate(run: RuleRun, { warnings, infos }: QueryResult, { log }: RuleContext): void {
    if (warnings.length > 0 && warnings.join("\n") !== run.warnings.join("\n"))
      log.warn("rule evaluation has warnings", {
        group: this.definition.name,
        rule: run.rule.name,
        warnings: warnings.join("; ").slice(0, 1_000),
      });
    run.warnings = warnings;
    run.infos = infos;
  }

  async #outcome(
    run: RuleRun,
    samples: readonly VectorSample[],
    timeMs: number,
    context: RuleContext,
    hasReported: ((alert: RuleAlert["labels"]) => boolean) | undefined,
  ): Promise<OutSample[]> {
    const { rule, alerting, alertOutput } = run;
    const { limit } = this.definition;
    if (rule.kind === "record") return recordedSamples(rule, samples, limit);
    if (alerting === undefined) throw new Error("BUG: an alerting rule without a state");
    const { externalLabels, externalUrl, history } = context;
    const ask: TemplateContext["ask"] = async (query) =>
      samplesOf(await history.instant(query, timeMs)).map(({ labels, value }) => ({
        labels: new Map(labels),
        value,
      }));
    const texts = { externalLabels, externalUrl, ask };
    await alerting.evaluate(samples, timeMs, limit, texts, hasReported);
    if (this.#waitedMs(timeMs) >= this.#validMs(context)) alerting.expect(noAlerts);
    return alertOutput.samples(alerting);
  }

  /** For alerts from before a restart; undefined if there are none. Without any report they resolve after a timeout. */
  async #hasReported(
    { alerting, sources }: RuleRun,
    timeMs: number,
    context: RuleContext,
  ): Promise<((alert: RuleAlert["labels"]) => boolean) | undefined> {
    const before = alerting?.before;
    if (before === undefined || sources === undefined || before.size === 0) return undefined;
    if (this.#waitedMs(timeMs) >= this.#validMs(context)) return () => true;
    return sources.haveReported(before, this.#sinceMs, this.#askedMs(timeMs, context), context);
  }

  /** The time since waiting for alerts from before a restart began; a clock set back restarts it. */
  #waitedMs(timeMs: number): number {
    this.#sinceMs = Math.min(this.#sinceMs, timeMs);
    return timeMs - this.#sinceMs;
  }

  /** How long a sent alert stays valid without another send. */
  #validMs({ resendMs }: RuleContext): number {
    return 4 * Math.max(this.intervalMs, resendMs);
  }

  #send(run: RuleRun, timeMs: number, context: RuleContext): void {
    const due = run.alerting?.toSend(timeMs, context.resendMs) ?? [];
    if (due.length === 0) return;
    const validMs = this.#validMs(context);
    const expr = encodeURIComponent(run.query).replaceAll("%20", "+");
    const url = `${context.externalUrl}/graph?g0.expr=${expr}&g0.tab=1`;
    context.send(due.map((alert) => sentAlert(alert, context, timeMs + validMs, url)));
  }
}

function sentAlert(
  alert: RuleAlert,
  { externalLabels }: RuleContext,
  validUntilMs: number,
  generatorUrl: string,
): PostableAlert {
  return {
    labels: new Map([...externalLabels, ...alert.labels]),
    annotations: alert.annotations,
    startsAtMs: alert.firedAtMs ?? alert.activeAtMs,
    endsAtMs: alert.resolvedAtMs ?? validUntilMs,
    generatorUrl,
  };
}

const noAlerts: ReadonlyMap<string, never> = new Map<string, never>();

const writtenBy = ({ kind, name }: Rule): readonly string[] =>
  kind === "record" ? [name] : ["ALERTS", timerName];

const identity = ({ kind, name, labels }: Rule): string =>
  JSON.stringify([
    kind,
    name,
    Object.entries(labels).sort(([left], [right]) => (left < right ? -1 : 1)),
  ]);
