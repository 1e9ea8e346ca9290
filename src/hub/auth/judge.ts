/** Who a request is from and whether that is enough. Knows tokens, sessions and users; sends nothing itself. */
import type { IncomingHttpHeaders } from "node:http";
import type { Credentials } from "../../access/credentials.ts";
import { credentialsOf, influxCredentials } from "../../access/credentials.ts";
import type { Failures } from "../../access/failures.ts";
import type { Scope } from "../../access/scope.ts";
import { allows } from "../../access/scope.ts";
import type { Sessions } from "../../access/sessions.ts";
import type { Refusal, Tokens } from "../../access/tokens.ts";
import type { BasicUsers } from "../../http/basic-users.ts";
import { sessionOf } from "./cookie.ts";
import type { RefusedCounts } from "./own-frame.ts";

/** How the hub is reached, and so what it asks for. */
export interface HubAccess {
  readonly tokens: Tokens;
  /** Of the web configuration file; a user may do everything, as there. */
  readonly users: () => BasicUsers;
  /** Loopback, and not told to ask always: reading needs nothing there. */
  readonly openReads: boolean;
  /** Loopback, or told to be insecure: as long as there is no token and no user, nothing is asked. */
  readonly openWithoutTokens: boolean;
  /** The browser reaches the hub by HTTPS, so its cookie must not travel otherwise. */
  readonly secure: boolean;
  readonly random: (bytes: number) => Buffer;
  readonly refused: RefusedCounts;
}

export interface Asked {
  readonly needs: Scope;
  readonly pattern: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly address: string;
}

export type Access =
  | { readonly by: "nobody" }
  | {
      readonly by: "token" | "session";
      readonly tokenId: string;
      readonly name: string;
      readonly scope: Scope;
    }
  | { readonly by: "user"; readonly name: string; readonly scope: Scope };

export type Verdict =
  | { readonly ok: true; readonly access: Access }
  | { readonly ok: false; readonly why: "missing" | "password" | Refusal; readonly who?: string }
  | { readonly ok: false; readonly why: "scope"; readonly who: string; readonly scope: Scope }
  | { readonly ok: false; readonly why: "too-many"; readonly waitMs: number };

export class Judge {
  readonly #access: HubAccess;
  readonly #sessions: Sessions;
  readonly #failures: Failures;

  constructor(access: HubAccess, sessions: Sessions, failures: Failures) {
    this.#access = access;
    this.#sessions = sessions;
    this.#failures = failures;
  }

  async judge(asked: Asked, nowMs: number): Promise<Verdict> {
    const { tokens, users, openReads, openWithoutTokens } = this.#access;
    const nobody: Verdict = { ok: true, access: { by: "nobody" } };
    if (openWithoutTokens && !tokens.any && !users().any) return nobody;
    const given = shownBy(asked);
    if (given !== undefined) return this.#judgeCredentials(given, asked, nowMs);
    const session = this.#judgeSession(asked, nowMs);
    if (session !== undefined) return session;
    // What a proxy on this machine passes on comes from anywhere.
    if (openReads && asked.needs === "read" && !wasForwarded(asked.headers)) return nobody;
    return { ok: false, why: "missing" };
  }

  /** Whether what was allowed still would be: a token may have been revoked since. */
  stillGood(access: Access, nowMs: number): boolean {
    return "tokenId" in access ? this.#access.tokens.stillGood(access.tokenId, nowMs) : true;
  }

  async #judgeCredentials(
    { secret, user }: Credentials,
    asked: Asked,
    nowMs: number,
  ): Promise<Verdict> {
    const { tokens, users } = this.#access;
    let judged = tokens.judge(secret.reveal(), nowMs);
    const waitMs = this.#failures.waitMs(asked.address, nowMs);
    // It may have been made a moment ago; looking costs a stat, and those who fail often do not get it.
    if (!judged.ok && waitMs === 0 && tokens.refresh())
      judged = tokens.judge(secret.reveal(), nowMs);
    if (judged.ok) {
      const { id: tokenId, name, scope } = judged.token;
      return enough({ by: "token", tokenId, name, scope }, asked.needs);
    }
    if (user !== undefined && users().any && judged.token === undefined) {
      const password = secret.reveal();
      if (!users().remembers(user, password)) {
        if (waitMs > 0) return { ok: false, why: "too-many", waitMs };
        if (!(await users().check(user, password)))
          return { ok: false, why: "password", who: user.slice(0, 100) };
      }
      return enough({ by: "user", name: user, scope: "admin" }, asked.needs);
    }
    if (waitMs > 0) return { ok: false, why: "too-many", waitMs };
    const { why, token } = judged;
    return {
      ok: false,
      why,
      ...(token === undefined ? {} : { who: `${token.name} (${token.id})` }),
    };
  }

  #judgeSession(asked: Asked, nowMs: number): Verdict | undefined {
    const name = sessionOf(asked.headers.cookie, this.#access.secure);
    const session = name === undefined ? undefined : this.#sessions.find(name, nowMs);
    if (session === undefined || !this.#access.tokens.stillGood(session.tokenId, nowMs))
      return undefined;
    const { tokenId, tokenName, scope } = session;
    return enough({ by: "session", tokenId, name: tokenName, scope }, asked.needs);
  }
}

function enough(access: Exclude<Access, { by: "nobody" }>, needs: Scope): Verdict {
  return allows(access.scope, needs)
    ? { ok: true, access }
    : { ok: false, why: "scope", who: access.name, scope: access.scope };
}

const influxPatterns = new Set(["/write", "/query"]);

function shownBy({ headers, pattern, url }: Asked): Credentials | undefined {
  const shown = credentialsOf(headers.authorization);
  if (shown !== undefined || !influxPatterns.has(pattern)) return shown;
  const at = url.indexOf("?");
  return at === -1 ? undefined : influxCredentials(new URLSearchParams(url.slice(at + 1)));
}

export const wasForwarded = (headers: IncomingHttpHeaders): boolean =>
  ["forwarded", "x-forwarded-for", "x-real-ip", "via"].some((name) => headers[name] !== undefined);
