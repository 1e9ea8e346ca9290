/**
 * The scope that each route needs, and which routes ingest data or only read, which the audit log uses too. Looked up by the
 * pattern the router matched, never by the text of the URL, so that no spelling of a path bypasses it. Unlisted routes need the
 * admin scope for changes and the read scope otherwise.
 */
import type { Scope } from "../../access/scope.ts";
import { safeMethods } from "../guard.ts";

/** Health checks of load balancers, and the routes needed to log in. */
const open = new Set([
  "/-/healthy",
  "/-/ready",
  "/ping",
  "/health",
  "/login",
  "/login.css",
  "/api/login",
  "/login/oidc",
  "/login/oidc/callback",
  "/share",
  "/share.js",
  "/api/share",
  // The signature in the link authorizes the request.
  "/keep",
]);

/** Ingestion routes: high volume, and they change nothing but the samples. */
const readings = [
  "/api/push",
  "/api/v1/write",
  "/v1/metrics",
  "/api/v1/otlp/v1/metrics",
  "/write",
  "/api/v2/write",
  "/push",
  "/alert",
  "/api/events",
  "/api/v2/alerts",
];

/** A sender may also upload a snapshot of its machine. */
const push = [...readings, "/api/snapshots"];

const admin = [
  "/api/v1/admin",
  "/-/reload",
  "/-/quit",
  "/api/tokens",
  "/api/users",
  "/api/sessions",
  "/api/shares",
  "/api/audit",
];

/** Readable routes that share links may not access: the hub's configuration, and files of its machines. */
const closedToShares = [
  ...admin,
  "/api/pipes",
  "/api/agents",
  "/api/alerts",
  "/api/snapshot",
  "/api/snapshots",
  "/api/v1/status/config",
  "/api/v1/status/flags",
  "/api/v1/status/runtimeinfo",
  "/api/v1/targets",
  "/api/v1/scrape_pools",
  "/api/v1/alertmanagers",
  "/api/v1/notifications",
  "/api/v2/status",
  "/api/v2/receivers",
  "/mcp",
];

/** Queries may be too long for a URL, so these are also available by POST. */
const questions = new Set([
  "/api/v1/query",
  "/api/v1/query_range",
  "/api/v1/query_exemplars",
  "/api/v1/series",
  "/api/v1/labels",
  "/api/v1/format_query",
  "/api/v1/parse_query",
  "/api/v1/read",
  "/api/analytics/:name",
  "/api/analytics/jobs/:id",
  "/mcp",
]);

/** Changes that every user may make to their own account. */
const ofOneself = new Set(["/api/logout", "/api/me/password"]);

/** Query that Influx 1 clients send before they write. */
const influxQuestion = "/query";

/** Returns undefined if the route needs no authentication. `pattern` is undefined if no route matched. */
export function requiredScope(method: string, pattern: string | undefined): Scope | undefined {
  if (pattern === undefined) return "read";
  if (open.has(pattern)) return undefined;
  if (isUnderAny(pattern, admin)) return "admin";
  // An agent also sends GET requests before it pushes.
  if (isUnder(pattern, "/api/push") || pattern === influxQuestion) return "push";
  if (safeMethods.has(method)) return "read";
  // Senders of samples may also upload their benchmark runs, but not delete any.
  if (method === "POST" && pattern === "/api/runs") return "push";
  if (isUnderAny(pattern, push)) return "push";
  return questions.has(pattern) || ofOneself.has(pattern) ? "read" : "admin";
}

/** Whether the route ingests data, and whether it only reads, whatever its method. */
export const isIngestRoute = (pattern: string): boolean => isUnderAny(pattern, readings);
export const isQueryRoute = (pattern: string): boolean =>
  questions.has(pattern) || pattern === influxQuestion;

/** Also looked up by the router's pattern. */
export const isClosedToShares = (pattern: string): boolean => isUnderAny(pattern, closedToShares);

const isUnderAny = (pattern: string, prefixes: readonly string[]): boolean =>
  prefixes.some((prefix) => isUnder(pattern, prefix));

const isUnder = (pattern: string, prefix: string): boolean =>
  pattern === prefix || pattern.startsWith(`${prefix}/`);
