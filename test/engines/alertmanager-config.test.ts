// Real amtool and gpulse on the same valid and invalid alertmanager.yml files: both load a file, or both reject it.

import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";

import { startAlertmanager } from "../../engines/alertmanager.ts";
import { runProcess } from "../../engines/process.ts";
import { repository } from "../../engines/program.ts";
import { toolOrSkip } from "../../engines/tools.ts";
import { checkAlertmanagerFile } from "../../src/cli/config/alertmanager.ts";
import { accepted, refused } from "../compat/alertmanager-rules.ts";

const folder = fileURLToPath(new URL("../../src/alerting/route/testdata/", import.meta.url));
const files = readdirSync(folder).filter((name) => /\.(good|bad)\.yml$/.test(name));

test.for(files)("%s", async (name, context) => {
  const amtool = toolOrSkip(context, "amtool");
  const { code } = await runProcess(amtool, ["check-config", folder + name]);
  const { problems } = await checkAlertmanagerFile(folder + name, {});
  const good = name.endsWith(".good.yml");
  expect({ amtool: code === 0, gpulse: problems.length === 0, problems }).toEqual({
    amtool: good,
    gpulse: good,
    problems,
  });
});

let dir: string;
beforeAll(() => {
  dir = mkdtempSync(path.join(tmpdir(), "gpulse-rules-"));
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const rows = [
  ...refused.map(([entries, , global = "{}"]) => ({ entries, global, isGood: false })),
  ...accepted.map(([entries, global = "{}"]) => ({ entries, global, isGood: true })),
];

test.for(rows)("$entries with global $global", async ({ entries, global, isGood }, context) => {
  const amtool = toolOrSkip(context, "amtool");
  const file = path.join(dir, "alertmanager.yml");
  const receiver = entries.replace(/^(?=.)/gm, "    ");
  writeFileSync(
    file,
    `global: ${global}\nroute: { receiver: a }\nreceivers:\n  - name: a\n${receiver}\n`,
  );
  const { code, stdout, stderr } = await runProcess(amtool, ["check-config", file]);
  const said = `${stdout}${stderr}`;
  // The row needs a feature newer than the installed amtool.
  const unknown = /field (\w+) not found in type/.exec(said)?.[1];
  if (unknown !== undefined) context.skip(`this amtool does not know ${unknown}`);
  expect({ good: code === 0, said }).toEqual({ good: isGood, said });
});

test("the file that ships loads in gpulse as it is, and rendered in amtool and a real Alertmanager", async (context) => {
  const amtool = toolOrSkip(context, "amtool");
  const alertmanager = toolOrSkip(context, "alertmanager");
  const shipped = path.join(repository, "deploy/alertmanager/alertmanager.yml");
  const env = {
    SMTP_HOST: "smtp.example.com",
    SMTP_PORT: "587",
    SMTP_FROM: "gpu@example.com",
    SMTP_USER: "gpu@example.com",
    EMAIL_PASS: "correct-horse",
    ALERT_EMAIL_TO: "ops@example.com",
    ALERT_WEBHOOK: "127.0.0.1:9410/alert",
    IDLE_WEBHOOK: "127.0.0.1:9410/alert",
  };
  expect(await checkAlertmanagerFile(shipped, env)).toEqual({ problems: [], notes: [] });
  const renderedFolder = mkdtempSync(path.join(tmpdir(), "gpulse-alertmanager-"));
  try {
    const rendered = path.join(renderedFolder, "alertmanager.yml");
    const render = path.join(repository, "deploy/alertmanager/render.mjs");
    const done = await runProcess(process.execPath, [render, shipped, rendered], { env });
    expect(done).toMatchObject({ code: 0, stderr: "" });
    expect((await runProcess(amtool, ["check-config", rendered])).code).toBe(0);
    expect(await checkAlertmanagerFile(rendered, {})).toEqual({ problems: [], notes: [] });
    for (const [labels, receiver] of [
      ["alertname=GpuPowerSpike severity=info", "webhook"],
      ["alertname=GpuIdle severity=info", "scheduler"],
      ["alertname=GpuLost severity=critical", "people"],
      ["alertname=Other", "people"],
    ] as const) {
      const args = ["config", "routes", "test", `--config.file=${rendered}`, ...labels.split(" ")];
      expect((await runProcess(amtool, args)).stdout.trim(), labels).toBe(receiver);
    }
    const running = await startAlertmanager(alertmanager, readFileSync(rendered, "utf8"));
    await running.stop();
  } finally {
    rmSync(renderedFolder, { recursive: true, force: true });
  }
});
