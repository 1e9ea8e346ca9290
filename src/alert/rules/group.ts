/** One group of rules, evaluated in order at one instant. A rule that fails says so and does not stop the others. */
import { performance } from "node:perf_hooks";
import { sayError } from "../../errors/error.ts";
import type { AskQuery } from "../../template/alert.ts";
import { AlertingState } from "./alerting.ts";
import type { RuleContext, SentAlert } from "./context.ts";
import { samplesOf } from "./context.ts";
import { alertSamples, recordedSamples, RuleOutput } from "./output.ts";
import type { OutSample } from "./output.ts";
import { restoreTimers } from "./restore.ts";
import type { Alert, Rule, RuleGroup, RuleHealth } from "./types.ts";

export interface RuleRun {
  readonly rule: Rule;
  readonly alerting: AlertingState | undefined;
  readonly output: RuleOutput;
  health: RuleHealth;
  lastError: string;
  lastEvaluationMs: number | undefined;
  evaluationSeconds: number;
}

export class Group {
  readonly definition: RuleGroup;
  readonly runs: readonly RuleRun[];
  readonly intervalMs: number;
  lastEvaluationMs: number | undefined;
  evaluationSeconds = 0;
  missed = 0;
  #restored = false;

  constructor(definition: RuleGroup, defaultIntervalMs: number) {
    this.definition = definition;
    this.intervalMs = definition.intervalMs ?? defaultIntervalMs;
    this.runs = definition.rules.map((rule) => ({
      rule,
      alerting: rule.kind === "alert" ? new AlertingState(rule) : undefined,
      output: new RuleOutput(),
      health: "unknown",
      lastError: "",
      lastEvaluationMs: undefined,
      evaluationSeconds: 0,
    }));
  }

  get key(): string {
    return `${this.definition.file};${this.definition.name}`;
  }

  /** Where in its interval the group is evaluated: spread, and the same after every restart. */
  offsetMs(): number {
    let hash = 0x811c_9dc5;
    for (const byte of Buffer.from(this.key)) hash = Math.imul(hash ^ byte, 0x0100_0193) >>> 0;
    return hash % this.intervalMs;
  }

  /** Goes on where the group of the same name was: rules with the same name and labels keep their alerts. */
  adopt(other: Group): void {
    const waiting = new Map<string, RuleRun[]>();
    for (const run of other.runs) {
      const key = identity(run.rule);
      waiting.set(key, [...(waiting.get(key) ?? []), run]);
    }
    for (const run of this.runs) {
      const from = waiting.get(identity(run.rule))?.shift();
      if (from === undefined) continue;
      run.output.adopt(from.output);
      if (run.alerting !== undefined && from.alerting !== undefined)
        run.alerting.adopt(from.alerting);
    }
    this.#restored = other.#restored;
    // What no rule of the new group goes on with ends at its first evaluation, by the first rule's output.
    const [first] = this.runs;
    for (const left of waiting.values()) for (const run of left) first?.output.adopt(run.output);
  }

  async evaluate(timeMs: number, context: RuleContext, signal?: AbortSignal): Promise<void> {
    const began = performance.now();
    for (const run of this.runs) {
      if (signal?.aborted === true) return;
      await this.#evaluateRule(run, timeMs, context, signal);
    }
    if (!this.#restored) {
      await restoreTimers(this.runs, timeMs, context);
      this.#restored = true;
    }
    this.lastEvaluationMs = timeMs;
    this.evaluationSeconds = (performance.now() - began) / 1_000;
  }

  /** The group is no more: its series end. */
  async end(timeMs: number, context: RuleContext): Promise<void> {
    for (const { output } of this.runs) {
      const batch = output.end(timeMs);
      if (batch.sampleCount > 0) await context.write(batch);
    }
  }

  async #evaluateRule(
    run: RuleRun,
    timeMs: number,
    context: RuleContext,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const began = performance.now();
    const askedMs = timeMs - this.definition.queryOffsetMs;
    try {
      const result = await context.history.instant(
        run.rule.expr,
        askedMs,
        signal === undefined ? {} : { signal },
      );
      const out = await this.#outcome(run, samplesOf(result), timeMs, askedMs, context);
      const batch = run.output.batch(out, askedMs);
      if (batch.sampleCount > 0) await context.write(batch);
      run.health = "ok";
      run.lastError = "";
    } catch (thrown) {
      if (signal?.aborted === true) return;
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
    this.#send(run, timeMs, context);
  }

  async #outcome(
    run: RuleRun,
    samples: ReturnType<typeof samplesOf>,
    timeMs: number,
    askedMs: number,
    context: RuleContext,
  ): Promise<OutSample[]> {
    const { rule, alerting } = run;
    const { limit } = this.definition;
    if (rule.kind === "record") return recordedSamples(rule, samples, limit);
    if (alerting === undefined) throw new Error("BUG: an alerting rule without a state");
    const { externalLabels, externalUrl } = context;
    const ask: AskQuery = async (query) =>
      samplesOf(await context.history.instant(query, askedMs)).map(({ labels, value }) => ({
        labels: new Map(labels),
        value,
      }));
    await alerting.evaluate(samples, timeMs, limit, { externalLabels, externalUrl, ask });
    return alertSamples(alerting);
  }

  #send(run: RuleRun, timeMs: number, context: RuleContext): void {
    if (run.alerting === undefined) return;
    const due = run.alerting.toSend(timeMs, context.resendMs);
    if (due.length === 0) return;
    const validMs = 4 * Math.max(this.intervalMs, context.resendMs);
    const url = `${context.externalUrl}/graph?g0.expr=${encodeURIComponent(run.rule.expr)}&g0.tab=1`;
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

const identity = ({ kind, name, labels }: Rule): string =>
  JSON.stringify([
    kind,
    name,
    Object.entries(labels).sort(([left], [right]) => (left < right ? -1 : 1)),
  ]);
