/** Runs `gpulse stats`: reads the machine for a moment, or fetches from a running gpulse. */
import { createCollector, openConfiguredSources } from "../../agent/run.ts";
import { type Stats, statsSchema } from "../../agent/stats/schema.ts";
import { fetchPage } from "../agent-client.ts";
import { clientAccess, type ClientFlags } from "../command/client.ts";
import { type CommandIo, commandLog } from "../command/io.ts";
import { parseWindowMs, showReading, slowSourceMs } from "../command/reading-window.ts";
import { type FlagValues, resolveSettings } from "../command/settings.ts";
import { statsTable } from "./table.ts";

export interface StatsFlags extends FlagValues, ClientFlags {
  readonly url?: string;
  readonly window?: string;
  readonly json?: boolean;
}

export async function runStats(flags: StatsFlags, io: CommandIo): Promise<number> {
  const stats =
    flags.url === undefined
      ? await readHere(flags, io)
      : await fetchPage(flags.url, "/stats", statsSchema, clientAccess(flags, io.env));
  io.stdout.write(flags.json === true ? `${JSON.stringify(stats, null, 2)}\n` : statsTable(stats));
  if (stats.gpus.length > 0) return 0;
  io.stderr.write(
    "gpulse: no GPU found. Run gpulse doctor to see why, or pass --source sim:8 for simulated GPUs.\n",
  );
  return 1;
}

async function readHere(flags: StatsFlags, io: CommandIo): Promise<Stats> {
  const windowMs = parseWindowMs(flags.window ?? "2s", 0);
  const settings = await resolveSettings("agent", { logLevel: "error", ...flags }, io.env);
  const log = commandLog(io, settings.logLevel, false);
  const sources = await openConfiguredSources(settings, log);
  const sampling = { ...settings, intervalMs: Math.min(settings.intervalMs, 200) };
  const collector = createCollector(sampling, sources, io, log);
  collector.start();
  await showReading(io, windowMs, async () => {
    if (sources.length > 0)
      await collector.readFor(Math.max(windowMs, 50), windowMs + slowSourceMs);
  });
  const stats = await collector.stats();
  await collector.stop();
  return stats;
}
