/** What every answer carries and every request must pass: headers that lock the page in, and the check against DNS rebinding. */
import type { IncomingHttpHeaders, IncomingMessage } from "node:http";
import type { FastifyInstance } from "fastify";

/** No outside host, no inline script, no frame around it: the page needs none of them. */
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
  /** The one under which people reach it, where the operator said so: what a proxy in front is asked for. */
  readonly publicUrl?: string | undefined;
}

export interface GuardRefusal {
  readonly status: 400 | 403 | 421;
  readonly error: string;
}

export type Guard = (
  request: Pick<IncomingMessage, "method" | "headers" | "rawHeaders">,
) => GuardRefusal | undefined;

/** Decides by method and headers alone whether a request is refused. */
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
    // A proxy in front may have gone by the other one.
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
  // Without a promise: it runs for every request.
  app.addHook("onRequest", (request, reply, done) => {
    reply.headers(guardHeaders);
    reply.headers(moreHeaders());
    const refusal = guard(request.raw);
    if (refusal === undefined) done();
    else void reply.code(refusal.status).send({ error: refusal.error });
  });
}

/** Whether a request has one Host header, and a loopback name in it where the hub listens on loopback only. */
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

/** They only ask. */
export const safeMethods: ReadonlySet<string> = new Set(["GET", "HEAD", "OPTIONS"]);

/** A browser reports where a request comes from; one that another site caused must not write or delete. Programs report nothing. */
export function isForeign(headers: IncomingHttpHeaders, publicUrl?: string): boolean {
  if (headers["sec-fetch-site"] === "cross-site") return true;
  return headers.origin !== undefined && !isOwnOrigin(headers, publicUrl);
}

/**
 * Whether the page a request comes from is ours: by the name that was asked for, or, where a proxy in front asks for another,
 * by the address the operator gave. What a proxy says it was asked for is not looked at: anybody can say it.
 */
export function isOwnOrigin({ origin, host }: IncomingHttpHeaders, publicUrl?: string): boolean {
  if (origin === undefined || !URL.canParse(origin)) return false;
  const { host: from, origin: page } = new URL(origin);
  return from === host || (publicUrl !== undefined && page === new URL(publicUrl).origin);
}

/** The name in a Host header, without its port; empty where there is none. */
export function hostOf(header: string | undefined): string {
  const match = /^(\[[^\]]*\]|[^:]*)(?::\d{1,5})?$/.exec(header ?? "");
  return (match?.[1] ?? "").toLowerCase();
}

/** Another site's name that resolves to 127.0.0.1 is not loopback by name: that is the attack. */
export function isLoopback(host: string): boolean {
  return (
    host === "localhost" || host === "[::1]" || host === "::1" || /^127(?:\.\d{1,3}){3}$/.test(host)
  );
}
