/** Runs `gpulse hub`. Composition only: the storage keeps and answers, the hub serves. */
import { createCollector } from "../../agent/run.ts";
import type { CommandIo } from "../../command/io.ts";
import { commandLog } from "../../command/io.ts";
import type { FlagValues } from "../../command/settings.ts";
import { resolveSettings } from "../../command/settings.ts";
import { createHub } from "../../hub/hub.ts";
import { startSelfScrape } from "./self-scrape.ts";
import { openHistory, refuseOpenToNetwork, webDir } from "../up/serve.ts";

export interface HubFlags extends FlagValues {
  readonly json?: boolean;
  readonly selfScrape?: boolean;
}

export async function runHub(flags: HubFlags, io: CommandIo): Promise<number> {
  const settings = await resolveSettings("hub", flags, io.env);
  refuseOpenToNetwork(settings);
  const log = commandLog(io, settings.logLevel, flags.json === true);
  const stopping = io.stopped();
  const storage = await openHistory(settings, io, log);
  // No source of its own: it serves what it says about itself, and what was written to it.
  const collector = createCollector(settings, [], io, log, { ownFrames: [storage.ownFrame] });
  const hub = await createHub({
    latest: collector.latest,
    ...settings.listen,
    hostName: settings.hostName,
    webDir,
    log,
    nowMs: Date.now,
    version: io.version,
    metricsPage: (accept) => collector.page(accept),
    stats: () => collector.stats(),
    ready: () => ({ ready: true, problems: [] }),
    api: storage.api,
  }).catch(async (thrown: unknown) => {
    await storage.close();
    throw thrown;
  });
  const stopScraping =
    flags.selfScrape === false
      ? () => {}
      : startSelfScrape(collector, storage.history, settings.hostName, log);
  io.stdout.write(`\n  gpulse hub is up: ${hub.url}\n\n`);
  log.info("stopping", { signal: await stopping });
  stopScraping();
  await hub.close();
  await collector.stop();
  await storage.close();
  return 0;
}
