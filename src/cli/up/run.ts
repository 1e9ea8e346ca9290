/** Runs `gpulse up`. Composition only: the collector reads, the hub serves. */
import { spawn } from "node:child_process";
import type { Env } from "../../config/secrets.ts";
import { openConfiguredSources, warnSimulated } from "../../agent/run.ts";
import { type CommandIo, commandLog, usesColour } from "../command/io.ts";
import { type FlagValues, resolveSettings } from "../command/settings.ts";
import { requireNetworkAuth } from "../../hub/compose/access-control.ts";
import { serveHub } from "../../hub/compose/serve.ts";

export interface UpFlags extends FlagValues {
  readonly json?: boolean;
}

const simulatedFleet = "sim:8";

export async function runUp(flags: UpFlags, io: CommandIo): Promise<number> {
  const settings = await resolveSettings("hub", flags, io.env);
  await requireNetworkAuth(settings, io);
  const log = commandLog(io, settings.logLevel, flags.json === true);
  const found = await openConfiguredSources(settings, log);
  const showsOthers = settings.prometheus !== undefined;
  if (found.length === 0 && !showsOthers)
    log.warn(
      `no GPU found here: showing a simulated fleet (${simulatedFleet}) instead; run gpulse doctor to see why`,
    );
  const sources =
    found.length === 0 && !showsOthers
      ? await openConfiguredSources({ ...settings, sources: [simulatedFleet] }, log)
      : found;
  const stopping = io.stopped();
  const serving = await serveHub({ settings, sources, selfScrape: false, lake: true, io, log });
  serving.collector.start();
  announce(io, serving.url, warnSimulated(sources, log));
  if (settings.open) openBrowser(serving.url, io);
  const signal = await stopping;
  log.info("stopping", { signal });
  await serving.close();
  return 0;
}

/** Prints the URL on standard output; the log goes to standard error. */
function announce(io: CommandIo, url: string, simulated: boolean): void {
  const bold = (text: string): string =>
    usesColour(io.stdout, io.env) ? `\u001b[1m${text}\u001b[0m` : text;
  io.stdout.write(`\n  gpulse is up: ${bold(url)}${simulated ? "  (simulated GPUs)" : ""}\n\n`);
}

/** True only on a desktop terminal: never in a script, over ssh or in CI. */
function hasDesktop(isTerminal: boolean, env: Env, platform: NodeJS.Platform): boolean {
  const isSet = (name: string): boolean => (env[name] ?? "") !== "";
  if (!isTerminal || isSet("CI") || isSet("SSH_CONNECTION") || isSet("SSH_TTY")) return false;
  if (platform === "darwin" || platform === "win32") return true;
  return isSet("DISPLAY") || isSet("WAYLAND_DISPLAY");
}

function openBrowser(url: string, io: CommandIo): void {
  if (!hasDesktop(io.stdout.isTTY === true, io.env, process.platform)) return;
  const [command, ...args] =
    process.platform === "darwin"
      ? ["open", url]
      : process.platform === "win32"
        ? ["cmd", "/c", "start", "", url]
        : ["xdg-open", url];
  if (command === undefined) return;
  const child = spawn(command, args, { stdio: "ignore", detached: true });
  // A missing browser is not an error: the URL is on the screen.
  child.on("error", () => {});
  child.unref();
}
