// gpulse reads the shipped alertmanager.yml unchanged: every default alert reaches a receiver, and errors include their line.

import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { parse } from "yaml";

import { repository } from "../../engines/program.ts";
import { checkAlertmanagerFile } from "../../src/cli/config/alertmanager.ts";

const file = path.join(repository, "deploy/alertmanager/alertmanager.yml");
const text = readFileSync(file, "utf8");
const lines = text.split("\n");
const names = new Set(
  [...text.replaceAll(/^\s*#.*$/gm, "").matchAll(/\$([A-Z_]+)/g)].map(([, name = ""]) => name),
);
const env: Readonly<Record<string, string>> = {
  SMTP_HOST: "smtp.example.com",
  SMTP_PORT: "587",
  SMTP_FROM: "gpu@example.com",
  SMTP_USER: "gpu@example.com",
  EMAIL_PASS: "correct-horse",
  ALERT_EMAIL_TO: "ops@example.com",
  ALERT_WEBHOOK: "127.0.0.1:9410/alert",
  IDLE_WEBHOOK: "127.0.0.1:9410/alert",
};

test("gpulse loads the file with its variables set, without a warning", async () => {
  expect([...names].toSorted()).toEqual(Object.keys(env).toSorted());
  expect(await checkAlertmanagerFile(file, env)).toEqual({ problems: [], notes: [] });
});

test.each([...names])("without %s every line that uses it is named, and no other", async (name) => {
  const { [name]: _, ...rest } = env;
  const { problems } = await checkAlertmanagerFile(file, rest);
  const named = problems.map(({ sentence }) => Number(/\.yml:(\d+):/.exec(sentence)?.[1]));
  const using = lines.flatMap((line, index) =>
    !line.trimStart().startsWith("#") && line.includes(`$${name}`) ? [index + 1] : [],
  );
  expect(named.toSorted((a, b) => a - b)).toEqual(using);
  for (const { sentence } of problems)
    expect(sentence).toContain(`the variable ${name} is not set`);
});

interface Route {
  readonly receiver: string;
  readonly matchers?: readonly string[];
  readonly group_wait?: string;
  readonly group_interval?: string;
}
const config = parse(text) as {
  readonly route: Route & { readonly routes: readonly Route[] };
  readonly receivers: readonly (Readonly<Record<string, unknown>> & { readonly name: string })[];
};

test("every receiver has a webhook, so that no alert of the default rules is dropped", () => {
  for (const receiver of config.receivers)
    expect(receiver["webhook_configs"], receiver.name).toBeDefined();
  const rules = path.join(repository, "deploy/prometheus/rules");
  const severities = readdirSync(rules)
    .filter((name) => name.endsWith(".yml"))
    .flatMap((name) => [
      ...readFileSync(path.join(rules, name), "utf8").matchAll(/severity: (\w+)/g),
    ])
    .map(([, severity]) => severity);
  expect(new Set(severities)).toEqual(new Set(["critical", "warning", "info"]));
});

test("a critical route sets its own group times, short ones", () => {
  const critical = config.route.routes.find(({ matchers }) =>
    matchers?.includes("severity = critical"),
  );
  expect(critical).toMatchObject({ receiver: "people", group_wait: "10s", group_interval: "30s" });
});
