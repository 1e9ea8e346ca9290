/**
 * Reports in the log which requests were refused, by whichever guard: from where, at which route, with which status. A line for
 * a few of a kind and minute, so that a flood of them neither fills the disk nor hides the rest. Never what was sent.
 */
import type { FastifyInstance, FastifyRequest } from "fastify";
import { networkOf } from "../../access/failures.ts";
import { systemCode } from "../../base/error.ts";
import { LogThrottle } from "../../base/log-throttle.ts";
import type { Log } from "../../base/log.ts";
import { wantsPage } from "../auth/login.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** Whether a guard has said in the log itself why it refused. */
    isRefusalLogged: boolean;
  }
}

export interface RefusalLogOptions {
  readonly log: Log;
  readonly nowMs: () => number;
}

/** Mistakes of the client, which an honest client makes too; all other refusals are a guard's. */
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
  // What is no request at all: Fastify answers it and ends the connection, and no hook hears of it.
  app.server.prependListener("clientError", (thrown: Error, socket) => {
    const code = systemCode(thrown);
    // The TLS listener reports failed handshakes and certificates itself, without a code or with OpenSSL's.
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
  // A browser that has yet to log in is no attempt at anything.
  if (status === 401) return !wantsPage(headers.accept);
  // What is not there is asked for every day; who climbs for it is not everybody.
  if (status === 404) return /(?:\.|%2e){2}|%00|%5c|%25/i.test(url);
  return mistakes.has(status) || guards.has(status);
}

/** As Fastify answers them. */
function statusOf(code: string): number {
  if (code === "ERR_HTTP_REQUEST_TIMEOUT") return 408;
  return code === "HPE_HEADER_OVERFLOW" ? 431 : 400;
}
