/** Reads sources for a short time, like a regular run. */
import { createCollector, openConfiguredSources } from "../../agent/run.ts";
import type { CommandIo } from "../command/io.ts";
import type { Settings } from "../command/settings.ts";
import type { Log } from "../../base/log.ts";
import type { Delivery } from "../../pipeline/sink.ts";
import type { FileAccess } from "../../machine/sysfs/file-access.ts";

/** Long enough for slow readings after the first fast ones. */
const readForMs = 1_500;
/** Longer limit for sources that run an external tool. */
const readForMostMs = 35_000;

/** Returns the newest frames of every source and tier. */
export async function readBriefly(
  settings: Settings,
  io: CommandIo,
  log: Log,
  fileAccess?: FileAccess,
): Promise<readonly Delivery[]> {
  const sampling = { ...settings, intervalMs: 200 };
  const collector = createCollector(
    sampling,
    await openConfiguredSources(sampling, log, fileAccess),
    io,
    log,
  );
  collector.start();
  await collector.readFor(readForMs, readForMostMs);
  const frames = collector.latest.at(Date.now());
  await collector.stop();
  return frames;
}
