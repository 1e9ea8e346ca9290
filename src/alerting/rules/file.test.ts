import { expect, test } from "vitest";
import { GpulseError } from "../../base/error.ts";
import { checkRules, parseRuleFile } from "./file.ts";
import { duplicateRules } from "./lint.ts";

const rules = (text: string): string => `groups: [{ name: g, rules: [${text}] }]`;

test.each([
  ["groups: [{ name: '', rules: [] }]", "1:10: the group has no name"],
  ["groups: [{ name: a, rules: [] }, { name: a, rules: [] }]", 'duplicate group name "a"'],
  ["group: []", 'unknown key group. Did you mean "groups"'],
  ["groups: [{ name: a, rules: [], source: x }]", "unknown key groups[0].source"],
  ["groups: [{ name: a, interval: 5, rules: [] }]", "groups[0].interval must be a duration"],
  ["groups: [{ name: a, interval: 1.5m, rules: [] }]", "groups[0].interval must be a duration"],
  ["groups: [{ name: a, limit: x, rules: [] }]", "groups[0].limit must be a whole number"],
  ["groups: [{ name: a, labels: { __name__: x }, rules: [] }]", 'invalid label name "__name__"'],
  ["groups: {", "not valid YAML"],
  [rules("{ expr: up }"), "one of record and alert must be set"],
  [rules("{ alert: A, record: b, expr: up }"), "only one of record and alert"],
  [rules("{ alert: A }"), "expr must be set"],
  [rules("{ alert: A, expr: 'up ==' }"), "could not parse expression: 1:6: parse error"],
  [rules("{ alert: A, expr: up, for: -1m }"), "for must be a duration"],
  [rules("{ alert: A, expr: up, severity: x }"), "unknown key groups[0].rules[0].severity"],
  [rules("{ alert: A, expr: up, labels: { '': x } }"), 'invalid label name ""'],
  [
    rules("{ alert: A, expr: up, labels: { a: '{{ $x }}' } }"),
    'the template of "a" cannot be parsed',
  ],
  [
    rules("{ alert: A, expr: up, annotations: { a: '{{ foo }}' } }"),
    'the template of "a" cannot be parsed',
  ],
  [rules("{ alert: A, expr: up, annotations: [] }"), "annotations must be a mapping"],
  [rules("{ record: a, expr: up, for: 1m }"), "a recording rule must not have for"],
  [rules("{ record: a, expr: up, keep_firing_for: 1m }"), "must not have keep_firing_for"],
  [rules("{ record: a, expr: up, annotations: { a: b } }"), "must not have annotations"],
  [rules("{ record: 'a{b=\"c\"}', expr: up }"), "braces in the name"],
])("%s is refused: %s", async (source, want) => {
  await expect(parseRuleFile(source, "rules.yml")).rejects.toThrow(GpulseError);
  const { problems } = await checkRules(source, "rules.yml");
  expect(problems.join("\n")).toContain(want);
  expect(problems[0]).toMatch(/^rules\.yml:\d+:\d+: /);
});

test("of several YAML documents the first is read, as by Prometheus, and the rest is warned of", async () => {
  const text = `${rules("{ record: a, expr: up }")}\n---\n${rules("{ record: b, expr: 'up +' }")}\n`;
  const { groups, problems, warnings } = await checkRules(text, "rules.yml");
  expect(problems).toEqual([]);
  expect(groups.flatMap((group) => group.rules.map(({ name }) => name))).toEqual(["a"]);
  expect(warnings).toEqual([
    expect.stringMatching(/^rules\.yml:2:1: only the first YAML document/),
  ]);
  expect((await checkRules("---\ngroups: []\n---\n", "rules.yml")).warnings).toEqual([]);
});

test("every mistake is reported, each with its line, group and rule", async () => {
  const { problems } = await checkRules(
    `groups:
  - name: g
    rules:
      - alert: A
        expr: up ==
        annotations: { s: '{{ end }}' }
      - record: b
        expr: sum(
        for: 1m
`,
    "rules.yml",
  );
  expect(problems.map((problem) => problem.split(": ", 2).join(": "))).toEqual([
    'rules.yml:5:9: group "g", rule 1, "A"',
    'rules.yml:6:24: group "g", rule 1, "A"',
    'rules.yml:8:9: group "g", rule 2, "b"',
    'rules.yml:9:9: group "g", rule 2, "b"',
  ]);
});

test("values are taken as they are written: YAML's numbers and nothings are not the writer's", async () => {
  const [group] = await parseRuleFile(
    rules(
      "{ alert: 1.0, expr: 1, for: 0, labels: { a: 1.10, b: true, c: 0x1, d: , e: 2026-01-01 } }",
    ),
    "rules.yml",
  );
  expect(group?.rules[0]).toMatchObject({
    name: "1.0",
    forMs: 0,
    labels: { a: "1.10", b: "true", c: "0x1", d: "", e: "2026-01-01" },
  });
});

test("an empty file and a group without rules are as good as none", async () => {
  expect(await parseRuleFile("", "a")).toEqual([]);
  expect(await parseRuleFile("groups:", "a")).toEqual([]);
  expect(await parseRuleFile("groups: [{ name: g }]", "a")).toHaveLength(1);
});

test("a rule that stands twice is noted", async () => {
  const groups = await parseRuleFile(
    rules("{ record: a, expr: up }, { record: a, expr: up + 1 }, { alert: a, expr: up }"),
    "a",
  );
  expect(duplicateRules(groups)).toHaveLength(1);
});
