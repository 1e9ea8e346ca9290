import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readTestFile } from "./file.ts";
import { readMetric } from "./metric.ts";
import { readPoints } from "./points.ts";
import { type RuleTestOutcome, runTestFile } from "./run.ts";

const shared = fileURLToPath(new URL("../../../test/engines/rules", import.meta.url));
const files = readdirSync(shared).filter((name) => name.endsWith(".test.yml"));

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), "gpulse-unit-tests-"));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

async function run(
  rules: string,
  tests: string,
  only?: RegExp,
): Promise<readonly RuleTestOutcome[]> {
  writeFileSync(path.join(dir, "rules.yml"), rules);
  const file = path.join(dir, "a.test.yml");
  writeFileSync(file, `rule_files: [rules.yml]\n${tests}`);
  return runTestFile(await readTestFile(file), { only });
}

const whys = (outcomes: readonly RuleTestOutcome[]): string[] =>
  outcomes.flatMap(({ failures }) => failures.map(({ what, why }) => `${what}: ${why}`));

test.each(files)("%s, which a real promtool judges too, ends as it should", async (name) => {
  const outcomes = await runTestFile(await readTestFile(path.join(shared, name)));
  if (name.startsWith("wrong"))
    expect(outcomes.every(({ failures }) => failures.length === 1)).toBe(true);
  else expect(whys(outcomes)).toEqual([]);
});

test("a test may begin at a time of its own", async () => {
  const outcomes = await run(
    "groups: [{ name: g, rules: [{ alert: Weekend, expr: 'n > 0 and on() day_of_week() > 5' }] }]",
    `tests:
  - { name: saturday, interval: 1m, start_timestamp: 2026-01-03T00:00:00Z, input_series: [{ series: n, values: 1x5 }], alert_rule_test: [{ eval_time: 2m, alertname: Weekend, exp_alerts: [{}] }], promql_expr_test: [{ expr: time(), eval_time: 1m, exp_samples: [{ labels: '{}', value: 1767398460 }] }] }
  - { name: friday, interval: 1m, start_timestamp: 1767312000, input_series: [{ series: n, values: 1x5 }], alert_rule_test: [{ eval_time: 2m, alertname: Weekend }] }`,
  );
  expect(whys(outcomes)).toEqual([]);
});

test("with fuzzy_compare the number next to the expected one will do, and no other", async () => {
  const cases = (fuzzy: boolean, value: number): string =>
    `fuzzy_compare: ${fuzzy}\ntests: [{ interval: 1m, input_series: [{ series: n, values: '0.1' }], promql_expr_test: [{ expr: n + 0.2, eval_time: 0s, exp_samples: [{ labels: '{}', value: ${value} }] }] }]`;
  const passes = async (fuzzy: boolean, value: number): Promise<boolean> =>
    whys(await run("groups: []", cases(fuzzy, value))).length === 0;
  expect(await passes(true, 0.3)).toBe(true);
  expect(await passes(false, 0.3)).toBe(false);
  expect(await passes(true, 0.2999999999999998)).toBe(false);
});

test("a group's own labels, query_offset and external URL have their effect", async () => {
  const outcomes = await run(
    "groups: [{ name: g, query_offset: 1m, labels: { team: gpu }, rules: [{ alert: A, expr: n == 1, annotations: { url: '{{ $externalURL }}' } }] }]",
    `tests: [{ interval: 1m, external_url: 'http://hub', input_series: [{ series: n, values: '1 2 3' }], alert_rule_test: [{ eval_time: 0m, alertname: A }, { eval_time: 1m, alertname: A, exp_alerts: [{ exp_labels: { team: gpu }, exp_annotations: { url: 'http://hub' } }] }] }]`,
  );
  expect(whys(outcomes)).toEqual([]);
});

