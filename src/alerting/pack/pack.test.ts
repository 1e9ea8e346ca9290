/** The default rules are consistent: names, severities, texts, runbook, tests and inhibition. */
import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import type { RoutedAlert } from "../alert.ts";
import { parseRouting } from "../route/config.ts";
import { fingerprintOf } from "../route/fingerprint.ts";
import { Inhibitor } from "../route/inhibit.ts";
import { parseRuleFile } from "../rules/file.ts";
import type { AlertingRule } from "../rules/types.ts";
import { readTestFile } from "../unit-tests/file.ts";
import { runTestFile } from "../unit-tests/run.ts";
import { packRuleFiles } from "./files.ts";
import { packGroups } from "./pack.ts";
import { defaultRouting, defaultRoutingConfig } from "./routing.ts";
import { runbookSection, runbookSections } from "./runbook.ts";

const at = (relative: string): string =>
  fileURLToPath(new URL(`../../../${relative}`, import.meta.url));

const groups = await packGroups();
const alerts = groups.flatMap(({ rules }) =>
  rules.filter((rule): rule is AlertingRule => rule.kind === "alert"),
);
const names = alerts.map(({ name }) => name);

test("every alert has a severity, and says who, what, and what to do", () => {
  for (const { name, labels, annotations } of alerts) {
    expect(["info", "warning", "critical"], name).toContain(labels["severity"]);
    const { summary = "", description = "", action = "" } = annotations;
    for (const words of [summary, description, action])
      expect(words.length, name).toBeGreaterThan(15);
    // The affected object: the GPU by model, index, host and uuid, or the machine.
    if (/^Gpu(?!lse|DataStale)/.test(name))
      for (const part of ["gpu_info", "$labels.gpu ", "$labels.host ", "$labels.uuid "])
        expect(summary, name).toContain(part);
    else expect(summary, name).toMatch(/\$labels\.(instance|host)/);
  }
});

test("an alert's name stands once", () => expect(new Set(names).size).toBe(names.length));

test("what is no problem is information, and nothing else is", () => {
  const informs = alerts.filter(({ labels }) => labels["severity"] === "info");
  expect(informs.map(({ name }) => name).sort()).toEqual([
    "GpuBusy",
    "GpuIdle",
    "GpuPowerSpike",
    "GpuPowerThrottling",
  ]);
});

test("every alert has its section in the runbook, and every section its alert", () => {
  expect(runbookSections().map(({ alert }) => alert)).toEqual([...names].sort(inRunbookOrder));
  for (const { alert, text } of runbookSections())
    for (const part of ["**Meaning.**", "**Check.**", "**Fix.**"])
      expect(text, alert).toContain(part);
});

test("a rule file links into the docs, the hub to its own runbook", async () => {
  for (const { name, text } of packRuleFiles())
    for (const { rules } of await parseRuleFile(text, name))
      for (const rule of rules)
        if (rule.kind === "alert")
          expect(rule.annotations["runbook_url"]).toBe(
            `docs/runbook/README.md#${rule.name.toLowerCase()}`,
          );
  for (const { name, annotations } of alerts) {
    const section = /^\{\{ \$externalURL \}\}\/runbook\/(\w+)$/.exec(
      annotations["runbook_url"] ?? "",
    )?.[1];
    expect(runbookSection(section ?? "")?.alert).toBe(name);
  }
});

