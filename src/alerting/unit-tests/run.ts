/**
 * Runs rule tests as promtool does: input series are added step by step, rules are evaluated over them, and firing alerts are
 * compared.
 */
import { formatError } from "../../base/error.ts";
import { silentLog } from "../../base/log.ts";
import { labelKey, type LabelSet } from "../../model/labels.ts";
import { createEngine } from "../../query/engine.ts";
import { printDurationMs } from "../../query/number.ts";
import type { RuleContext } from "../rules/context.ts";
import { checkRuleFile } from "../rules/file.ts";
import { RuleGroupRunner } from "../rules/group.ts";
import type { RuleGroup } from "../rules/types.ts";
import { checkAlerts, checkExpr } from "./compare.ts";
import type { AlertCase, TestFile, TestGroup } from "./file.ts";
import { MemoryHistory } from "./history.ts";
import { readMetric } from "./metric.ts";
import { type InputPoint, readPoints } from "./points.ts";

/** One failed expectation of a test. */
export interface RuleTestFailure {
  /** `alert X at 5m`, `expr … at 5m`, `rule X at 1m`, or `test` if it could not be run. */
  readonly what: string;
  readonly why: string;
  /** Expected and actual lines, if they differ. */
  readonly expected?: readonly string[];
  readonly got?: readonly string[];
}

export interface RuleTestOutcome {
  readonly name: string;
  readonly checks: number;
  readonly failures: readonly RuleTestFailure[];
}

export interface RunTestsOptions {
  /** Runs only tests whose name matches; all if absent. */
  readonly only?: RegExp | undefined;
}

/** @throws GpulseError if the file itself is invalid. */
export async function runTestFile(
  file: TestFile,
  options: RunTestsOptions = {},
): Promise<readonly RuleTestOutcome[]> {
  const rules = await Promise.all(file.ruleFiles.map(checkRuleFile));
  const problems = rules.flatMap((one) => one.problems);
  const groups = rules.flatMap((one) => one.groups);
  const outcomes: RuleTestOutcome[] = [];
  for (const [index, test] of file.tests.entries()) {
    if (options.only !== undefined && !options.only.test(test.name)) continue;
    const name = test.name === "" ? `test ${index + 1}` : test.name;
    const run = new TestRun(file, test, groups);
    if (problems.length > 0)
      outcomes.push({ name, checks: 0, failures: [{ what: "rules", why: problems.join("\n") }] });
    else outcomes.push({ name, ...(await run.run()) });
  }
  return outcomes;
}

interface InputSeries {
  readonly labels: LabelSet;
  readonly points: readonly (InputPoint | undefined)[];
  /** The number of points already in the history. */
  given: number;
}

class TestRun {
  readonly #file: TestFile;
  readonly #test: TestGroup;
  readonly #history: MemoryHistory;
  readonly #groups: readonly RuleGroupRunner[];
  readonly #context: RuleContext;
  readonly #stepMs: number;
  readonly #failures: RuleTestFailure[] = [];
  #input: readonly InputSeries[] = [];
  #checks = 0;

  constructor(file: TestFile, test: TestGroup, definitions: readonly RuleGroup[]) {
    this.#file = file;
    this.#test = test;
    this.#stepMs = file.evaluationIntervalMs;
    // promtool's settings that affect results.
    const engine = createEngine({
      delayedNameRemoval: false,
      defaultSubqueryStepMs: this.#stepMs,
    });
    this.#history = new MemoryHistory(engine);
    this.#context = {
      history: this.#history,
      write: (batch) => this.#history.write(batch),
      send: () => {},
      externalLabels: new Map(Object.entries(test.external_labels)),
      externalUrl: test.external_url,
      resendMs: 60_000,
      queryOffsetMs: 0,
      log: silentLog,
    };
    const order = (name: string): number => Math.max(0, file.groupOrder.indexOf(name));
    this.#groups = definitions
      .map((definition) => new RuleGroupRunner(definition, this.#intervalMs, false))
      .sort((left, right) => order(left.definition.name) - order(right.definition.name));
  }

  get #intervalMs(): number {
    return this.#test.interval || this.#stepMs;
  }

