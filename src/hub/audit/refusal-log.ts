/**
 * Logs refused requests, whichever guard refused them: client address, route and status. A few lines per kind and minute, so
 * that a flood neither fills the disk nor hides the rest. Never logs what was sent.
 */
import type { FastifyInstance, FastifyRequest } from "fastify";
import { networkOf } from "../../access/failures.ts";
import { systemCode } from "../../base/error.ts";
import { LogThrottle } from "../../base/log-throttle.ts";
import type { Log } from "../../base/log.ts";
import { wantsPage } from "../auth/login.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** True if a guard has already logged the reason of the refusal. */
    isRefusalLogged: boolean;
  }
}

export interface RefusalLogOptions {
  readonly log: Log;
  readonly nowMs: () => number;
}

/** Client errors that an honest client makes too; every other status comes from a guard. */
const mistakes = new Set([400, 404, 405, 415, 422]);
const guards = new Set([401, 403, 408, 411, 413, 414, 421, 429, 431]);

export function addRefusalLog(app: FastifyInstance, { log, nowMs }: RefusalLogOptions): void {
  const lines = new LogThrottle();
  const logRefusal = (address: string | undefined, route: string, status: number): void => {
    const line = lines.take(`${networkOf(address)} ${route} ${status}`, nowMs());
    if (line === undefined) return;
    const fields = { address: address ?? "gone", route, status, ...line };
    if (mistakes.has(status)) log.info("request refused", fields);
    else log.warn("request refused", fields);
  };
  app.decorateRequest("isRefusalLogged", false);
  app.addHook("onResponse", (request, { statusCode: status }, done) => {
    if (status >= 400 && isLoggedRefusal(request, status))
      logRefusal(
        request.ip,
        `${request.method} ${request.routeOptions.url ?? "(no such route)"}`,
        status,
      );
    done();
  });
  // Malformed requests: Fastify answers them and closes the connection without calling any hook.
  app.server.prependListener("clientError", (thrown: Error, socket) => {
    const code = systemCode(thrown);
    // The TLS listener reports failed handshakes and certificates itself; their errors have no code, or OpenSSL's.
    if (code === undefined || /^(?:ECONNRESET|EPIPE|ERR_SSL_.*)$/.test(code)) return;
    const address: unknown = "remoteAddress" in socket ? socket.remoteAddress : undefined;
    logRefusal(
      typeof address === "string" ? address : undefined,
      `(no request: ${code})`,
      statusOf(code),
    );
  });
}

function isLoggedRefusal(
  { url, headers, isRefusalLogged }: FastifyRequest,
  status: number,
): boolean {
  if (isRefusalLogged) return false;
  // A browser without a login is not an attack.
  if (status === 401) return !wantsPage(headers.accept);
  // Missing pages are requested all the time; only path traversal is suspicious.
  if (status === 404) return /(?:\.|%2e){2}|%00|%5c|%25/i.test(url);
  return mistakes.has(status) || guards.has(status);
}

/** The statuses that Fastify uses. */
function statusOf(code: string): number {
  if (code === "ERR_HTTP_REQUEST_TIMEOUT") return 408;
  return code === "HPE_HEADER_OVERFLOW" ? 431 : 400;
}
