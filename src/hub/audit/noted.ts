/** Which requests the audit log tells of: those that change something, and refused tries at it. Never those that only ask. */
import { safeMethods } from "../guard.ts";

/** What comes in by the thousand and changes nothing but the numbers: a flood of lines would hide the one that matters. */
const readings = [
  "/api/push",
  "/api/v1/write",
  "/v1/metrics",
  "/api/v1/otlp",
  "/write",
  "/api/v2/write",
  "/push",
  "/alert",
  "/api/events",
  "/api/v2/alerts",
];

/** Asked by POST where a query is too long for a URL. */
const questions = [
  "/query",
  "/api/v1/query",
  "/api/v1/query_range",
  "/api/v1/query_exemplars",
  "/api/v1/series",
  "/api/v1/labels",
  "/api/v1/format_query",
  "/api/v1/parse_query",
  "/api/v1/read",
  "/api/analytics",
];

/** What nobody but an administrator may even look at: a refused look is told of. */
const guarded = ["/api/audit", "/api/tokens", "/api/users", "/api/sessions", "/api/shares"];

const refusals = new Set([401, 403, 421, 429]);

/** `pattern` is the route that matched; undefined where none did. */
export function isNoted(method: string, pattern: string | undefined, status: number): boolean {
  const refused = refusals.has(status);
  if (pattern === undefined) return refused && !safeMethods.has(method);
  // A provider leads back by a link: it logs somebody in all the same.
  if (pattern === "/login/oidc/callback") return true;
  if (safeMethods.has(method)) return refused && isUnderAny(pattern, guarded);
  if (isUnderAny(pattern, questions)) return false;
  return refused || !isUnderAny(pattern, readings);
}

const isUnderAny = (pattern: string, prefixes: readonly string[]): boolean =>
  prefixes.some((prefix) => pattern === prefix || pattern.startsWith(`${prefix}/`));
