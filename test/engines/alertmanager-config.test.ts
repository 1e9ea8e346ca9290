// Real amtool and gpulse on the same alertmanager.yml files, good and bad: both take it, or both refuse it.

import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";

import { runProcess } from "../../engines/process.ts";
import { toolOrSkip } from "../../engines/tools.ts";
import { checkAlertmanagerFile } from "../../src/cli/config/alertmanager.ts";
import { accepted, refused } from "../compat/alertmanager-rules.ts";

const folder = fileURLToPath(new URL("../../src/alert/route/testdata/", import.meta.url));
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
  // The row is about what came after the amtool that is installed.
  const unknown = /field (\w+) not found in type/.exec(said)?.[1];
  if (unknown !== undefined) context.skip(`this amtool does not know ${unknown}`);
  expect({ good: code === 0, said }).toEqual({ good: isGood, said });
});
