// Rule files and their tests have the same result in gpulse as in a real promtool: ours, and adversarial ones.

import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { Writable } from "node:stream";
import { fileURLToPath } from "node:url";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { toolOrSkip } from "../../engines/tools.ts";
import { runRulesCheck } from "../../src/cli/rules/check.ts";
import { runRulesTest } from "../../src/cli/rules/test.ts";

const folder = fileURLToPath(new URL("./rules", import.meta.url));
const pack = fileURLToPath(new URL("../../deploy/prometheus/rules", import.meta.url));
const filesIn = (dir: string, ending: string): string[] =>
  readdirSync(dir)
    .filter((name) => name.endsWith(ending))
    .map((name) => path.join(dir, name));

interface Ended {
  readonly code: number;
  readonly output: string;
}

function run(program: string, args: readonly string[]): Promise<Ended> {
  return new Promise((resolve) => {
    execFile(program, args, { timeout: 60_000 }, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === "number" ? error.code : -1;
      resolve({ code, output: stdout + stderr });
    });
  });
}

/** Runs in this process, because a hundred process starts would take most of the test's time. */
async function gpulse(kind: "check" | "test", file: string): Promise<Ended> {
  let output = "";
  const stream = new Writable({
    write(chunk, _encoding, done) {
      output += String(chunk);
      done();
    },
  });
  const io = { env: {}, stdout: stream, stderr: stream, version: "test", stopped: noStop };
  const work = kind === "check" ? runRulesCheck([file], {}, io) : runRulesTest([file], {}, io);
  return { code: await work, output };
}

const noStop = (): Promise<string> => new Promise(() => {});

let temporary: string;
beforeAll(() => {
  temporary = mkdtempSync(path.join(tmpdir(), "gpulse-rules-"));
});
afterAll(() => rmSync(temporary, { recursive: true, force: true }));

/** Runs both programs on one file; their output is shown if they differ. */
async function outcomes(
  promtool: string,
  kind: "check" | "test",
  file: string,
): Promise<{ readonly promtool: string; readonly gpulse: string; readonly said: string }> {
  const [theirs, ours] = await Promise.all([
    run(promtool, [kind, "rules", file]),
    gpulse(kind, file),
  ]);
  const word = ({ code }: Ended): string => (code === 0 ? "passes" : "fails");
  return { promtool: word(theirs), gpulse: word(ours), said: `${theirs.output}\n${ours.output}` };
}

