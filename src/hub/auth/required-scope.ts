/**
 * Which scope each route needs, and which routes bring readings or only ask: the audit log goes by that too. It is asked with
 * the pattern the router matched, never with the text of the URL, so that no spelling of a path gets around it; and what is
 * listed nowhere needs more rather than less.
 */
import type { Scope } from "../../access/scope.ts";
import { safeMethods } from "../guard.ts";

/** Probes of load balancers, and what a person without a session must reach to get one. */
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
  // The signature of its link is the right that it needs.
  "/keep",
]);

/** What comes in by the thousand and changes nothing but the numbers. */
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

/** A sender may also leave a description of its machine. */
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

/** What the bearer of a shared link may not see though it is there to be read: how the hub is set up, and its machines' files. */
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

/** A query may be too long for a URL, so these are asked by POST as well. */
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

/** What everybody may change: their own. */
const ofOneself = new Set(["/api/logout", "/api/me/password"]);

/** What an Influx 1 client asks before it sends. */
const influxQuestion = "/query";

/** Undefined where nobody is asked. `pattern` is undefined where no route matched. */
export function requiredScope(method: string, pattern: string | undefined): Scope | undefined {
  if (pattern === undefined) return "read";
  if (open.has(pattern)) return undefined;
  if (isUnderAny(pattern, admin)) return "admin";
  // An agent also asks before it sends.
  if (isUnder(pattern, "/api/push") || pattern === influxQuestion) return "push";
  if (safeMethods.has(method)) return "read";
  // Anyone who sends readings may send the benchmark run they belong to, and delete none.
  if (method === "POST" && pattern === "/api/runs") return "push";
  if (isUnderAny(pattern, push)) return "push";
  return questions.has(pattern) || ofOneself.has(pattern) ? "read" : "admin";
}

/** Whether it brings readings, and whether it only asks, whatever its method. */
export const isIngestRoute = (pattern: string): boolean => isUnderAny(pattern, readings);
export const isQueryRoute = (pattern: string): boolean =>
  questions.has(pattern) || pattern === influxQuestion;

/** Asked with the router's pattern too. */
export const isClosedToShares = (pattern: string): boolean => isUnderAny(pattern, closedToShares);

const isUnderAny = (pattern: string, prefixes: readonly string[]): boolean =>
  prefixes.some((prefix) => isUnder(pattern, prefix));

const isUnder = (pattern: string, prefix: string): boolean =>
  pattern === prefix || pattern.startsWith(`${prefix}/`);
