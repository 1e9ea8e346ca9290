/** Selects the requests that the audit log records: changes, and refused attempts at them. Never requests that only read. */
import { isQueryRoute, isIngestRoute, requiredScope } from "../auth/required-scope.ts";
import { safeMethods } from "../guard.ts";

const refusals = new Set([401, 403, 421, 429]);

/** `pattern` is the matched route; undefined if none matched. */
export function isAudited(method: string, pattern: string | undefined, status: number): boolean {
  const refused = refusals.has(status);
  if (pattern === undefined) return refused && !safeMethods.has(method);
  // The OpenID callback is a GET request, but it logs a user in.
  if (pattern === "/login/oidc/callback") return true;
  // A refused read of an administrator route is recorded.
  if (safeMethods.has(method)) return refused && requiredScope(method, pattern) === "admin";
  if (isQueryRoute(pattern)) return false;
  // Successful ingestion is not recorded: it would bury the entries that matter.
  return refused || !isIngestRoute(pattern);
}
