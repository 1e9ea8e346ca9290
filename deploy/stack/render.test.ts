// Tests the script that fills an alertmanager.yml from the environment, through its command line.

import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { parse } from "yaml";

import { runProcess } from "../../engines/process.ts";
import { repository } from "../../engines/program.ts";

const script = path.join(repository, "deploy/alertmanager/render.mjs");
const shipped = path.join(repository, "deploy/alertmanager/alertmanager.yml");
const env = {
  SMTP_HOST: "mail.example.org",
  SMTP_PORT: "587",
  SMTP_FROM: "gpulse@example.org",
  SMTP_USER: "gpulse",
  EMAIL_PASS: `p$EMAIL_PASS"\\ä\${HOME}'`,
  ALERT_EMAIL_TO: "team@example.org",
  ALERT_WEBHOOK: "127.0.0.1:9410/alert",
  IDLE_WEBHOOK: "127.0.0.1:8081/idle",
};

let dir = "";
beforeEach(() => (dir = mkdtempSync(path.join(tmpdir(), "gpulse-render-"))));
afterEach(() => rmSync(dir, { recursive: true, force: true }));

async function render(from: string, given: Readonly<Record<string, string>>) {
  const to = path.join(dir, "rendered.yml");
  const done = await runProcess(process.execPath, [script, from, to], { env: given });
  return { ...done, to };
}

test("the shipped file is filled, values stand for themselves, and only its owner may read it", async () => {
  const { code, stdout, stderr, to } = await render(shipped, env);
  expect([code, stdout, stderr]).toEqual([0, "", ""]);
  const { global, receivers } = parse(readFileSync(to, "utf8")) as {
    global: Record<string, string>;
    receivers: { name: string; webhook_configs?: { url: string }[] }[];
  };
  expect(global["smtp_auth_password"]).toBe(env.EMAIL_PASS);
  expect(global["smtp_smarthost"]).toBe("mail.example.org:587");
  expect(receivers.find(({ name }) => name === "scheduler")?.webhook_configs?.[0]?.url).toBe(
    "http://127.0.0.1:8081/idle",
  );
  if (process.platform !== "win32") expect(statSync(to).mode & 0o777).toBe(0o600);
});

test("what is not set is named, no value is reported, and nothing is written", async () => {
  const { SMTP_PORT: _, ALERT_EMAIL_TO: __, ...rest } = env;
  const { code, stderr, to } = await render(shipped, rest);
  expect([code, stderr]).toEqual([
    2,
    "render: SMTP_PORT, ALERT_EMAIL_TO are not set: set them in the environment, or in .env for compose.\n",
  ]);
  expect(statSync(to, { throwIfNoEntry: false })).toBeUndefined();
});

test("set to nothing is a value; a variable outside quotes is refused; regular expressions stay as they are", async () => {
  const from = path.join(dir, "from.yml");
  writeFileSync(from, `# $NOT_A_VARIABLE\na: "$EMPTY"\nb: 'x =~ "a$|$b"'\nc: "^a$"\n`);
  const { code, to } = await render(from, { EMPTY: "" });
  expect([code, readFileSync(to, "utf8")]).toEqual([
    0,
    `# $NOT_A_VARIABLE\na: ""\nb: 'x =~ "a$|$b"'\nc: "^a$"\n`,
  ]);
  writeFileSync(from, "a: $EMPTY\n");
  expect(await render(from, { EMPTY: "x: y" })).toMatchObject({
    code: 2,
    stderr: 'render: $EMPTY is not in double quotes: write "$EMPTY".\n',
  });
});
