// Real amtool and gpulse on the same alertmanager.yml files, good and bad: both take it, or both refuse it.

import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

import { runProcess } from "../../engines/process.ts";
import { toolOrSkip } from "../../engines/tools.ts";
import { checkAlertmanagerFile } from "../../src/cli/config/alertmanager.ts";

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