describe("tests of rules", () => {
  const packTests = ["tests", "stack/tests"].flatMap((dir) =>
    filesIn(path.join(pack, dir), ".yml"),
  );
  test.for(
    [...filesIn(folder, ".test.yml"), ...packTests].map(
      (file) => [path.basename(file), file] as const,
    ),
  )(
    "%s has the outcome it has with promtool",
    { timeout: 60_000 },
    async ([name, file], context) => {
      const promtool = toolOrSkip(context, "promtool");
      const found = await outcomes(promtool, "test", file);
      const want = name.startsWith("wrong") ? "fails" : "passes";
      expect(found, found.said).toMatchObject({ promtool: want, gpulse: want });
    },
  );

  const rules =
    "groups: [{ name: g, rules: [{ alert: A, expr: 'n > 5' }, { record: r, expr: n }] }]";
  const one = (more: string): string =>
    `rule_files: [rules.yml]\nevaluation_interval: 1m\ntests:\n  - interval: 1m\n    input_series: [{ series: 'n{a="b"}', values: '0+1x20' }]\n    ${more}`;
  const fires = "exp_alerts: [{ exp_labels: { a: b } }]";
  test.for([
    [
      "passes",
      "an alert that fires",
      one(`alert_rule_test: [{ eval_time: 6m, alertname: A, ${fires} }]`),
    ],
    [
      "fails",
      "an alert that does not fire yet",
      one(`alert_rule_test: [{ eval_time: 5m, alertname: A, ${fires} }]`),
    ],
    ["fails", "one alert too many", one("alert_rule_test: [{ eval_time: 6m, alertname: A }]")],
    [
      "fails",
      "a label too few",
      one("alert_rule_test: [{ eval_time: 6m, alertname: A, exp_alerts: [{}] }]"),
    ],
    [
      "fails",
      "an empty label",
      one(
        "alert_rule_test: [{ eval_time: 6m, alertname: A, exp_alerts: [{ exp_labels: { a: b, c: '' } }] }]",
      ),
    ],
    [
      "fails",
      "an annotation that is not there",
      one(
        "alert_rule_test: [{ eval_time: 6m, alertname: A, exp_alerts: [{ exp_labels: { a: b }, exp_annotations: { x: y } }] }]",
      ),
    ],
    [
      "fails",
      "the same alert twice",
      one(
        "alert_rule_test: [{ eval_time: 6m, alertname: A, exp_alerts: [{ exp_labels: { a: b } }, { exp_labels: { a: b } }] }]",
      ),
    ],
    [
      "passes",
      "a name of its own among the labels",
      one(
        "alert_rule_test: [{ eval_time: 6m, alertname: A, exp_alerts: [{ exp_labels: { a: b, alertname: other } }] }]",
      ),
    ],
    ["fails", "a test without alertname", one(`alert_rule_test: [{ eval_time: 6m, ${fires} }]`)],
    [
      "fails",
      "NaN, which equals nothing",
      one(
        "promql_expr_test: [{ expr: 'n * NaN', eval_time: 1m, exp_samples: [{ labels: '{a=\"b\"}', value: .nan }] }]",
      ),
    ],
    [
      "fails",
      "a value that is off by little",
      one(
        "promql_expr_test: [{ expr: n, eval_time: 1m, exp_samples: [{ labels: 'n{a=\"b\"}', value: 1.0000000000000002 }] }]",
      ),
    ],
    [
      "fails",
      "a name too many",
      one(
        "promql_expr_test: [{ expr: 'n * 1', eval_time: 1m, exp_samples: [{ labels: 'n{a=\"b\"}', value: 1 }] }]",
      ),
    ],
    [
      "fails",
      "an expression that is none",
      one("promql_expr_test: [{ expr: 'n +', eval_time: 1m }]"),
    ],
    [
      "fails",
      "an expression that is a range",
      one("promql_expr_test: [{ expr: 'n[1m]', eval_time: 1m }]"),
    ],
    [
      "fails",
      "labels that are none",
      one(
        "promql_expr_test: [{ expr: n, eval_time: 1m, exp_samples: [{ labels: 'n{a=}', value: 1 }] }]",
      ),
    ],
    ["passes", "a test without anything to test", one("name: nothing")],
    ["passes", "a file without tests", "rule_files: [rules.yml]"],
    ["passes", "rule files that no file fits", "rule_files: [nowhere.yml]\ntests: []"],
    ["fails", "a key that is none", one("alert_rule_tests: []")],
    ["fails", "a duration that is none", one("alert_rule_test: [{ eval_time: 5, alertname: A }]")],
    ["fails", "a group named twice in the order", `group_eval_order: [g, g]\n${one("name: x")}`],
    ["fails", "no YAML", "tests: ["],
    ...[
      "1 2 x",
      "1+2",
      "1x",
      "1+x3",
      "stalex2",
      "0x1g",
      "1 - 2x3",
      "1,2",
      "--1",
      "_x",
      "1+2x-1",
      "e5",
      "1e",
    ].map(
      (values) =>
        [
          "fails",
          `the values "${values}"`,
          `tests: [{ interval: 1m, input_series: [{ series: n, values: '${values}' }] }]`,
        ] as const,
    ),
    ...["1e2", "+1", "-1x3", "0x3", "1.", ".5x2", "_x3 1", "1\t2", "stale", "1e+2-3x2"].map(
      (values) =>
        [
          "passes",
          `the values "${values}"`,
          `tests: [{ interval: 1m, input_series: [{ series: n, values: "${values}" }], promql_expr_test: [{ expr: 'absent(m)', eval_time: 1m, exp_samples: [{ labels: '{}', value: 1 }] }] }]`,
        ] as const,
    ),
    ...["n{a='b'", "n{a=b}", "{", "n n", "1n", "n{a!='b'}", "n{a='b' c='d'}"].map(
      (series) =>
        [
          "fails",
          `the series ${series}`,
          `tests: [{ interval: 1m, input_series: [{ series: "${series}", values: '1' }] }]`,
        ] as const,
    ),
  ] as const)("%s: %s", { timeout: 60_000 }, async ([want, name, text], context) => {
    const promtool = toolOrSkip(context, "promtool");
    writeFileSync(path.join(temporary, "rules.yml"), rules);
    const file = path.join(temporary, `${name.replaceAll(/\W+/g, "-")}.test.yml`);
    writeFileSync(file, text);
    const found = await outcomes(promtool, "test", file);
    expect(found, found.said).toMatchObject({ promtool: want, gpulse: want });
  });

  test.for([
    ["many-to-many", "{ record: r, expr: 'n * on(x) m' }"],
    ["the same labels after a rule's own", "{ record: r, expr: '{__name__=~\"n|m\"}' }"],
    [
      "the same labels after an alert's own",
      "{ alert: A, expr: '{__name__=~\"n|m\"}', labels: { a: x } }",
    ],
    ["more alerts than the limit", "{ alert: A, expr: n }"],
    ["more series than the limit", "{ record: r, expr: n }"],
  ] as const)(
    "a rule that fails for %s fails its test",
    { timeout: 60_000 },
    async ([name, rule], context) => {
      const promtool = toolOrSkip(context, "promtool");
      const base = path.join(temporary, name.replaceAll(/\W+/g, "-"));
      writeFileSync(`${base}.rules.yml`, `groups: [{ name: g, limit: 1, rules: [${rule}] }]`);
      writeFileSync(
        `${base}.test.yml`,
        `rule_files: ['${base}.rules.yml']\ntests: [{ interval: 1m, input_series: [{ series: 'n{a="1"}', values: '1x9' }, { series: 'n{a="2"}', values: '1x9' }, { series: 'm{a="1"}', values: '1x9' }, { series: 'm{a="2"}', values: '1x9' }], promql_expr_test: [{ expr: 'vector(1)', eval_time: 3m, exp_samples: [{ value: 1, labels: '{}' }] }] }]`,
      );
      const found = await outcomes(promtool, "test", `${base}.test.yml`);
      expect(found, found.said).toMatchObject({ promtool: "fails", gpulse: "fails" });
    },
  );
});

