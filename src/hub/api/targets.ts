/** Scrape targets and their last scrapes, in Prometheus's format. */
import type { FastifyInstance } from "fastify";
import { formatDuration } from "../../config/duration.ts";
import { type LabelSet, labelValue } from "../../model/labels.ts";
import { matchAll } from "../../query/matcher.ts";
import type { ScrapePool } from "../../sources/scrape/pool.ts";
import { joinHostPort, splitHostPort, type Target } from "../../sources/scrape/targets/target.ts";
import { parseSelectorParam } from "./params.ts";
import { addDataRoute } from "./result.ts";

export interface ScrapeRunner {
  /** Sorted by name. */
  readonly pools: readonly ScrapePool[];
  /** The configuration in use, with secrets as `<secret>`. */
  readonly yaml: string;
  /** Result of the last attempt to load the configuration. */
  readonly loaded: { readonly ok: boolean; readonly timeMs: number };
  /** @throws Error if the configuration is invalid; the previous one stays in use. */
  reload(): Promise<void>;
}

export function addTargets(
  app: FastifyInstance,
  scraping: ScrapeRunner | undefined,
  hostName: string,
): void {
  const pools = (): readonly ScrapePool[] => scraping?.pools ?? [];
  addDataRoute(app, "/api/v1/scrape_pools", () => ({
    scrapePools: pools().map(({ config }) => config.jobName),
  }));
  addDataRoute(app, "/api/v1/targets", (params) => {
    const state = (params.text("state") ?? "any").toLowerCase();
    const only = params.text("scrapePool") ?? "";
    const chosen = pools().filter(({ config }) => only === "" || config.jobName === only);
    const shows = (kind: string): boolean =>
      !["active", "dropped"].includes(state) || state === kind;
    return {
      activeTargets: shows("active") ? chosen.flatMap((pool) => active(pool, hostName)) : [],
      droppedTargets: shows("dropped")
        ? chosen.flatMap(({ config, dropped }) =>
            dropped.labels.map((labels) => ({
              discoveredLabels: Object.fromEntries(labels),
              scrapePool: config.jobName,
            })),
          )
        : [],
      droppedTargetCounts: Object.fromEntries(
        chosen.map(({ config, dropped }) => [config.jobName, dropped.count]),
      ),
      // A gpulse extension: loaded jobs that are not scraped because they need an unsupported feature.
      inactivePools: chosen.flatMap(({ config: { jobName, inactive } }) =>
        inactive === undefined ? [] : [{ scrapePool: jobName, reason: inactive }],
      ),
    };
  });
  addDataRoute(app, "/api/v1/targets/metadata", (params) => {
    const target = params.text("match_target") ?? "";
    const matches =
      target === "" ? () => true : matchAll(parseSelectorParam("match_target", target));
    const metric = params.text("metric") ?? "";
    const found = pools().flatMap((pool) => [...targetMetadata(pool, matches, metric)]);
    const limit = params.limit();
    return limit > 0 ? found.slice(0, limit) : found;
  });
}

function active(pool: ScrapePool, hostName: string): unknown[] {
  return Array.from(pool.loops, ({ target }) => ({
    discoveredLabels: Object.fromEntries(target.discovered),
    labels: Object.fromEntries(target.publicLabels),
    scrapePool: pool.config.jobName,
    scrapeUrl: target.url,
    globalUrl: globalUrl(target, hostName),
    lastError: target.last.error,
    lastScrape:
      target.last.timeMs === undefined
        ? "0001-01-01T00:00:00Z"
        : new Date(target.last.timeMs).toISOString(),
    lastScrapeDuration: target.last.durationSeconds,
    health: target.last.health,
    // As set by relabelling, if it did.
    scrapeInterval:
      labelValue(target.labels, "__scrape_interval__") ?? formatDuration(target.intervalMs),
    scrapeTimeout:
      labelValue(target.labels, "__scrape_timeout__") ?? formatDuration(target.timeoutMs),
  }));
}

/** The URL of a loopback target as other machines would reach it. */
function globalUrl({ url, labels }: Target, hostName: string): string {
  const address = labelValue(labels, "__address__") ?? "";
  const [host, port] = splitHostPort(address) ?? ["", ""];
  if (!["127.0.0.1", "localhost", "::1"].includes(host)) return url;
  return url.replace(`//${address}`, `//${joinHostPort(hostName, port)}`);
}

function* targetMetadata(
  { loops }: ScrapePool,
  matches: (labels: LabelSet) => boolean,
  metric: string,
): Generator {
  for (const { target, book } of loops) {
    if (!matches(target.publicLabels)) continue;
    const labels = Object.fromEntries(target.publicLabels);
    for (const { family, type, help, unit } of book.metadata.all()) {
      if (metric !== "" && metric !== family) continue;
      yield { target: labels, ...(metric === "" ? { metric: family } : {}), type, help, unit };
    }
  }
}
