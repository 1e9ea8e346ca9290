/** One group of rules, evaluated in order at one instant. A rule that fails says so and does not stop the others. */
import { performance } from "node:perf_hooks";
import { sayError } from "../../errors/error.ts";
import { print } from "../../query/format.ts";
import { parse } from "../../query/parse/parse.ts";
import type { VectorSample } from "../../query/result.ts";
import { SharedSelects } from "../../query/shared-selects.ts";
import { AlertingState } from "./alerting.ts";
import type { RuleContext, SentAlert } from "./context.ts";
import { samplesOf } from "./context.ts";
import { AlertOutput, recordedSamples, RuleOutput, timerName } from "./output.ts";
import type { OutSample } from "./output.ts";
import { restoreTimers } from "./restore.ts";
import type { Alert, Rule, RuleGroup, RuleHealth } from "./types.ts";

export interface RuleRun {
  readonly rule: Rule;
  /** The expression as Prometheus prints it; made when it is asked for, which a start does not. */
  readonly query: string;
  readonly alerting: AlertingState | undefined;
  readonly alertOutput: AlertOutput;
  readonly output: RuleOutput;
  health: RuleHealth;
  lastError: string;
  lastEvaluationMs: number | undefined;
  evaluationSeconds: number;
}

export interface EvaluateOptions {
  readonly signal?: AbortSignal | undefined;
  readonly selects?: SharedSelects | undefined;
}

type Evaluation = EvaluateOptions & { readonly selects: SharedSelects };

/** At the first evaluation after a start, not every target may have told yet: timers are restored after the second. */
const evaluationsBeforeRestore = 2;

export class Group {
  readonly definition: RuleGroup;
  readonly runs: readonly RuleRun[];
  readonly intervalMs: number;
  lastEvaluationMs: number | undefined;
  evaluationSeconds = 0;
  /** Evaluations that were left out because the one before took too long. */
  missed = 0;
  evaluations = 0;
  failures = 0;
  #untilRestore = evaluationsBeforeRestore;
  readonly #left = new RuleOutput();

  /** A group that came with a reload has nothing to restore. */
  constructor(definition: RuleGroup, defaultIntervalMs: number, restores = true) {
    this.definition = definition;
    this.intervalMs = definition.intervalMs ?? defaultIntervalMs;
    this.runs = definition.rules.map((rule) => ({
      rule,
      get query() {
        return print(parse(rule.expr));
      },
      alerting: rule.kind === "alert" ? new AlertingState(rule) : undefined,
      alertOutput: new AlertOutput(),
      output: new RuleOutput(),
      health: "unknown",
      lastError: "",
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

  /** Goes on where the group of the same name was: rules with the same name and labels keep their alerts. */
  adopt(other: Group): void {
    const waiting = new Map<string, RuleRun[]>();
    for (const run of other.runs) {
      const key = identity(run.rule);
      waiting.set(key, [...(waiting.get(key) ?? []), run]);
    }
    this.#untilRestore = other.#untilRestore;
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

  /** The group is no more: its series end. */
  async end(timeMs: number, context: RuleContext): Promise<void> {
    for (const { output } of this.runs) this.#left.adopt(output);
    await this.#endLeft(this.#askedMs(timeMs, context), context);
  }

  /** After the rules, since one of them may give what another one gave before. */
  async #endLeft(timeMs: number, context: RuleContext): Promise<boolean> {
    const batch = this.#left.end(timeMs);
    if (batch.sampleCount === 0) return false;
    try {
      await context.write(batch);
    } catch (thrown) {
      context.log.warn("series of rules that are no more could not be ended", {
        group: this.definition.name,
        trouble: sayError(thrown),
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
      const said = sayError(thrown);
      if (run.lastError !== said)
        context.log.warn("a rule could not be evaluated", {
          group: this.definition.name,
          rule: run.rule.name,
          trouble: said,
        });
      run.health = "err";
      run.lastError = said;
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
    const result = await context.history.instant(run.rule.expr, askedMs, options);
    const out = await this.#outcome(run, samplesOf(result), timeMs, context);
    this.#send(run, timeMs, context);
    const { samples, ends, kept } = run.output.batches(out, askedMs);
    const refused = samples.sampleCount === 0 ? 0 : (await context.write(samples)).refusedConflicts;
    if (ends.sampleCount > 0) await context.write(ends);
    if (samples.sampleCount + ends.sampleCount > 0)
      for (const name of writtenBy(run.rule)) options.selects.forget(name);
    kept();
    if (refused > 0)
      throw new Error("duplicate sample for timestamp: another rule gives the same series");
  }

  async #outcome(
    run: RuleRun,
    samples: readonly VectorSample[],
    timeMs: number,
    context: RuleContext,
  ): Promise<OutSample[]> {
    const { rule, alerting, alertOutput } = run;
    const { limit } = this.definition;
    if (rule.kind === "record") return recordedSamples(rule, samples, limit);
    if (alerting === undefined) throw new Error("BUG: an alerting rule without a state");
    const { externalLabels, externalUrl, history } = context;
    await alerting.evaluate(samples, timeMs, limit, {
      externalLabels,
      externalUrl,
      ask: async (query) =>
        samplesOf(await history.instant(query, timeMs)).map(({ labels, value }) => ({
          labels: new Map(labels),
          value,
        })),
    });
    return alertOutput.samples(alerting);
  }

  #send({ alerting, query }: RuleRun, timeMs: number, context: RuleContext): void {
    const due = alerting?.toSend(timeMs, context.resendMs) ?? [];
    if (due.length === 0) return;
    const validMs = 4 * Math.max(this.intervalMs, context.resendMs);
    const expr = encodeURIComponent(query).replaceAll("%20", "+");
    const url = `${context.externalUrl}/graph?g0.expr=${expr}&g0.tab=1`;
    context.send(due.map((alert) => sentAlert(alert, context, timeMs + validMs, url)));
  }
}

function sentAlert(
  alert: Alert,
  { externalLabels }: RuleContext,
  validUntilMs: number,
  generatorUrl: string,
): SentAlert {
  return {
    labels: new Map([...externalLabels, ...alert.labels]),
    annotations: alert.annotations,
    startsAtMs: alert.firedAtMs ?? alert.activeAtMs,
    endsAtMs: alert.resolvedAtMs ?? validUntilMs,
    generatorUrl,
  };
}

const writtenBy = ({ kind, name }: Rule): readonly string[] =>
  kind === "record" ? [name] : ["ALERTS", timerName];

const identity = ({ kind, name, labels }: Rule): string =>
  JSON.stringify([
    kind,
    name,
    Object.entries(labels).sort(([left], [right]) => (left < right ? -1 : 1)),
  ]);
