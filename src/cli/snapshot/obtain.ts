/** Takes a snapshot of this machine, or fetches one of another from its agent or hub. */
import {
  createCollector,
  lazySnapshot,
  openConfiguredSources,
  sourceContext,
} from "../../agent/run.ts";
import { pause } from "../../base/retry.ts";
import { clientAccess, type ClientFlags } from "../command/client.ts";
import { type CommandIo, commandLog } from "../command/io.ts";
import { parseWindowMs, showReading } from "../command/reading-window.ts";
import { type FlagValues, resolveSettings } from "../command/settings.ts";
import { GpulseError } from "../../base/error.ts";
import { resolveAuto } from "../../sources/open.ts";
import { checkSnapshot } from "../../runs/snapshot/parse.ts";
import type { Snapshot } from "../../machine/snapshot.ts";
import { HubClient } from "../hub-client.ts";

export interface TakeFlags extends FlagValues {
  readonly window?: string;
}

/** How long a snapshot waits for slow and static readings; those missing by then are recorded as not read. */
const readingDeadlineMs = 5_000;

/** Sources that report processes only with an option, which a snapshot enables. */
const withProcesses = new Set(["nvidia:", "amd:", "intel:"]);

export async function takeLocalSnapshot(flags: TakeFlags, io: CommandIo): Promise<Snapshot> {
  const windowMs = parseWindowMs(flags.window ?? "2s", 0);
  const settings = await resolveSettings("agent", { logLevel: "error", ...flags }, io.env);
  const log = commandLog(io, settings.logLevel, false);
  const specs = await resolveAuto(settings.sources, sourceContext(settings, log));
  const sources = await openConfiguredSources(
    {
      ...settings,
      sources: specs.map((spec) =>
        typeof spec === "string" && withProcesses.has(spec) ? `${spec}?processes=true` : spec,
      ),
    },
    log,
  );
  const sampling = { ...settings, intervalMs: Math.min(settings.intervalMs, 200) };
  const collector = createCollector(sampling, sources, io, log);
  collector.start();
  try {
    return await showReading(io, windowMs, async () => {
      if (sources.length > 0) await pause(windowMs);
      await collector.refresh(readingDeadlineMs);
      return await lazySnapshot(collector, settings, io, log)();
    });
  } finally {
    await collector.stop();
  }
}

export async function fetchSnapshot(
  url: string,
  flags: ClientFlags,
  io: CommandIo,
): Promise<Snapshot> {
  const client = new HubClient(url, clientAccess(flags, io.env));
  const { status, body } = await client.call("GET", "/api/snapshot");
  if (status !== 200)
    throw new GpulseError(
      "AGENT_UNREACHABLE",
      `${url} returned ${status} for /api/snapshot. Check that it is a gpulse agent or hub of this version.`,
    );
  return checkSnapshot(body, url);
}
