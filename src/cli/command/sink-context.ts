/** The context of a sink in a command. */
import path from "node:path";
import type { Log } from "../../base/log.ts";
import { identityOf } from "../../model/identity.ts";
import { systemClock } from "../../base/clock.ts";
import type { SinkContext } from "../../pipeline/sink.ts";
import type { CommandIo } from "./io.ts";
import type { Settings } from "./settings.ts";

/** An agent has no history, and passes its own spool folder. */
export function sinkContext(
  settings: Settings,
  io: CommandIo,
  log: Log,
  spoolDir = path.join(settings.dataDir, "spool"),
): SinkContext {
  return {
    log,
    stdout: io.stdout,
    clock: systemClock,
    random: Math.random,
    hostName: settings.hostName,
    identity: identityOf(settings.hostName),
    spoolDir,
    version: io.version,
  };
}
