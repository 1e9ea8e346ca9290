/** Authorizes every request before any of its body is read. Logs refusals with the reason, never with the credentials. */
import type { IncomingHttpHeaders, ServerResponse } from "node:http";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { LoginAttempts } from "../../access/attempts.ts";
import { freeAttempts } from "../../access/failures.ts";
import type { OidcSettings } from "../../access/oidc.ts";
import type { Scope } from "../../access/scope.ts";
import { refreshAccess } from "../../access/open.ts";
import { formatError } from "../../base/error.ts";
import type { Log } from "../../base/log.ts";
import { isCrossSite, isUnverifiedChange } from "./cross-site.ts";
import { Authenticator, type AuthResult, type Caller, type HubAccess } from "./authenticator.ts";
import { addLogin, wantsPage } from "./login.ts";
import { hasDocs } from "../page.ts";
import { addMe } from "./me-api.ts";
import { requiredScope } from "./required-scope.ts";
import { addOidc } from "./oidc-routes.ts";
import { sendLoginPage, sendForbiddenPage, sendRedirectPage } from "./pages.ts";
import { formatRefusal } from "./refusal.ts";
import { addSessions } from "./sessions-api.ts";
import { addShares } from "./shares-api.ts";
import { addTokens } from "./tokens-api.ts";
import { addUsers } from "./users-api.ts";
import { noStore } from "../reply.ts";

export interface AuthOptions {
  readonly access: HubAccess;
  readonly log: Log;
  readonly nowMs: () => number;
  readonly publicUrl?: string;
  readonly docsDir?: string;
}

declare module "fastify" {
  interface FastifyRequest {
    /** The caller of the request; set before any route runs. */
    access: Caller | null;
  }
}

/** How soon a change by another process takes effect. */
const refreshEveryMs = 1_000;

/**
 * Returns the caller of a request that needs no further check, and records it as the hook does; undefined leaves the request to
 * the hook.
 */
export type QuickAuth = (
  needs: Scope,
  pattern: string,
  headers: IncomingHttpHeaders,
) => Caller | undefined;

export async function addAuth(app: FastifyInstance, options: AuthOptions): Promise<QuickAuth> {
  const { access, log, nowMs, publicUrl } = options;
  const attempts = new LoginAttempts();
  const judge = new Authenticator(access, attempts);
  /** Responses that last for hours, with their callers. */
  const streams = new Map<ServerResponse, Caller>();
  const noteUse = usesNoted(access, log);
  const failed = (
    address: string,
    verdict: Exclude<AuthResult, { ok: true }>,
    path: string,
  ): void => {
    const count = attempts.byAddress.add(address, nowMs());
    if (count > freeAttempts) return;
    const more = count === freeAttempts ? { more: "more in this minute are not logged" } : {};
    const who = "who" in verdict ? verdict.who : undefined;
    log.warn("access refused", { address, path, why: verdict.why, token: who, ...more });
  };

  app.decorateRequest("access", null);
  app.addHook("onRequest", async (request, reply) => {
    // An earlier guard has already responded.
    if (reply.sent) return;
    const pattern = request.routeOptions.url;
    const needs = requiredScope(request.method, pattern);
    if (needs === undefined) return;
    const { url, headers, ip: address } = request;
    const verdict = await judge.judge(
      { needs, pattern: pattern ?? "", url, headers, address },
      nowMs(),
    );
    if (!verdict.ok) {
      access.refused.add(verdict.why);
      // A browser without a login is not an attack.
      if (!["missing", "too-many", "damaged"].includes(verdict.why)) {
        failed(address, verdict, `${request.method} ${pattern ?? "?"}`);
        request.isRefusalLogged = true;
      }
      return refuse(request, reply, verdict, access);
    }
    request.access = verdict.access;
    if (verdict.access.by === "nobody") return;
    if ("session" in verdict.access && isUnverifiedChange(request.method, headers, publicUrl))
      return answer(
        reply,
        403,
        "forbidden",
        "A change by session must come from this hub's own page: a program sends a token as Authorization: Bearer TOKEN.",
      );
    const { holder } = verdict.access;
    if (holder.kind === "token") noteUse(holder.id, nowMs());
    if (pattern === "/api/live") {
      streams.set(reply.raw, verdict.access);
      reply.raw.once("close", () => streams.delete(reply.raw));
    }
  });

  const endStreams = (): void => {
    for (const [stream, who] of streams) if (!judge.stillGood(who, nowMs())) stream.destroy();
  };
  const timer = setInterval(() => {
    try {
      refreshAccess(access);
    } catch (thrown) {
      log.error("reading tokens and users failed: the last known ones stay valid", {
        error: formatError(thrown),
      });
    }
    endStreams();
  }, refreshEveryMs);
  timer.unref();
  app.addHook("onClose", async () => clearInterval(timer));

  const onRefused = (
    address: string,
    verdict: Exclude<AuthResult, { ok: true }>,
    path: string,
  ): void => {
    access.refused.add(verdict.why);
    if (verdict.why !== "too-many") failed(address, verdict, path);
  };
  const context = { access, judge, attempts, log, nowMs, endStreams, failed: onRefused };
  await addLogin(app, context);
  addMe(app, context, hasDocs(options.docsDir));
  addTokens(app, context);
  addUsers(app, context);
  addSessions(app, context);
  addShares(app, context);
  if (access.oidc !== undefined) addOidc(app, withCallback(access.oidc, publicUrl), context);
  return (needs, pattern, headers) => {
    const atMs = nowMs();
    const caller = judge.quickCaller({ needs, pattern, headers }, atMs);
    if (caller?.by === "token") noteUse(caller.holder.id, atMs);
    return caller;
  };
}

