/** Authenticates and authorizes requests by token, session, user or share. Sends no responses itself. */
import type { IncomingHttpHeaders } from "node:http";
import type { LoginAttempts } from "../../access/attempts.ts";
import { type Credentials, credentialsOf, influxCredentials } from "../../access/credentials.ts";
import { type AccessState, isAccessDamaged } from "../../access/open.ts";
import { allows, type Scope } from "../../access/scope.ts";
import type { SessionHolder } from "../../access/sessions.ts";
import type { Token, TokenRefusalReason } from "../../access/tokens.ts";
import { scopeOfRole } from "../../access/users.ts";
import type { BasicUsers } from "../../net/http/basic-users.ts";
import { sessionOf } from "./cookie.ts";
import { isClosedToShares } from "./required-scope.ts";
import type { OidcSettings } from "../../access/oidc.ts";
import type { RefusalCounts } from "./self-metrics.ts";

/** Access state together with how the hub is reached, which decides whether authentication is needed. */
export interface HubAccess extends AccessState {
  /** Users of the web configuration file, who have full access, as in Prometheus. */
  readonly users: () => BasicUsers;
  /** Loopback without `always`: reads need no credentials. */
  readonly openReads: boolean;
  /** Loopback or `--insecure`: no credentials are needed as long as there is no token and no user. */
  readonly openWithoutTokens: boolean;
  /** True if the browser reaches the hub by HTTPS: its cookies are then restricted to HTTPS. */
  readonly secure: boolean;
  /** A reverse proxy forwards the requests, so a loopback peer address does not identify the client. */
  readonly behindProxy?: boolean;
  readonly random: (bytes: number) => Buffer;
  readonly refused: RefusalCounts;
  /** OpenID provider whose users may log in besides the hub's own. */
  readonly oidc?: OidcSettings;
}

export interface AuthRequest {
  readonly needs: Scope;
  readonly pattern: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly address: string;
}

export interface AuthenticatedCaller {
  readonly by: "token" | "session" | "user" | "share";
  readonly name: string;
  readonly scope: Scope;
  /** The account behind the credentials. */
  readonly holder: SessionHolder;
  /** Key and end time of a session or share. */
  readonly session?: { readonly key: string; readonly endsMs: number };
}
export type Caller = { readonly by: "nobody" } | AuthenticatedCaller;

export type AuthResult =
  | { readonly ok: true; readonly access: Caller }
  | {
      readonly ok: false;
      readonly why: "missing" | "password" | "damaged" | TokenRefusalReason;
      readonly who?: string;
    }
  | {
      readonly ok: false;
      readonly why: "scope";
      readonly who: string;
      readonly scope: Scope;
      readonly by: AuthenticatedCaller["by"];
    }
  | { readonly ok: false; readonly why: "too-many"; readonly waitMs: number };

const nobody: Caller = { by: "nobody" };

/** Suggested wait while all slots for password checks are in use. */
const busyMs = 2_000;

export class Authenticator {
  readonly #access: HubAccess;
  readonly #attempts: LoginAttempts;

  constructor(access: HubAccess, attempts: LoginAttempts) {
    this.#access = access;
    this.#attempts = attempts;
  }

