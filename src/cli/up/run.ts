/** Runs `gpulse up`. Composition only: the collector reads, the hub shows. */
import { createCollector, openConfigured, warnSimulated } from "../../agent/run.ts";
import type { CommandIo } from "../../command/io.ts";
import { commandLog, usesColour } from "../../command/io.ts";
import type { FlagValues } from "../../command/settings.ts";
import { resolveSettings } from "../../command/settings.ts";
import { createHub } from "../../hub/hub.ts";
import { HistorySink, identityOf } from "../../hub/storage.ts";
import { openBrowser } from "./browser.ts";
import { openHistory, refuseOpenToNetwork, webDir } from "./serve.ts";

export interface UpFlags extends FlagValues {
  readonly json?: boolean;
}

const simulatedFleet = "sim:8";

export async function runUp(flags: UpFlags, io: CommandIo): Promise<number> {
  const settings = await resolveSettings("hub", flags, io.env);
  refuseOpenToNetwork(settings);
  const log = commandLog(io, settings.logLevel, flags.json === true);
  const found = await openConfigured(settings, log);
  if (found.length === 0)
    log.warn(
      `no GPU found here: showing a simulated fleet (${simulatedFleet}) instead; gpulse doctor says why`,
    );
  const sources =
    found.length === 0
      ? await openConfigured({ ...settings, sources: [simulatedFleet] }, log)
      : found;
  const storage = await openHistory(settings, io, log);
  const sink = new HistorySink(storage.history, identityOf(settings.hostName));
  const collector = createCollector(settings, sources, io, log, {
    sinks: [sink],
    ownFrames: [storage.ownFrame],
  });
  const stopping = io.stopped();
  const hub = await createHub({
    latest: collector.latest,
    ...settings.listen,
    hostName: settings.hostName,
    webDir,
    api: storage.api,
    log,
    nowMs: () => Date.now(),
    version: io.version,
    metricsPage: (accept) => collector.page(accept),
    stats: () => collector.stats(),
    ready: () => {
      const { ready, sources: states } = collector.readiness();
      return {
        ready,
        problems: states.flatMap(({ source, trouble }) =>
          trouble === undefined ? [] : [`${source}: ${trouble}`],
        ),
      };
    },
  }).catch(async (thrown: unknown) => {
    await storage.close();
    throw thrown;
  });
  collector.start();
  announce(io, hub.url, warnSimulated(sources, log));
  if (settings.open) openBrowser(hub.url, io);
  const signal = await stopping;
  log.info("stopping", { signal });
  await hub.close();
  await collector.stop();
  await storage.close();
  return 0;
}

/** The one line a person waits for; it goes to standard output, the log goes to standard error. */
function announce(io: CommandIo, url: string, simulated: boolean): void {
  const bold = (text: string): string =>
    usesColour(io.stdout, io.env) ? `\u001b[1m${text}\u001b[0m` : text;
  io.stdout.write(`\n  gpulse is up: ${bold(url)}${simulated ? "  (simulated GPUs)" : ""}\n\n`);
}