  async run(): Promise<Omit<RuleTestOutcome, "name">> {
    const nameless = this.#test.alert_rule_test.find(({ alertname }) => alertname === "");
    if (nameless !== undefined)
      return this.#stop("test", `an alert_rule_test at ${at(nameless.eval_time)} has no alertname`);
    try {
      this.#input = readInput(this.#test.input_series);
    } catch (thrown) {
      return this.#stop("input_series", formatError(thrown));
    }
    const startMs = this.#test.start_timestamp;
    for (let sinceMs = 0; sinceMs <= this.#lastMs(); sinceMs += this.#stepMs) {
      this.#give(startMs, startMs + sinceMs);
      for (const group of this.#groups) await group.evaluate(startMs + sinceMs, this.#context);
      const broken = this.#groups.flatMap(({ runs }) =>
        runs.filter(({ health }) => health === "err"),
      );
      for (const { rule, lastError } of broken)
        this.#fail({ what: `rule ${rule.name} at ${at(sinceMs)}`, why: lastError });
      // Failures up to here are reported; later ones would only follow from this one.
      if (broken.length > 0) return this.#result();
      this.#checkAlertsUntil(sinceMs);
    }
    for (const one of this.#test.promql_expr_test) {
      this.#checks++;
      const failure = await checkExpr(one, startMs, this.#history, this.#file.fuzzyCompare);
      if (failure !== undefined) this.#fail(failure);
    }
    return this.#result();
  }

  /** Adds the samples up to `untilMs`; later ones are not visible to the evaluation. */
  #give(startMs: number, untilMs: number): void {
    for (const series of this.#input) {
      for (; series.given < series.points.length; series.given++) {
        const timeMs = startMs + series.given * this.#intervalMs;
        if (timeMs > untilMs) break;
        const point = series.points[series.given];
        if (point === undefined) continue;
        const { value, stale, histogram } = point;
        this.#history.append(series.labels, timeMs, value, stale, histogram);
      }
    }
  }

  /** A time between two evaluations uses the result of the earlier one. */
  #checkAlertsUntil(sinceMs: number): void {
    const due = this.#test.alert_rule_test
      .filter(({ eval_time: time }) => time >= sinceMs && time < sinceMs + this.#stepMs)
      .sort((left, right) => left.eval_time - right.eval_time);
    for (const one of due) {
      this.#checks++;
      const failure = checkAlerts(one, this.#firing(one));
      if (failure !== undefined) this.#fail(failure);
    }
  }

  #firing({ alertname }: AlertCase) {
    return this.#groups.flatMap(({ runs }) =>
      runs.flatMap(({ rule, alerting }) =>
        rule.name === alertname
          ? (alerting?.active.filter(({ state }) => state === "firing") ?? [])
          : [],
      ),
    );
  }

  #lastMs(): number {
    const { alert_rule_test: alerts, promql_expr_test: exprs } = this.#test;
    return Math.max(0, ...[...alerts, ...exprs].map(({ eval_time: time }) => time));
  }

  #fail(failure: RuleTestFailure): void {
    this.#failures.push(failure);
  }

  #stop(what: string, why: string): Omit<RuleTestOutcome, "name"> {
    this.#fail({ what, why });
    return this.#result();
  }

  #result(): Omit<RuleTestOutcome, "name"> {
    return { checks: this.#checks, failures: this.#failures };
  }
}

const at = (ms: number): string => printDurationMs(ms);

/** If a series is listed twice, the last values are used. */
function readInput(given: TestGroup["input_series"]): readonly InputSeries[] {
  const out = new Map<string, InputSeries>();
  for (const { series, values } of given) {
    const labels = readMetric(series);
    out.set(labelKey(labels), { labels, points: readPoints(values), given: 0 });
  }
  return [...out.values()];
}
