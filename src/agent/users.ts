/**
 * Requires a user name and password if the web configuration file contains users. After repeated failures, requests are rejected
 * without a password check.
 */
import type { IncomingMessage } from "node:http";
import { credentialsOf } from "../access/credentials.ts";
import { FailedAttempts, freeAttempts } from "../access/failures.ts";
import type { WebListener } from "../net/http/web-listener.ts";
import type { Log } from "../base/log.ts";

export interface AuthFailureResponse {
  readonly status: 401 | 429;
  readonly body: { readonly error: string };
  readonly headers: Readonly<Record<string, string>>;
  /** True if the failure has already been logged. */
  readonly isLogged?: boolean;
}

export function userGuard(
  listener: WebListener,
  log: Log,
  nowMs: () => number = Date.now,
): (request: IncomingMessage) => Promise<AuthFailureResponse | undefined> {
  const failures = new FailedAttempts();
  return async (request) => {
    const { users } = listener;
    if (!users.any) return undefined;
    const given = credentialsOf(request.headers.authorization);
    if (given?.user === undefined) return unauthorized("this agent requires a user and a password");
    const password = given.secret.reveal();
    if (users.remembers(given.user, password)) return undefined;
    const address = request.socket.remoteAddress ?? "";
    const waitMs = failures.waitMs(address, nowMs());
    if (waitMs > 0)
      return {
        status: 429,
        body: { error: "too many wrong passwords from this address: wait a minute" },
        headers: { "retry-after": String(Math.ceil(waitMs / 1_000)) },
      };
    if (await users.check(given.user, password)) return undefined;
    // People type their password into the user field, so only existing names are logged.
    const user = users.names.find((name) => name === given.user) ?? "an unknown name";
    if (failures.add(address, nowMs()) <= freeAttempts)
      log.warn("access refused", { address, user, why: "password" });
    return { ...unauthorized("the user name or password is wrong"), isLogged: true };
  };
}

const unauthorized = (error: string): AuthFailureResponse => ({
  status: 401,
  body: { error },
  headers: { "www-authenticate": 'Basic realm="gpulse"' },
});
