/** The rules of the stack are as consistent as the default ones and separate from them: texts, runbook and tests. */
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { parseRuleFile } from "../rules/file.ts";
import type { AlertingRule, Rule } from "../rules/types.ts";
import { readTestFile } from "../unit-tests/file.ts";
import { runTestFile } from "../unit-tests/run.ts";
import { packGroups } from "./pack.ts";
import { runbookSections } from "./runbook.ts";

const at = (relative: string): string =>
  fileURLToPath(new URL(`../../../${relative}`, import.meta.url));
const folder = at("deploy/prometheus/rules/stack");
const testFolder = `${folder}/tests`;
const ruleFiles = readdirSync(folder).filter((name) => name.endsWith(".yml"));

const parsed = await Promise.all(
  ruleFiles.map((name) => parseRuleFile(readFileSync(`${folder}/${name}`, "utf8"), name)),
);
const rules: readonly Rule[] = parsed.flat().flatMap((group) => group.rules);
const alerts = rules.filter((rule): rule is AlertingRule => rule.kind === "alert");

test("every alert has a severity, and says who, what, and what to do", () => {
  for (const { name, labels, annotations } of alerts) {
    expect(["warning", "critical"], name).toContain(labels["severity"]);
    const { summary = "", description = "", action = "" } = annotations;
    for (const words of [summary, description, action])
      expect(words.length, name).toBeGreaterThan(15);
    expect(summary, name).toContain("$labels.instance");
    expect(annotations["runbook_url"]).toBe(`docs/runbook/stack.md#${name.toLowerCase()}`);
  }
});

test("no name stands twice, here or among the default rules", async () => {
  const theirs = (await packGroups()).flatMap((group) => group.rules);
  const names = [...rules, ...theirs].map(({ name }) => name);
  expect(names.filter((name, place) => names.indexOf(name) !== place)).toEqual([]);
});

test("every alert has its section in the stack's runbook, and every section its alert", () => {
  const sections = runbookSections(readFileSync(at("docs/runbook/stack.md"), "utf8"));
  expect(sections.map(({ alert }) => alert).sort()).toEqual(alerts.map(({ name }) => name).sort());
  for (const { alert, text } of sections)
    for (const part of ["**Meaning.**", "**Check.**", "**Fix.**"])
      expect(text, alert).toContain(part);
});

test.each(readdirSync(testFolder))("the tests of %s pass", { timeout: 60_000 }, async (name) => {
  const outcomes = await runTestFile(await readTestFile(`${testFolder}/${name}`));
  expect(outcomes.flatMap((one) => one.failures)).toEqual([]);
});

test("every alert is seen firing and not firing by a test", async () => {
  const files = await Promise.all(
    readdirSync(testFolder).map((name) => readTestFile(`${testFolder}/${name}`)),
  );
  const cases = files.flatMap(({ tests }) => tests.flatMap((one) => one.alert_rule_test));
  for (const { name } of alerts) {
    const fires = cases
      .filter((one) => one.alertname === name)
      .map((one) => one.exp_alerts.length > 0);
    expect(new Set(fires), name).toEqual(new Set([true, false]));
  }
});