describe("rule files", () => {
  test.for(
    [
      ...filesIn(folder, ".rules.yml"),
      ...filesIn(pack, ".yml"),
      ...filesIn(path.join(pack, "stack"), ".yml"),
    ].map((file) => [path.basename(file), file] as const),
  )("%s is valid, for promtool too", { timeout: 60_000 }, async ([, file], context) => {
    const found = await outcomes(toolOrSkip(context, "promtool"), "check", file);
    expect(found, found.said).toMatchObject({ promtool: "passes", gpulse: "passes" });
  });

  const rule = (text: string): string => `groups: [{ name: g, rules: [${text}] }]`;
  test.for([
    ["passes", ""],
    ["passes", "groups: []"],
    ["passes", "groups: [{ name: g }]"],
    ["passes", "groups: [{ name: g, interval: 1m30s, limit: 3, rules: [] }]"],
    ["fails", "groups: [{ rules: [] }]"],
    ["fails", "groups: [{ name: g, rules: [] }, { name: g, rules: [] }]"],
    ["fails", "groups: [{ name: g, interval: 5, rules: [] }]"],
    ["fails", "groups: [{ name: g, limit: x, rules: [] }]"],
    ["fails", "groups: [{ name: g, extra: 1, rules: [] }]"],
    ["fails", "rules: []"],
    ["passes", rule("{ alert: A, expr: 1 }")],
    [
      "passes",
      rule(
        "{ alert: A b, expr: up, for: 1d, keep_firing_for: 0s, labels: { a: 1, b: ~, c: true } }",
      ),
    ],
    [
      "passes",
      rule(
        "{ alert: A, expr: up, labels: { a: '{{ $labels.b | title }}' }, annotations: { c: '{{ $value }}' } }",
      ),
    ],
    ["passes", rule("{ record: 'a:b', expr: up, labels: { a: '{{ broken' } }")],
    ["passes", rule("{ record: a, expr: up, for: 0s }")],
    ["fails", rule("{ expr: up }")],
    ["fails", rule("{ alert: A }")],
    ["fails", rule("{ alert: A, expr: '' }")],
    ["fails", rule("{ alert: A, record: b, expr: up }")],
    ["fails", rule("{ alert: A, expr: up, for: 1x }")],
    ["fails", rule("{ alert: A, expr: up, for: 1.5h }")],
    ["fails", rule("{ alert: A, expr: up, for: 1m1h }")],
    ["fails", rule("{ alert: A, expr: up, severity: x }")],
    ["fails", rule("{ alert: A, expr: 'up ==' }")],
    ["fails", rule("{ alert: A, expr: 'rate(up)' }")],
    ["fails", rule("{ alert: A, expr: 'up{a=~\"(\"}' }")],
    ["fails", rule("{ alert: A, expr: up, labels: { __name__: x } }")],
    ["fails", rule("{ alert: A, expr: up, labels: [] }")],
    ["fails", rule("{ alert: A, expr: up, annotations: { a: '{{ $nothing }}' } }")],
    ["fails", rule("{ alert: A, expr: up, annotations: { a: '{{ unknown 1 }}' } }")],
    ["fails", rule("{ alert: A, expr: up, annotations: { a: '{{ if }}' } }")],
    ["fails", rule("{ record: a, expr: up, for: 1m }")],
    ["fails", rule("{ record: a, expr: up, keep_firing_for: 1m }")],
    ["fails", rule("{ record: a, expr: up, annotations: { a: b } }")],
    ["fails", rule("{ record: 'a{b=\"c\"}', expr: up }")],
    ["fails", "groups: ["],
    ["fails", "groups: []\ngroups: []"],
    ["fails", "[]"],
    ["fails", "text"],
  ] as const)("%s: %s", { timeout: 60_000 }, async ([want, text], context) => {
    const promtool = toolOrSkip(context, "promtool");
    const file = path.join(temporary, `check-${Buffer.from(text).toString("hex").slice(-60)}.yml`);
    writeFileSync(file, text);
    const found = await outcomes(promtool, "check", file);
    expect(found, found.said).toMatchObject({ promtool: want, gpulse: want });
  });
});
