/**
 * Limits the rate of expensive requests: a token bucket per token, user or address. The limits are generous, since dashboards
 * query often; they stop clients that request in a loop.
 */
import type { FastifyInstance, FastifyRequest } from "fastify";
import { networkOf } from "../../access/failures.ts";
import type { Log } from "../../base/log.ts";
import { isLoopback } from "../guard.ts";

export interface RateLimits {
  /** Queries, series, labels, federation and comparisons. */
  readonly queriesPerSecond: number;
  /** Analyses, exports, uploads and snapshots. */
  readonly heavyPerSecond: number;
  /** Incoming alerts, counted one by one. */
  readonly alertsPerSecond: number;
}

export const defaultRates: RateLimits = {
  queriesPerSecond: 500,
  heavyPerSecond: 20,
  alertsPerSecond: 500,
};

export interface RateOptions {
  /** Configured by the operator; the default limits do not apply to loopback clients on a hub without authentication. */
  readonly rates?: Partial<RateLimits>;
  readonly log: Log;
  readonly nowMs: () => number;
}

/** Size of the bucket, in seconds. */
const burstSeconds = 10;
const maxKeys = 20_000;

const queries = [
  "/api/v1/query",
  "/api/v1/query_range",
  "/api/v1/query_exemplars",
  "/api/v1/format_query",
  "/api/v1/parse_query",
  "/api/v1/series",
  "/api/v1/labels",
  "/api/v1/label",
  "/api/v1/read",
  "/federate",
  "/api/compare",
  "/api/explain",
  "/api/changes",
  "/api/serving",
  "/api/rules/backtest",
  "/mcp",
];
const heavy = ["/api/analytics", "/api/runs", "/api/snapshots", "/api/import", "/api/v1/admin"];

export type RateClass = keyof RateLimits;

/** Returns undefined for cheap routes, and for those with an admission limit of their own. */
export function classOf(pattern: string | undefined): RateClass | undefined {
  if (pattern === undefined) return undefined;
  const isUnder = (prefix: string): boolean =>
    pattern === prefix || pattern.startsWith(`${prefix}/`);
  if (queries.some(isUnder)) return "queriesPerSecond";
  return heavy.some(isUnder) ? "heavyPerSecond" : undefined;
}

export interface ClientRates {
  /** Counts an additional request of this client; returns the seconds to wait, 0 within the limit. */
  take(kind: RateClass, request: FastifyRequest): number;
}

/** Register after authentication: the limits apply per caller. */
export function addRates(
  app: FastifyInstance,
  { rates = {}, log, nowMs }: RateOptions,
): ClientRates {
  const buckets = new TokenBuckets({ ...defaultRates, ...rates });
  const take: ClientRates["take"] = (kind, request) => {
    if (rates[kind] === undefined && isOwner(request)) return 0;
    const { waitSeconds, isFirst } = buckets.take(kind, keyOf(request), nowMs());
    if (isFirst)
      log.warn("rate limit exceeded", {
        address: request.ip,
        who: keyOf(request),
        path: request.routeOptions.url,
      });
    return waitSeconds;
  };
  /** Rate class by route, cached because it is looked up for every request. */
  const classes = new Map<string | undefined, RateClass | "free">();
  app.addHook("onRequest", (request, reply, done) => {
    const { url } = request.routeOptions;
    let kind = classes.get(url);
    if (kind === undefined) classes.set(url, (kind = classOf(url) ?? "free"));
    const waitSeconds = kind === "free" ? 0 : take(kind, request);
    if (waitSeconds === 0) return done();
    void reply.code(429).header("retry-after", Math.ceil(waitSeconds)).send({
      status: "error",
      errorType: "unavailable",
      error: "Rate limit exceeded: retry later, or have hub.limits raised.",
    });
  });
  return { take };
}

/** Loopback clients on a hub without authentication. */
const isOwner = ({
  access,
  ip,
}: Partial<Pick<FastifyRequest, "access">> & { ip: string }): boolean =>
  (access === undefined || access === null || access.by === "nobody") &&
  isLoopback(ip.replace(/^::ffff:/, ""));

function keyOf({ access, ip }: Partial<Pick<FastifyRequest, "access">> & { ip: string }): string {
  return access !== undefined && access !== null && "name" in access
    ? `${access.by} ${access.name}`
    : networkOf(ip);
}

interface Bucket {
  left: number;
  atMs: number;
  isEmpty: boolean;
}

export class TokenBuckets {
  readonly #rates: RateLimits;
  readonly #buckets = new Map<string, Bucket>();

  constructor(rates: RateLimits) {
    this.#rates = rates;
  }

  /**
   * Returns the seconds to wait, 0 within the limit; `isFirst` is true for the first refusal since the last accepted request.
   * @param cost number of tokens; the wait never exceeds that for a full bucket
   */
  take(
    kind: RateClass,
    key: string,
    nowMs: number,
    cost = 1,
  ): { waitSeconds: number; isFirst: boolean } {
    const perSecond = this.#rates[kind];
    const most = perSecond * burstSeconds;
    const id = `${kind} ${key}`;
    const found = this.#buckets.get(id) ?? { left: most, atMs: nowMs, isEmpty: false };
    const passedSeconds = Math.max(0, nowMs - found.atMs) / 1_000;
    const left = Math.min(most, found.left + passedSeconds * perSecond);
    // Deleted and set again, so that the first entry of the map is the least recently used.
    this.#buckets.delete(id);
    const needed = Math.min(cost, most);
    const isEmpty = left < needed;
    this.#buckets.set(id, { left: isEmpty ? left : left - needed, atMs: nowMs, isEmpty });
    if (this.#buckets.size > maxKeys)
      for (const [oldest] of this.#buckets) {
        this.#buckets.delete(oldest);
        break;
      }
    return isEmpty
      ? { waitSeconds: (needed - left) / perSecond, isFirst: !found.isEmpty }
      : { waitSeconds: 0, isFirst: false };
  }
}
