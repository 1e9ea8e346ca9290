/** Validates an alertmanager.yml as the hub would read it: routes, receivers and templates. Sends nothing. */
import type { Env } from "../../config/secrets.ts";
import { readFile } from "node:fs/promises";
import { parseRouting } from "../../alerting/route/config.ts";
import type { FileProblem } from "../../config/file.ts";
import { GpulseError, formatError, systemCode } from "../../base/error.ts";
import { silentLog } from "../../base/log.ts";
import { checkReceivers } from "../../alerting/channels/open.ts";
import { systemClock } from "../../base/clock.ts";

export interface RoutingCheckResult {
  readonly problems: readonly FileProblem[];
  readonly notes: readonly string[];
}

export async function checkAlertmanagerFile(file: string, env: Env): Promise<RoutingCheckResult> {
  try {
    const routing = await parseRouting(await readFile(file, "utf8"), file);
    const { mistakes, warnings } = await checkReceivers(routing, {
      file,
      env,
      log: silentLog,
      clock: systemClock,
    });
    return { problems: mistakes.map(problem), notes: warnings };
  } catch (thrown) {
    if (thrown instanceof GpulseError)
      return { problems: formatError(thrown).split("\n").map(problem), notes: [] };
    const code = systemCode(thrown);
    if (code === undefined) throw thrown;
    return { problems: [problem(`The file ${file} cannot be read (${code}).`)], notes: [] };
  }
}

const problem = (sentence: string): FileProblem => ({ code: "CONFIG_WRONG_VALUE", sentence });
