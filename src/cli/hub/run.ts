/** Runs `gpulse hub`: stores and serves received samples. It reads no GPU itself. */
import { type CommandIo, commandLog } from "../command/io.ts";
import { type FlagValues, resolveSettings, type Settings } from "../command/settings.ts";
import { serveHub } from "../../hub/compose/serve.ts";

export interface HubFlags extends FlagValues {
  readonly json?: boolean;
  readonly selfScrape?: boolean;
}

export async function runHub(flags: HubFlags, io: CommandIo): Promise<number> {
  const asked = await resolveSettings("hub", flags, io.env);
  const settings = flags.selfScrape === false ? withoutOwnSeries(asked) : asked;
  const log = commandLog(io, settings.logLevel, flags.json === true);
  const stopping = io.stopped();
  const serving = await serveHub({
    settings,
    sources: [],
    selfScrape: flags.selfScrape !== false,
    lake: false,
    io,
    log,
  });
  io.stdout.write(`\n  gpulse hub is up: ${serving.url}\n\n`);
  log.info("stopping", { signal: await stopping });
  await serving.close();
  return 0;
}

/** For a store that must contain received samples only: default rules and anomaly detection would write series of their own. */
function withoutOwnSeries(settings: Settings): Settings {
  return {
    ...settings,
    alerting: { ...settings.alerting, defaultRules: false, anomalies: false },
  };
}