test("the guide's table is what the files say", () => {
  const guide = readFileSync(at("docs/guides/alerts.md"), "utf8");
  const rows = [
    ...guide.matchAll(/^\| \[(\w+)\]\(\.\.\/runbook\/README\.md#(\w+)\) \| (\w+) \|/gm),
  ];
  const said = rows.map(([, name, anchor, severity]) => ({ name, anchor, severity }));
  const meant = alerts.map(({ name, labels }) => ({
    name,
    anchor: name.toLowerCase(),
    severity: labels["severity"],
  }));
  expect(said.sort(byName)).toEqual(meant.sort(byName));
});

const testDir = at("deploy/prometheus/rules/tests");
test.each(readdirSync(testDir))("the tests of %s pass", { timeout: 60_000 }, async (name) => {
  const outcomes = await runTestFile(await readTestFile(`${testDir}/${name}`));
  expect(outcomes.flatMap((one) => one.failures)).toEqual([]);
});

test("every alert is seen firing and not firing by a test", async () => {
  const files = await Promise.all(
    readdirSync(testDir).map((name) => readTestFile(`${testDir}/${name}`)),
  );
  const cases = files.flatMap(({ tests }) => tests.flatMap((one) => one.alert_rule_test));
  for (const name of names) {
    const own = cases.filter((one) => one.alertname === name);
    expect(
      own.some((one) => one.exp_alerts.length > 0),
      `${name} fires`,
    ).toBe(true);
    expect(
      own.some((one) => one.exp_alerts.length === 0),
      `${name} does not fire`,
    ).toBe(true);
  }
});

test("a rule of one's own with the same name takes the place of ours", async () => {
  const source = `groups: [{ name: mine, rules: [{ alert: GpuHot, expr: gpu_temperature_celsius > 70 }] }]`;
  const own = await parseRuleFile(source, "mine.yml");
  const left = (await packGroups(own)).flatMap(({ rules }) => rules.map(({ name }) => name));
  expect(left).not.toContain("GpuHot");
  expect(left.length).toBe(groups.flatMap(({ rules }) => rules).length - 1);
});

test("what is embedded inhibits as the alertmanager.yml that ships does", async () => {
  const shipped = readFileSync(at("deploy/alertmanager/alertmanager.yml"), "utf8");
  const file = await parseRouting(shipped, "alertmanager.yml");
  const embedded = await parseRouting(defaultRouting, "embedded");
  // Matchers contain compiled expressions, so they are compared as text.
  expect(JSON.stringify(embedded.inhibitRules)).toBe(JSON.stringify(file.inhibitRules));
  expect(embedded.inhibitRules.length).toBe(4);
  expect(embedded.receivers).toEqual([{ name: "nobody" }]);
});

test("the default routing as code is the one in its text", async () => {
  const parsed = await parseRouting(defaultRouting, "embedded");
  // Matchers contain functions, and differ in when their expressions are compiled.
  const comparable = (config: typeof parsed) => ({
    ...config,
    inhibitRules: JSON.stringify(config.inhibitRules),
  });
  expect(comparable(defaultRoutingConfig())).toEqual(comparable(parsed));
});

test("what follows from something else is hidden by it, and nothing more", () => {
  const { inhibitRules } = defaultRoutingConfig();
  const node = { job: "gpulse", instance: "node-1:9400" };
  const other = { job: "gpulse", instance: "node-2:9400" };
  const reported = [
    { alertname: "GpulseExporterDown", severity: "critical", ...node },
    { alertname: "GpuDataStale", severity: "warning", host: "node-1", ...node },
    { alertname: "GpuDataStale", severity: "warning", host: "node-2", ...other },
    { alertname: "GpuLost", severity: "critical", uuid: "a", ...other },
    { alertname: "GpuRecoveryNeeded", severity: "critical", uuid: "a", ...other },
    { alertname: "GpuXid", severity: "warning", uuid: "a", ...other },
    { alertname: "GpuTooHot", severity: "critical", uuid: "b", ...other },
    { alertname: "GpuHot", severity: "warning", uuid: "b", ...other },
    { alertname: "GpuHot", severity: "warning", uuid: "c", ...other },
    { alertname: "CpuHot", severity: "warning", host: "node-2", ...other },
    { alertname: "SomebodyElses", severity: "warning", ...other },
  ].map((labels): RoutedAlert => {
    const map = new Map(Object.entries(labels));
    return {
      fingerprint: fingerprintOf(map),
      labels: map,
      annotations: {},
      startsAtMs: 1,
      endsAtMs: 1_000,
      updatedAtMs: 1,
      generatorUrl: "",
      timeout: false,
    };
  });
  const inhibitor = new Inhibitor(inhibitRules);
  for (const alert of reported) inhibitor.set(alert);
  const heard = reported.filter((alert) => inhibitor.mutedBy(alert, 10) === undefined);
  expect(
    heard.map(({ labels }) => [labels.get("alertname"), labels.get("uuid") ?? labels.get("host")]),
  ).toEqual([
    ["GpulseExporterDown", undefined],
    ["GpuDataStale", "node-2"],
    ["GpuLost", "a"],
    ["GpuTooHot", "b"],
    ["GpuHot", "c"],
    ["CpuHot", "node-2"],
    ["SomebodyElses", undefined],
  ]);
});

const byName = (
  left: { name?: string | undefined },
  right: { name?: string | undefined },
): number => ((left.name ?? "") < (right.name ?? "") ? -1 : 1);

/** The runbook has the order of the rule files, grouped by topic. */
function inRunbookOrder(left: string, right: string): number {
  const order = runbookSections().map(({ alert }) => alert);
  return order.indexOf(left) - order.indexOf(right);
}

test("no shipped rule, dashboard or example matches or groups GPUs by uuid without host", () => {
  const folders = [
    "deploy/prometheus/rules",
    "deploy/grafana/dashboards",
    "deploy/kubernetes/examples",
  ];
  const files = folders.flatMap((folder) =>
    readdirSync(at(folder))
      .filter((name) => /\.(?:ya?ml|json)$/.test(name))
      .map((name) => `${folder}/${name}`),
  );
  expect(files.length).toBeGreaterThan(15);
  for (const file of files) {
    const found =
      readFileSync(at(file), "utf8").match(/\b(?:on|by|ignoring) ?\([^()]*uuid[^()]*\)/g) ?? [];
    expect(
      found.filter((one) => !/\bhost\b/.test(one)),
      file,
    ).toEqual([]);
  }
});
