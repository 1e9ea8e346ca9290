/** Security headers for every response, and checks on every request against DNS rebinding and cross-site writes. */
import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import type { FastifyInstance } from "fastify";

/** The page needs no external host, no inline script and no embedding in a frame. */
export const guardHeaders: Readonly<Record<string, string>> = {
  "content-security-policy": [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    "manifest-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; "),
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "permissions-policy": "camera=(), geolocation=(), microphone=()",
  "referrer-policy": "no-referrer",
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
};

export interface GuardOptions {
  /** The address the hub listens on. */
  readonly host: string;
  /** The public URL, if the operator configured one: what clients request from a reverse proxy. */
  readonly publicUrl?: string | undefined;
}

export interface GuardRefusal {
  readonly status: 400 | 403 | 421;
  readonly error: string;
}

export type Guard = (
  request: Pick<IncomingMessage, "method" | "headers" | "rawHeaders">,
) => GuardRefusal | undefined;

/** Accepts or refuses a request by its method and headers alone. */
export function createGuard({ host: bindHost, publicUrl }: GuardOptions): Guard {
  const loopbackOnly = isLoopback(bindHost);
  let lastLoopback: string | undefined;
  const isLoopbackName = (header: string | undefined): boolean => {
    if (header === lastLoopback && header !== undefined) return true;
    if (!isLoopback(hostOf(header))) return false;
    lastLoopback = header;
    return true;
  };
  return ({ method = "", headers, rawHeaders }) => {
    // A reverse proxy may have used the other Host header.
    if (countHosts(rawHeaders) > 1)
      return { status: 400, error: "A request names one host, and not two." };
    if (loopbackOnly && !isLoopbackName(headers.host))
      return {
        status: 421,
        error:
          "This gpulse listens on loopback and answers only to localhost, 127.0.0.1 or [::1]: open it by one of these names.",
      };
    if (!safeMethods.has(method) && isForeign(headers, publicUrl))
      return {
        status: 403,
        error:
          "A page of another site may not change anything here: send the request from this one, or from a program.",
      };
    return undefined;
  };
}

export function addGuards(
  app: FastifyInstance,
  guard: Guard,
  moreHeaders: () => Readonly<Record<string, string>> = () => ({}),
): void {
  // Callback style instead of a promise, because it runs for every request.
  app.addHook("onRequest", (request, reply, done) => {
    reply.headers(guardHeaders);
    reply.headers(moreHeaders());
    const refusal = guard(request.raw);
    if (refusal === undefined) done();
    else void reply.code(refusal.status).send({ error: refusal.error });
  });
}

/** True if a request has one Host header at most, and a loopback name in it if the hub listens on loopback only. */
export const isAllowedHost = (
  { rawHeaders, headers }: Pick<IncomingMessage, "rawHeaders" | "headers">,
  bindHost: string,
): boolean =>
  countHosts(rawHeaders) <= 1 && (!isLoopback(bindHost) || isLoopback(hostOf(headers.host)));

function countHosts(rawHeaders: readonly string[]): number {
  let count = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at];
    if (name?.length === 4 && name.toLowerCase() === "host") count++;
  }
  return count;
}

/** Methods that change nothing. */
export const safeMethods: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS"]);

/** True for requests caused by another site, which must not write or delete. Browsers send these headers, other programs do not. */
export function isForeign(headers: IncomingHttpHeaders, publicUrl?: string): boolean {
  if (headers["sec-fetch-site"] === "cross-site") return true;
  return headers.origin !== undefined && !isOwnOrigin(headers, publicUrl);
}

/**
 * True if the request comes from the hub's own page: its origin matches the Host header, or, behind a proxy that changes the
 * host, the configured public URL. Forwarded headers are ignored: any client can forge them.
 */
export function isOwnOrigin({ origin, host }: IncomingHttpHeaders, publicUrl?: string): boolean {
  if (origin === undefined || !URL.canParse(origin)) return false;
  const { host: from, origin: page } = new URL(origin);
  return from === host || (publicUrl !== undefined && page === new URL(publicUrl).origin);
}

/** The host name in a Host header, without its port; empty if missing. */
export function hostOf(header: string | undefined): string {
  const match = /^(\[[^\]]*\]|[^:]*)(?::\d{1,5})?$/.exec(header ?? "");
  return (match?.[1] ?? "").toLowerCase();
}

/** Checks the name, not the address it resolves to: a foreign name that resolves to 127.0.0.1 is DNS rebinding. */
export function isLoopback(host: string): boolean {
  return (
    host === "localhost" || host === "[::1]" || host === "::1" || /^127(?:\.\d{1,3}){3}$/.test(host)
  );
}