test("only the tests that were asked for are run, and each failure says what was expected and what came", async () => {
  const outcomes = await run(
    "groups: [{ name: g, rules: [{ alert: A, expr: n }] }]",
    `tests:
  - { name: first, interval: 1m, input_series: [{ series: 'n{a="b"}', values: '1x5' }], alert_rule_test: [{ eval_time: 1m, alertname: A, exp_alerts: [{ exp_labels: { a: c } }] }] }
  - { name: second, interval: 1m }`,
    /fir/,
  );
  expect(outcomes).toEqual([
    {
      name: "first",
      checks: 1,
      failures: [
        {
          what: "alert A at 1m",
          why: "expected 1 alert, got 1 alert",
          expected: ['{a="c", alertname="A"}'],
          got: ['{a="b", alertname="A"}'],
        },
      ],
    },
  ]);
});

test("native histograms are read, evaluated, recorded and compared", async () => {
  const input = `input_series: [{ series: 'step_seconds{job="a"}', values: '{{count:2 sum:3 buckets:[0 2]}}+{{count:2 sum:3 buckets:[0 2]}}x10' }]`;
  const expr = (wanted: string): string =>
    `promql_expr_test: [{ expr: 'increase(step_seconds[5m])', eval_time: 8m, exp_samples: [{ labels: '{job="a"}', histogram: '${wanted}' }] }]`;
  const slow =
    "groups: [{ name: g, rules: [{ alert: Slow, expr: 'histogram_quantile(0.9, rate(step_seconds[5m])) > 1' }] }]";
  const outcomes = await run(
    slow,
    `tests:
  - { interval: 1m, ${input}, ${expr("{{count:10 sum:15 buckets:[0 10]}}")}, alert_rule_test: [{ eval_time: 8m, alertname: Slow, exp_alerts: [{ exp_labels: { job: a } }] }] }
  - { interval: 1m, ${input}, ${expr("{{count:11 sum:15 buckets:[0 11]}}")} }`,
  );
  expect(outcomes.map(({ failures }) => failures.map(({ got }) => got))).toEqual([
    [],
    [['{job="a"} {count:10, sum:15, (1,2]:10}']],
  ]);
  const recorded = await run(
    "groups: [{ name: g, rules: [{ record: copied, expr: step_seconds }] }]",
    `tests: [{ interval: 1m, ${input}, promql_expr_test: [{ expr: copied, eval_time: 2m, exp_samples: [{ labels: 'copied{job="a"}', histogram: '{{count:6 sum:9 buckets:[0 6]}}' }] }] }]`,
  );
  expect(whys(recorded)).toEqual([]);
});

const shown = (text: string): string =>
  readPoints(text)
    .map((point) => {
      if (point === undefined) return "_";
      if (point.histogram !== undefined) return `h${point.histogram.count}`;
      return point.stale ? "s" : String(point.value);
    })
    .join(" ");

test.each([
  ["1 2.5 -3", "1 2.5 -3"],
  ["1+2x3", "1 3 5 7"],
  ["9-1.5x2", "9 7.5 6"],
  ["4x2 0x1", "4 4 4 0 0"],
  ["_ _x3 1", "_ _ _ _ 1"],
  ["1 stale NaN -Inf", "1 s NaN -Infinity"],
  ["1e2+1e1x2", "100 110 120"],
  ["{{count:1 sum:2}}+{{count:2}}x2 {{count:9}} 1", "h1 h3 h5 h9 1"],
  ["{{count:9 buckets:[9]}}-{{count:2 buckets:[2]}}x1", "h9 h7"],
])("the values %s are %s", (text, want) => expect(shown(text)).toBe(want));

test.each(["1+2", "x3", "1x", "stalex2", "{{count:1}}+2x3", "{{colour:1}}", "1x9999999999"])(
  "the values %s are refused",
  (text) => expect(() => readPoints(text)).toThrow(Error),
);

test.each([
  ["up", { __name__: "up" }],
  ["up{a=\"b\",c='d',}", { __name__: "up", a: "b", c: "d" }],
  ['{"my.metric", "a.b"="c"}', { __name__: "my.metric", "a.b": "c" }],
  ["{}", {}],
  ["", {}],
])("the series %s is read", (text, want) =>
  expect(Object.fromEntries(readMetric(text))).toEqual(want),
);

test.each(["up{", "up{a}", "up{a=b}", "up{a='b' c='d'}", "1up", "a b", "up{a=~'b'}"])(
  "%s is not a series",
  (text) => expect(() => readMetric(text)).toThrow("is not a series"),
);
