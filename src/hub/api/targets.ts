/** What is scraped and how it went, in Prometheus's shapes. */
import type { FastifyInstance, FastifyReply } from "fastify";
import { formatDuration } from "../../config/duration.ts";
import { type LabelSet, labelValue } from "../../model/labels.ts";
import { QueryError } from "../../query/errors.ts";
import { matchAll } from "../../query/matcher.ts";
import { parseSelector } from "../../query/parse/parse.ts";
import type { ScrapePool } from "../../sources/scrape/pool.ts";
import { joinHostPort, splitHostPort, type Target } from "../../sources/scrape/targets/target.ts";
import { invalidParameter } from "./failure.ts";
import { Params } from "./params.ts";
import { success } from "./result.ts";

export interface ScrapeRunner {
  /** In order of their names. */
  readonly pools: readonly ScrapePool[];
  /** The configuration in use, secrets as `<secret>`. */
  readonly yaml: string;
  /** The last attempt to load it. */
  readonly loaded: { readonly ok: boolean; readonly timeMs: number };
  /** @throws Error with what is wrong; what was in use stays in use. */
  reload(): Promise<void>;
}

export function addTargets(
  app: FastifyInstance,
  scraping: ScrapeRunner | undefined,
  hostName: string,
): void {
  const answer = (url: string, data: (params: Params) => unknown): void => {
    app.get(url, async (request, reply) => send(reply, data(Params.of(request))));
  };
  const pools = (): readonly ScrapePool[] => scraping?.pools ?? [];
  answer("/api/v1/scrape_pools", () => ({
    scrapePools: pools().map(({ config }) => config.jobName),
  }));
  answer("/api/v1/targets", (params) => {
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
      // Ours: jobs that loaded and are not scraped, since they ask for something that is not supported.
      inactivePools: chosen.flatMap(({ config: { jobName, inactive } }) =>
        inactive === undefined ? [] : [{ scrapePool: jobName, reason: inactive }],
      ),
    };
  });
  answer("/api/v1/targets/metadata", (params) => {
    const matches = selectorOf(params.text("match_target"));
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
    // As relabelling wrote them, where it did.
    scrapeInterval:
      labelValue(target.labels, "__scrape_interval__") ?? formatDuration(target.intervalMs),
    scrapeTimeout:
      labelValue(target.labels, "__scrape_timeout__") ?? formatDuration(target.timeoutMs),
  }));
}

/** A target on loopback as others would have to ask for it. */
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

function selectorOf(text: string | undefined): (labels: LabelSet) => boolean {
  if (text === undefined || text === "") return () => true;
  try {
    return matchAll(parseSelector(text));
  } catch (thrown) {
    if (thrown instanceof QueryError) throw invalidParameter("match_target", thrown.message);
    throw thrown;
  }
}

const send = (reply: FastifyReply, data: unknown): FastifyReply =>
  reply
    .type("application/json")
    .header("cache-control", "no-store")
    .send(success(JSON.stringify(data)));
