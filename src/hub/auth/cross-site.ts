/**
 * Checks that a request with the session cookie comes from the hub's own page: a browser sends the cookie whichever page made
 * the request.
 */
import type { IncomingHttpHeaders } from "node:http";
import { isOwnOrigin, safeMethods } from "../guard.ts";

/**
 * A change authenticated by cookie must carry the headers of the hub's own origin. A client without them is no browser page and
 * does not use cookies.
 */
export function isUnverifiedChange(
  method: string,
  headers: IncomingHttpHeaders,
  publicUrl?: string,
): boolean {
  if (safeMethods.has(method) || headers.authorization !== undefined) return false;
  const site = headers["sec-fetch-site"];
  if (site !== undefined) return site !== "same-origin";
  return !isOwnOrigin(headers, publicUrl);
}

/** True for a link from another site: it comes without the strict cookie even if the user is logged in. */
export const isCrossSite = ({ "sec-fetch-site": site }: IncomingHttpHeaders): boolean =>
  site === "cross-site" || site === "same-site";
