/** Runs scraping in the hub: starts and reloads it from its configuration, and connects it to ingestion. */
import { hubClient } from "../../base/fair/loop-turns.ts";
import type { CommandIo } from "../../cli/command/io.ts";
import type { Settings } from "../../cli/command/settings.ts";
import { GpulseError, formatError } from "../../base/error.ts";
import type { ApiContext } from "../api/context.ts";
import type { ScrapeRunner } from "../api/targets.ts";
import type { ExporterGpus } from "../exporters/exporters.ts";
import { Intake } from "../receive/intake.ts";
import type { Log } from "../../base/log.ts";
import { configKey } from "../../sources/scrape/config-key.ts";
import { Scraper } from "../../sources/scrape/scraper.ts";
import { loadScrapeFiles, type ScrapeFiles } from "./scrape-config.ts";

export interface HubScrapeRunner extends ScrapeRunner {
  close(): Promise<void>;
}

/** Limits the log lines about lost samples. */
const errorLogIntervalMs = 60_000;

export function startScraping(
  files: ScrapeFiles | undefined,
  settings: Settings,
  api: ApiContext,
  exporters: ExporterGpus,
  io: CommandIo,
  log: Log,
): HubScrapeRunner {
  const { nowMs } = api;
  const intake = new Intake({
    writer: api.writer,
    metadata: api.metadata,
    exemplars: api.exemplars,
    received: api.received,
    log,
    nowMs,
    ingest: api.ingest,
    store: api.store,
  });
  let loggedMs = -Infinity;
  const scraper = new Scraper({
    write: async (batch) => {
      try {
        await intake.store("scrape", batch, hubClient);
        await exporters.observe(batch);
      } catch (thrown) {
        api.received.add("scrape", "failed_request");
        if (nowMs() - loggedMs < errorLogIntervalMs) return;
        loggedMs = nowMs();
        log.error("storing scraped samples failed: they are lost", { error: formatError(thrown) });
      }
    },
    log,
    nowMs,
    version: io.version,
    seed: settings.hostName,
    usesStarts: api.ingest?.usesStarts,
    env: io.env,
    random: Math.random,
  });
  let inUse: ScrapeFiles | undefined;
  let loaded = { ok: true, timeMs: nowMs() };
  const apply = (next: ScrapeFiles | undefined): void => {
    for (const sentence of next?.config?.unsupported ?? []) log.warn(sentence);
    scraper.apply(next?.config.scrapeConfigs ?? []);
    inUse = next;
  };
  apply(files);
  return {
    get pools() {
      return scraper.pools;
    },
    get yaml() {
      return inUse?.yaml ?? "";
    },
    get loaded() {
      return loaded;
    },
    async reload() {
      try {
        const next = await loadScrapeFiles(settings, io.env);
        if (
          configKey(next?.config.remoteWrite ?? []) !== configKey(files?.config.remoteWrite ?? [])
        )
          log.warn("remote_write has changed: restart the hub to apply it");
        apply(next);
        loaded = { ok: true, timeMs: nowMs() };
        log.info("scrape configuration reloaded", {
          jobs: next?.config.scrapeConfigs.length ?? 0,
        });
      } catch (thrown) {
        loaded = { ok: false, timeMs: loaded.timeMs };
        log.error("scrape configuration reload failed: the previous one stays active", {
          error: formatError(thrown),
        });
        throw thrown instanceof GpulseError ? thrown : new Error(formatError(thrown));
      }
    },
    close: () => scraper.close(),
  };
}
