/**
 * Alerting in the hub: evaluates rules over its history and sends firing alerts to the hub's router or to external
 * Alertmanagers. A reload keeps the state of every alert; an invalid file changes nothing and is reported.
 */
import { pause } from "../../base/retry.ts";
import type { PostableAlert } from "../../alerting/alert.ts";
import { RuleEngine, type RuleSettings } from "../../alerting/rules/engine.ts";
import type { RuleGroupRunner } from "../../alerting/rules/group.ts";
import type { RuleGroup } from "../../alerting/rules/types.ts";
import { formatError } from "../../base/error.ts";
import type { History, SampleWriter } from "../../storage/history.ts";
import type { Log } from "../../base/log.ts";
import { labelSet } from "../../model/labels.ts";
import type { Clock } from "../../base/clock.ts";
import { relabel } from "../../formats/relabel/relabel.ts";
import type { RelabelRule } from "../../formats/relabel/rule.ts";
import { collectGarbage, growToMedium } from "../../base/heap.ts";
import { collectRules } from "./self-metrics.ts";
import type { CollectMetrics } from "../../model/self-frames.ts";
import type { AlertSink } from "./sink.ts";

/** All rule settings of the files, read together. */
export interface RulePlan {
  readonly groups: readonly RuleGroup[];
  readonly settings: RuleSettings;
  /** `alerting.alert_relabel_configs`. */
  readonly alertRelabelRules: readonly RelabelRule[];
}

export interface AlertingOptions {
  readonly history: Pick<History, "instant" | "select">;
  readonly writer: SampleWriter;
  readonly sink: AlertSink;
  /** Reads the files. @throws GpulseError if one is invalid. */
  readonly plan: () => Promise<RulePlan>;
  readonly clock: Clock;
  readonly log: Log;
}

/** How often a firing alert is sent again, as in Prometheus. */
const resendMs = 60_000;
/** From this number on, evaluation dominates the hub's work. */
const manyRules = 500;
/** Delay that lets the start finish first. */
const beginAfterMs = 250;

export class AlertingEngine {
  readonly #options: AlertingOptions;
  readonly #engine: RuleEngine;
  #relabelRules: readonly RelabelRule[] = [];
  #externalUrl = "";
  #isFull = false;
  #closed = false;
  #beginning: Promise<void> = Promise.resolve();
  #loaded: { readonly ok: boolean; readonly timeMs: number };

  private constructor(options: AlertingOptions) {
    this.#options = options;
    const { history, writer, clock, log } = options;
    this.#loaded = { ok: true, timeMs: clock.nowMs() };
    this.#engine = new RuleEngine(
      {
        history,
        write: (batch) => writer.write(batch),
        send: (alerts) => this.#send(alerts),
        firing: options.sink.routing?.firing,
        hold: (alerts) => options.sink.routing?.router.hold(this.#relabelled(alerts)),
        resendMs,
        log,
      },
      clock,
    );
  }

  /**
   * With a plan, evaluation starts at once. Without one it starts shortly after the hub: without user files nothing can be
   * invalid, and reading the default rules takes 0.2 s.
   */
  static async open(
    options: AlertingOptions,
    first: RulePlan | undefined,
  ): Promise<AlertingEngine> {
    const alerting = new AlertingEngine(options);
    if (first === undefined) alerting.#beginning = alerting.#begin();
    else await alerting.#use(first);
    return alerting;
  }

  get groups(): readonly RuleGroupRunner[] {
    return this.#engine.groups;
  }

  get sink(): AlertSink {
    return this.#options.sink;
  }

  get externalUrl(): string {
    return this.#externalUrl;
  }

  /** Result of the last attempt to read the files. */
  get loaded(): { readonly ok: boolean; readonly timeMs: number } {
    return this.#loaded;
  }

  /** @throws GpulseError if a file is invalid; the previous configuration stays in use. */
  async reload(): Promise<void> {
    const { plan, sink, clock, log } = this.#options;
    await this.#beginning;
    try {
      const next = await plan();
      await sink.reload();
      await this.#use(next);
      this.#loaded = { ok: true, timeMs: clock.nowMs() };
      log.info("rules reloaded", {
        groups: next.groups.length,
        rules: next.groups.reduce((sum, { rules }) => sum + rules.length, 0),
      });
    } catch (thrown) {
      this.#loaded = { ok: false, timeMs: this.#loaded.timeMs };
      log.error("rules reload failed: the previous rules and routing stay active", {
        error: formatError(thrown),
      });
      throw thrown;
    }
  }

  readonly selfMetrics: CollectMetrics = (put) => collectRules(put, this.groups, this.#loaded);

  async close(): Promise<void> {
    this.#closed = true;
    await this.#beginning;
    await this.#engine.close();
    await this.#options.sink.close();
  }

  async #begin(): Promise<void> {
    const { plan, log } = this.#options;
    await pause(beginAfterMs);
    if (this.#closed) return;
    try {
      await this.#use(await plan());
    } catch (thrown) {
      this.#loaded = { ok: false, timeMs: this.#loaded.timeMs };
      log.error("loading the default rules failed", { error: formatError(thrown) });
    }
  }

  async #use(plan: RulePlan): Promise<void> {
    this.#relabelRules = plan.alertRelabelRules;
    this.#externalUrl = plan.settings.externalUrl;
    const rules = plan.groups.reduce((sum, group) => sum + group.rules.length, 0);
    await this.#engine.update(plan.groups, plan.settings);
    if (rules <= manyRules) return;
    // Reading 2,000 rules leaves 150 MiB of garbage that V8 would not collect by itself.
    setImmediate(() => {
      collectGarbage();
      growToMedium();
    });
  }

  #relabelled(alerts: readonly PostableAlert[]): readonly PostableAlert[] {
    const rules = this.#relabelRules;
    return rules.length === 0 ? alerts : alerts.flatMap((alert) => relabelled(alert, rules));
  }

  #send(alerts: readonly PostableAlert[]): void {
    const relabelledAlerts = this.#relabelled(alerts);
    if (relabelledAlerts.length === 0) return;
    const refused = this.#options.sink.put(relabelledAlerts);
    if (refused > 0 && !this.#isFull)
      this.#options.log.error("too many alerts: some are dropped", { refused });
    this.#isFull = refused > 0;
  }
}

function relabelled(alert: PostableAlert, rules: readonly RelabelRule[]): PostableAlert[] {
  const labels = relabel(labelSet(Object.fromEntries(alert.labels)), rules);
  return labels === undefined || labels.length === 0 ? [] : [{ ...alert, labels: new Map(labels) }];
}
