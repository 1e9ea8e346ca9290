/**
 * The tokens of a hub: stored in `access/tokens.state` of its data folder, written by `gpulse token` and read by the running
 * hub, which loads changes at its next `refresh`. A revoked token stays listed, so that its name in an old log can be resolved.
 */
import { timingSafeEqual } from "node:crypto";
import path from "node:path";
import * as v from "valibot";
import { GpulseError } from "../base/error.ts";
import type { Secret } from "../net/http/secret.ts";
import type { Log } from "../base/log.ts";
import { StateMap } from "../base/state/state-map.ts";
import { type Scope, scopes } from "./scope.ts";
import { digestOf, looksLikeToken, makeToken } from "./token.ts";

const tokenSchema = v.object({
  id: v.string(),
  name: v.string(),
  scope: v.picklist(scopes),
  /** SHA-256 of the token's text, in hex. */
  digest: v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/)),
  createdMs: v.number(),
  expiresMs: v.optional(v.number()),
  revokedMs: v.optional(v.number()),
});
export type Token = Readonly<v.InferOutput<typeof tokenSchema>>;

export function readToken(value: unknown): Token | undefined {
  const parsed = v.safeParse(tokenSchema, value);
  return parsed.success ? parsed.output : undefined;
}

/** Why a token is refused. */
export type TokenRefusalReason = "unknown" | "revoked" | "expired";
export type TokenCheck =
  | { readonly ok: true; readonly token: Token }
  | { readonly ok: false; readonly why: TokenRefusalReason; readonly token?: Token };

const maxTokens = 10_000;
/** How long revoked and expired tokens stay listed. */
const forgetAfterMs = 90 * 86_400_000;
const noteUseEveryMs = 60_000;

export interface NewToken {
  readonly name: string;
  readonly scope: Scope;
  readonly expiresMs?: number;
}

export interface TokensOptions {
  readonly dataDir: string;
  readonly log: Log;
}

export class Tokens {
  readonly #tokens: StateMap<Token>;
  readonly #used: StateMap<number>;
  readonly #byDigest = new Map<string, Token>();

  constructor({ dataDir, log }: TokensOptions) {
    const folder = path.join(dataDir, "access");
    this.#tokens = new StateMap(path.join(folder, "tokens.state"), {
      log,
      shared: true,
      sync: true,
      strict: true,
      maxEntries: maxTokens,
      parse: readToken,
    });
    this.#used = new StateMap(path.join(folder, "token-use.state"), {
      log,
      shared: true,
      maxEntries: maxTokens,
      parse: (value) => (typeof value === "number" ? value : undefined),
    });
    this.#index();
  }

  /** True once a token was ever created, even if all are revoked: revoking tokens must not open the hub to everyone. */
  get any(): boolean {
    return this.#tokens.size > 0 || this.isDamaged;
  }

  /** While true, every token is refused: a lost record may be a revocation. */
  get isDamaged(): boolean {
    return this.#tokens.isDamaged;
  }

  anyLive(nowMs: number): boolean {
    return this.list().some((token) => tokenStateOf(token, nowMs) === "live");
  }

  list(): Token[] {
    return [...this.#tokens.values()].sort((a, b) => a.createdMs - b.createdMs);
  }

  lastUsedMs(id: string): number | undefined {
    return this.#used.get(id);
  }

  add(
    wanted: NewToken,
    nowMs: number,
    random: (bytes: number) => Buffer,
    /** A token text created elsewhere, already checked; random if absent. */
    given?: Secret,
  ): { readonly token: Token; readonly text: Secret } {
    this.refresh();
    this.#forgetOld(nowMs);
    if (this.list().some(({ name, ...token }) => name === wanted.name && isLive(token, nowMs)))
      throw new GpulseError(
        "TOKEN_NAME",
        `There is a token named ${wanted.name} already: choose another name, or revoke it first with gpulse token revoke ${wanted.name}.`,
      );
    const text = given ?? makeToken(wanted.scope, random);
    if (given !== undefined && this.#byDigest.has(digestOf(given.reveal())))
      throw new GpulseError(
        "TOKEN_TEXT",
        "This token exists already, maybe revoked: create another.",
      );
    const token: Token = {
      id: random(6).toString("hex"),
      ...wanted,
      digest: digestOf(text.reveal()),
      createdMs: nowMs,
    };
    this.#tokens.put(token.id, token);
    this.#index();
    return { token, text };
  }

  /** Finds the token by name or id; the live one if several had the name. */
  revoke(nameOrId: string, nowMs: number): Token {
    this.refresh();
    const found = this.list().filter(({ id, name }) => id === nameOrId || name === nameOrId);
    const token =
      found.find((one) => isLive(one, nowMs)) ??
      found.find(({ revokedMs }) => revokedMs === undefined);
    if (token === undefined) {
      throw new GpulseError(
        "TOKEN_NAME",
        found.length > 0
          ? `The token ${nameOrId} is revoked already.`
          : `There is no token ${nameOrId}: gpulse token list shows them.`,
      );
    }
    const revoked = { ...token, revokedMs: nowMs };
    this.#tokens.put(token.id, revoked);
    this.#index();
    return revoked;
  }

  judge(text: string, nowMs: number): TokenCheck {
    if (this.isDamaged || !looksLikeToken(text)) return { ok: false, why: "unknown" };
    const digest = digestOf(text);
    const token = this.#byDigest.get(digest);
    if (token === undefined || !timingSafeEqual(Buffer.from(token.digest), Buffer.from(digest)))
      return { ok: false, why: "unknown" };
    const state = tokenStateOf(token, nowMs);
    return state === "live" ? { ok: true, token } : { ok: false, why: state, token };
  }

  /** True if a previously accepted token is still valid. */
  stillGood(id: string, nowMs: number): boolean {
    const token = this.#tokens.get(id);
    return !this.isDamaged && token !== undefined && isLive(token, nowMs);
  }

  /** Records the use of a token, at most once a minute. */
  noteUse(id: string, nowMs: number): void {
    if (nowMs - (this.#used.get(id) ?? 0) >= noteUseEveryMs) this.#used.put(id, nowMs);
  }

  /** Loads changes of another process; true if there were any. */
  refresh(): boolean {
    this.#used.refresh();
    const changed = this.#tokens.refresh();
    if (changed) this.#index();
    return changed;
  }

  close(): void {
    this.#tokens.close();
    this.#used.close();
  }

  #index(): void {
    this.#byDigest.clear();
    for (const token of this.#tokens.values()) this.#byDigest.set(token.digest, token);
  }

  #forgetOld(nowMs: number): void {
    for (const { id, revokedMs, expiresMs } of this.list()) {
      const endedMs = revokedMs ?? expiresMs;
      if (endedMs === undefined || nowMs - endedMs < forgetAfterMs || this.#tokens.size < 2)
        continue;
      this.#tokens.delete(id);
      this.#used.delete(id);
    }
  }
}

export type TokenState = "live" | "revoked" | "expired";

export function tokenStateOf(
  token: Pick<Token, "revokedMs" | "expiresMs">,
  nowMs: number,
): TokenState {
  if (token.revokedMs !== undefined) return "revoked";
  return token.expiresMs !== undefined && token.expiresMs <= nowMs ? "expired" : "live";
}

const isLive = (token: Pick<Token, "revokedMs" | "expiresMs">, nowMs: number): boolean =>
  tokenStateOf(token, nowMs) === "live";
