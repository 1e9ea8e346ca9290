/** For tests of rules: a history in memory, a clock turned by hand, and what was sent. */
import { setImmediate } from "node:timers/promises";
import { type Log, silentLog } from "../../base/log.ts";
import { labelSet } from "../../model/labels.ts";
import type { Clock } from "../../base/clock.ts";
import { FakeClock } from "../../base/fake-clock.ts";
import { createEngine } from "../../query/engine.ts";
import { printLabels } from "../../query/labels.ts";
import { MemoryHistory } from "../unit-tests/history.ts";
import { readMetric } from "../unit-tests/metric.ts";
import type { RuleContext, SentAlert } from "./context.ts";
import { RuleEngine, type RuleSettings } from "./engine.ts";
import { parseRuleFile } from "./file.ts";
import type { FiringStore } from "./firing-store.ts";
import { type RuleGroupRunner, RuleGroupRunner as RuleGroupRun } from "./group.ts";

/** A whole number of minutes. */
export const startMs = 1_700_000_040_000;
export const minute = 60_000;

export class RuleTestHarness {
  readonly clock = new FakeClock(startMs);
  /** How far the wall clock was set, which no timer notices. */
  skewMs = 0;
  readonly sent: SentAlert[] = [];
  readonly said: string[] = [];
  readonly held: SentAlert[] = [];
  /** Where what fires is kept; restarts go on with it. */
  firing: FiringStore | undefined;
  settings: RuleSettings = {
    externalLabels: new Map(),
    externalUrl: "http://hub",
    queryOffsetMs: 0,
    intervalMs: minute,
  };
  readonly history: MemoryHistory;
  engine: RuleEngine;

  constructor(history = new MemoryHistory(createEngine())) {
    this.history = history;
    this.engine = new RuleEngine(this.#surroundings(), this.#wallClock());
  }

  get context(): RuleContext {
    return { ...this.#surroundings(), ...this.settings };
  }

  #wallClock(): Clock {
    return {
      nowMs: () => this.clock.nowMs() + this.skewMs,
      monotonicMs: () => this.clock.monotonicMs(),
      uptimeMs: () => this.clock.uptimeMs(),
      after: (delayMs, call) => this.clock.after(delayMs, call),
    };
  }

  #surroundings() {
    const log: Log = {
      ...silentLog,
      warn: (message, fields) =>
        void this.said.push(`${message}: ${String(fields?.["trouble"] ?? "")}`),
    };
    return {
      history: this.history,
      write: (batch: Parameters<MemoryHistory["write"]>[0]) => this.history.write(batch),
      send: (alerts: readonly SentAlert[]) => void this.sent.push(...alerts),
      firing: this.firing,
      hold: (alerts: readonly SentAlert[]) => void this.held.push(...alerts),
      resendMs: minute,
      log,
    };
  }

  /** `bench.set({ 'up{job="a"}': 1 }, 3)` at minute 3. */
  set(values: Readonly<Record<string, number>>, atMinute: number): void {
    for (const [series, value] of Object.entries(values))
      this.history.append(readMetric(series), startMs + atMinute * minute, value);
  }

  /** One group that is evaluated by hand, as if it had been running for long. */
  async group(yaml: string, restores = false): Promise<RuleGroupRunner> {
    const [definition] = await parseRuleFile(yaml, "rules.yml");
    if (definition === undefined) throw new Error("the file has no group");
    return new RuleGroupRun(definition, minute, restores);
  }

  evaluate(group: RuleGroupRunner, atMinute: number): Promise<void> {
    return group.evaluate(startMs + atMinute * minute, this.context);
  }

  /** Goes over to the rules of this text, as a start and a reload do. */
  async load(yaml: string): Promise<void> {
    await this.engine.update(await parseRuleFile(yaml, "rules.yml"), this.settings);
  }

  /** Lets time pass, and what is due in it run to its end. */
  async pass(ms: number): Promise<void> {
    const stepMs = 5_000;
    for (let passed = 0; passed < ms; passed += stepMs) {
      await this.clock.advance(Math.min(stepMs, ms - passed));
      for (let turn = 0; turn < 5; turn++) await setImmediate();
    }
  }

  /** A program that starts anew on the same history. */
  async restart(): Promise<void> {
    await this.engine.close();
    this.engine = new RuleEngine(this.#surroundings(), this.#wallClock());
  }

  /** What a query gives at a minute: `name{…} value`, in order. */
  async ask(query: string, atMinute: number): Promise<string[]> {
    const { data } = await this.history.instant(query, startMs + atMinute * minute);
    if (data.type !== "vector") throw new Error("not a vector");
    return data.samples.map(({ labels, value }) => `${printLabels(labels)} ${value}`).sort();
  }
}

export const alertsOf = (group: RuleGroupRunner, rule = 0): string[] =>
  (group.runs[rule]?.alerting?.alerts ?? []).map(
    ({ state, labels, value }) =>
      `${state} ${printLabels(labelSet({ ...Object.fromEntries(labels), alertname: undefined }))} ${value}`,
  );