/** The provider redirects to the hub's public URL unless a redirect URL is set. */
const withCallback = (oidc: OidcSettings, publicUrl: string | undefined): OidcSettings =>
  publicUrl === undefined || oidc.redirectUrl !== undefined
    ? oidc
    : { ...oidc, redirectUrl: `${publicUrl.replace(/\/+$/, "")}/login/oidc/callback` };

/** A failing disk must not lock out a valid token. */
function usesNoted(access: HubAccess, log: Log): (id: string, nowMs: number) => void {
  let isFailing = false;
  return (id, nowMs) => {
    try {
      access.tokens.noteUse(id, nowMs);
    } catch (thrown) {
      if (!isFailing) log.warn("saving a token's last use failed", { error: formatError(thrown) });
      isFailing = true;
    }
  };
}

function refuse(
  request: FastifyRequest,
  reply: FastifyReply,
  verdict: Exclude<AuthResult, { ok: true }>,
  access: HubAccess,
): FastifyReply {
  const sentence = formatRefusal(verdict);
  const { method, headers } = request;
  const page = wantsPage(headers.accept);
  if (verdict.why === "scope")
    return page
      ? sendForbiddenPage(reply, sentence, verdict.who)
      : answer(reply, 403, "forbidden", sentence);
  if (verdict.why === "damaged") return answer(reply, 503, "unavailable", sentence);
  if (verdict.why === "too-many")
    return answer(
      reply.header("retry-after", Math.ceil(verdict.waitMs / 1_000)),
      429,
      "unavailable",
      sentence,
    );
  const basic = (access.users().any || access.accounts.any) && !isBrowser(headers);
  reply.header("www-authenticate", [
    'Bearer realm="gpulse"',
    ...(basic ? ['Basic realm="gpulse"'] : []),
  ]);
  if (!page) return answer(reply, 401, "unauthorized", sentence);
  if (verdict.why === "missing" && method === "GET" && isCrossSite(headers))
    return sendRedirectPage(reply, sameAgain(request.url));
  const oidc = access.oidc?.label;
  return sendLoginPage(reply, 401, oidc === undefined ? {} : { oidc });
}

/** Browsers react to `WWW-Authenticate` with their own password dialog over the login form, even for background requests. */
const isBrowser = (headers: IncomingHttpHeaders): boolean =>
  headers["sec-fetch-site"] !== undefined || (headers["user-agent"] ?? "").startsWith("Mozilla/");

/** The same URL as a relative one, independent of a proxy's path prefix. */
function sameAgain(url: string): string {
  const [path = "/"] = url.split("?", 1);
  return `./${path.slice(path.lastIndexOf("/") + 1)}${url.slice(path.length)}`;
}

/** Sends an error in the format of Prometheus's API, which its clients know how to show. */
const answer = (
  reply: FastifyReply,
  status: number,
  errorType: string,
  error: string,
): FastifyReply => noStore(reply.code(status)).send({ status: "error", errorType, error });