  /**
   * Returns the caller if no credentials are needed or a live token allows the request; undefined leaves the decision to
   * `judge`. Counts nothing and waits for nothing.
   */
  quickCaller(
    { needs, pattern, headers }: Pick<AuthRequest, "needs" | "pattern" | "headers">,
    nowMs: number,
  ): Caller | undefined {
    if (!requiresAuth(this.#access)) return nobody;
    const given = credentialsOf(headers.authorization);
    if (given === undefined || isAccessDamaged(this.#access)) return undefined;
    const judged = this.#access.tokens.judge(given.secret.reveal(), nowMs);
    if (!judged.ok) return undefined;
    const result = enough(tokenCaller(judged.token), { needs, pattern });
    return result.ok ? result.access : undefined;
  }

  async judge(asked: AuthRequest, nowMs: number): Promise<AuthResult> {
    const caller = this.quickCaller(asked, nowMs);
    if (caller !== undefined) return { ok: true, access: caller };
    const given = credentialsIn(asked);
    if (isAccessDamaged(this.#access)) {
      if (given !== undefined || asked.needs !== "read") return { ok: false, why: "damaged" };
    }
    if (given !== undefined) return this.#judgeCredentials(given, asked, nowMs);
    const session = this.#judgeSession(asked, nowMs);
    if (session !== undefined) return session;
    // Requests forwarded by a proxy on this machine may come from anywhere.
    if (this.#access.openReads && asked.needs === "read" && !wasForwarded(asked.headers))
      return { ok: true, access: nobody };
    return { ok: false, why: "missing" };
  }

  /** True if the caller's access is still valid: a token may have been revoked since, a user logged out. */
  stillGood(access: Caller, nowMs: number): boolean {
    if (access.by === "nobody") return true;
    const { holder, session } = access;
    if (session !== undefined && this.#access.sessions.touch(session.key, nowMs) === undefined)
      return false;
    return this.isHolderGood(holder, nowMs);
  }

  /** Checks a name and password; the login form uses it too. */
  async judgePassword(
    name: string,
    password: string,
    address: string,
    nowMs: number,
  ): Promise<
    { readonly ok: true; readonly access: AuthenticatedCaller } | Exclude<AuthResult, { ok: true }>
  > {
    if (isAccessDamaged(this.#access)) return { ok: false, why: "damaged" };
    const { accounts, users } = this.#access;
    const files = users();
    const remembered = accounts.remembers(name, password);
    if (remembered !== undefined) return { ok: true, access: knownUser(remembered) };
    if (files.remembers(name, password)) return { ok: true, access: fileUser(name, files) };
    const waitMs = this.#attempts.waitMs(address, name, nowMs);
    if (waitMs > 0) return { ok: false, why: "too-many", waitMs };
    if (accounts.any) {
      const checked = await accounts.check(name, password);
      if (checked.ok) {
        this.#attempts.succeeded(address, name);
        return { ok: true, access: knownUser(checked.user) };
      }
      if (checked.why === "busy") return { ok: false, why: "too-many", waitMs: busyMs };
    }
    if (files.any && (await files.check(name, password))) {
      this.#attempts.succeeded(address, name);
      return { ok: true, access: fileUser(name, files) };
    }
    this.#attempts.failed(address, name, nowMs);
    return { ok: false, why: "password", who: this.triedName(name) };
  }

  /** The name for log lines. Users type passwords into the wrong field, so only existing names are logged. */
  triedName(name: string): string {
    const known =
      this.#access.accounts.get(name)?.name ??
      this.#access.users().names.find((one) => one === name);
    return known ?? "an unknown name";
  }

  async #judgeCredentials(
    { secret, user }: Credentials,
    asked: AuthRequest,
    nowMs: number,
  ): Promise<AuthResult> {
    const { tokens, users, accounts } = this.#access;
    let judged = tokens.judge(secret.reveal(), nowMs);
    const waitMs = this.#attempts.byAddress.waitMs(asked.address, nowMs);
    // The token may be new. The refresh costs a stat call, which clients with many failures do not get.
    if (!judged.ok && waitMs === 0 && tokens.refresh())
      judged = tokens.judge(secret.reveal(), nowMs);
    if (judged.ok) return enough(tokenCaller(judged.token), asked);
    if (user !== undefined && (users().any || accounts.any) && judged.token === undefined) {
      const checked = await this.judgePassword(user, secret.reveal(), asked.address, nowMs);
      return checked.ok ? enough(checked.access, asked) : checked;
    }
    if (waitMs > 0) return { ok: false, why: "too-many", waitMs };
    const { why, token } = judged;
    return {
      ok: false,
      why,
      ...(token === undefined ? {} : { who: `${token.name} (${token.id})` }),
    };
  }

  #judgeSession(asked: AuthRequest, nowMs: number): AuthResult | undefined {
    const value = sessionOf(asked.headers.cookie, this.#access.secure);
    const session = value === undefined ? undefined : this.#access.sessions.find(value, nowMs);
    if (session === undefined || !this.isHolderGood(session.holder, nowMs)) return undefined;
    const { holder, name, scope, key, endsMs } = session;
    const by = holder.kind === "share" ? "share" : "session";
    return enough({ by, name, scope, holder, session: { key, endsMs } }, asked);
  }

  /** True if this account still grants access. */
  isHolderGood(holder: SessionHolder, nowMs: number): boolean {
    const { tokens, accounts, shares, users, oidc } = this.#access;
    switch (holder.kind) {
      case "token":
        return tokens.stillGood(holder.id, nowMs);
      case "user":
        return accounts.stillGood(holder.id, holder.generation);
      case "file-user":
        return users().stampOf(holder.id) === holder.stamp;
      case "share":
        return shares.stillGood(holder.id, nowMs);
      case "oidc":
        return oidc !== undefined;
    }
  }
}

/** True if requests need authentication in the current state. */
export const requiresAuth = ({
  tokens,
  accounts,
  users,
  oidc,
  openWithoutTokens,
}: HubAccess): boolean =>
  !openWithoutTokens || tokens.any || accounts.any || users().any || oidc !== undefined;

const knownUser = ({
  name,
  role,
  generation,
}: {
  readonly name: string;
  readonly role: "viewer" | "admin";
  readonly generation: number;
}): AuthenticatedCaller => ({
  by: "user",
  name,
  scope: scopeOfRole(role),
  holder: { kind: "user", id: name, generation },
});

const fileUser = (name: string, files: BasicUsers): AuthenticatedCaller => ({
  by: "user",
  name,
  scope: "admin",
  holder: { kind: "file-user", id: name, stamp: files.stampOf(name) ?? "" },
});

const tokenCaller = ({ id, name, scope }: Token): AuthenticatedCaller => ({
  by: "token",
  name,
  scope,
  holder: { kind: "token", id },
});

function enough(
  access: AuthenticatedCaller,
  { needs, pattern }: Pick<AuthRequest, "needs" | "pattern">,
): AuthResult {
  const { by, name, scope } = access;
  return allows(scope, needs) && !(by === "share" && isClosedToShares(pattern))
    ? { ok: true, access }
    : { ok: false, why: "scope", who: name, scope, by };
}

const influxPatterns = new Set(["/write", "/query"]);

function credentialsIn({ headers, pattern, url }: AuthRequest): Credentials | undefined {
  const credentials = credentialsOf(headers.authorization);
  if (credentials !== undefined || !influxPatterns.has(pattern)) return credentials;
  const at = url.indexOf("?");
  return at === -1 ? undefined : influxCredentials(new URLSearchParams(url.slice(at + 1)));
}

export const wasForwarded = (headers: IncomingHttpHeaders): boolean =>
  ["forwarded", "x-forwarded-for", "x-real-ip", "via"].some((name) => headers[name] !== undefined);
