/** Runs `gpulse health`: reads this machine for a moment, or queries a running gpulse, and exits with a code for schedulers. */
import { HealthSource } from "../../agent/health/source.ts";
import { createCollector, openConfiguredSources } from "../../agent/run.ts";
import { GpulseError } from "../../base/error.ts";
import { createHealthReport, type HealthReport, healthSchema } from "../../view/health/report.ts";
import { type HealthState, healthStates, worstState } from "../../view/health/verdict.ts";
import { fetchPage } from "../agent-client.ts";
import { clientAccess, type ClientFlags } from "../command/client.ts";
import { type CommandIo, commandLog } from "../command/io.ts";
import { parseWindowMs, showReading, slowSourceMs } from "../command/reading-window.ts";
import { type FlagValues, resolveSettings } from "../command/settings.ts";
import { healthTable } from "./table.ts";

export interface HealthFlags extends FlagValues, ClientFlags {
  readonly url?: string;
  readonly only?: string;
  readonly window?: string;
  readonly failOn?: string;
  readonly json?: boolean;
}

/** 1 and 2 are errors of the command itself. */
const healthExitCodes: Readonly<Record<HealthState, number>> = {
  healthy: 0,
  unknown: 3,
  degraded: 4,
  failing: 5,
  lost: 6,
};

export async function runHealth(flags: HealthFlags, io: CommandIo): Promise<number> {
  const failing = parseStates(flags.failOn);
  if (flags.only !== undefined && flags.url === undefined)
    throw new GpulseError("USAGE", "--only needs --url of a hub: this machine is one.");
  const whole =
    flags.url === undefined
      ? await judgeHere(flags, io)
      : await fetchPage(flags.url, "/api/health", healthSchema, clientAccess(flags, io.env));
  const report = flags.only === undefined ? whole : selectHost(whole, flags.only);
  io.stdout.write(
    flags.json === true ? `${JSON.stringify(report, null, 2)}\n` : healthTable(report),
  );
  if (report.hosts.every(({ gpus }) => gpus.length === 0)) {
    io.stderr.write(
      flags.only === undefined
        ? "gpulse: no GPU to judge. Run gpulse doctor to see why, or pass --source sim:8 for simulated GPUs.\n"
        : `gpulse: no machine "${flags.only}" at ${flags.url}. Run gpulse health --url ${flags.url} to list all.\n`,
    );
    return 1;
  }
  return failing.includes(report.state) ? healthExitCodes[report.state] : 0;
}

const allStates: readonly HealthState[] = [...healthStates, "unknown"];

function parseStates(given: string | undefined): readonly HealthState[] {
  if (given === undefined) return allStates;
  return given.split(",").map((text) => {
    const state = allStates.find((one) => one === text.trim());
    if (state === undefined || state === "healthy")
      throw new GpulseError(
        "USAGE",
        `--fail-on takes degraded, failing, lost and unknown, separated by commas, not "${text}".`,
      );
    return state;
  });
}

function selectHost(report: HealthReport, host: string): HealthReport {
  const hosts = report.hosts.filter((one) => one.host === host);
  return { ...report, hosts, state: worstState(hosts.map(({ worst }) => worst)) };
}

async function judgeHere(flags: HealthFlags, io: CommandIo): Promise<HealthReport> {
  const windowMs = parseWindowMs(flags.window ?? "3s", 100);
  const settings = await resolveSettings("agent", { logLevel: "error", ...flags }, io.env);
  const log = commandLog(io, settings.logLevel, false);
  const sources = await openConfiguredSources(settings, log);
  if (sources.length === 0) return createHealthReport([], Date.now(), io.version);
  const { hostName, sysfs } = settings;
  const health = new HealthSource({ hostName, sysfs, settleMs: windowMs / 2 });
  const sampling = { ...settings, intervalMs: Math.min(settings.intervalMs, 500) };
  const collector = createCollector(sampling, sources, io, log, { health });
  collector.start();
  await showReading(io, windowMs, async () => {
    await collector.readFor(windowMs, windowMs + slowSourceMs);
    await health.readLog();
    // Reads the sources once more, so that EDAC counters are included.
    await collector.refresh(slowSourceMs);
  });
  const report = collector.health() ?? createHealthReport([], Date.now(), io.version);
  await collector.stop();
  return report;
}
