/** Whether a request with our cookie really comes from our page: a browser sends the cookie whichever page made the request. */
import type { IncomingHttpHeaders } from "node:http";
import { isOwnOrigin, safeMethods } from "../guard.ts";

/** A change by cookie must say that it comes from here; what says nothing is no browser's page, and has no business with a cookie. */
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

/** A link of another site: it comes without our strict cookie, also for who is logged in. */
export const isCrossSite = ({ "sec-fetch-site": site }: IncomingHttpHeaders): boolean =>
  site === "cross-site" || site === "same-site";
