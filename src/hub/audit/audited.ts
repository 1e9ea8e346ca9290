/** Which requests the audit log reports on: those that change something, and refused tries at it. Never those that only ask. */
import { isQueryRoute, isIngestRoute, requiredScope } from "../auth/required-scope.ts";
import { safeMethods } from "../guard.ts";

const refusals = new Set([401, 403, 421, 429]);

/** `pattern` is the route that matched; undefined where none did. */
export function isAudited(method: string, pattern: string | undefined, status: number): boolean {
  const refused = refusals.has(status);
  if (pattern === undefined) return refused && !safeMethods.has(method);
  // A provider leads back by a link: it logs somebody in all the same.
  if (pattern === "/login/oidc/callback") return true;
  // What nobody but an administrator may even look at: a refused look is reported.
  if (safeMethods.has(method)) return refused && requiredScope(method, pattern) === "admin";
  if (isQueryRoute(pattern)) return false;
  // A flood of lines about readings would hide the one that matters.
  return refused || !isIngestRoute(pattern);
}
