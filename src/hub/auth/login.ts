/** Login and logout of the page: a plain form without a script; secrets are sent in a body, never in a URL. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { LoginAttempts } from "../../access/attempts.ts";
import { isAccessDamaged, refreshAccess } from "../../access/open.ts";
import { looksLikeToken } from "../../access/token.ts";
import { formatError } from "../../base/error.ts";
import type { Log } from "../../base/log.ts";
import { cookieOf, sessionCookie } from "./cookie.ts";
import type { HubAccess, Authenticator, AuthenticatedCaller, AuthResult } from "./authenticator.ts";
import { sendLoginPage } from "./pages.ts";
import { formatRefusal } from "./refusal.ts";
import { pagePath } from "./share-page.ts";
import { noStore } from "../reply.ts";

export interface LoginContext {
  readonly access: HubAccess;
  readonly judge: Authenticator;
  readonly attempts: LoginAttempts;
  readonly log: Log;
  readonly nowMs: () => number;
  /** Ends the live streams of callers that have lost access at once; otherwise that happens within a second. */
  readonly endStreams: () => void;
  /** Counts and logs a failed attempt. */
  readonly failed: (
    address: string,
    verdict: Exclude<AuthResult, { ok: true }>,
    path: string,
  ) => void;
}

const maxBodyBytes = 8_192;

export async function addLogin(app: FastifyInstance, context: LoginContext): Promise<void> {
  const oidc = context.access.oidc?.label;
  app.get("/login", async (_request, reply) =>
    sendLoginPage(reply, 200, oidc === undefined ? {} : { oidc }),
  );
  await app.register(async (scope) => {
    scope.addContentTypeParser(
      "application/x-www-form-urlencoded",
      { parseAs: "string", bodyLimit: maxBodyBytes },
      (_request, body, done) => done(null, Object.fromEntries(new URLSearchParams(String(body)))),
    );
    scope.post("/api/login", { bodyLimit: maxBodyBytes }, async (request, reply) => {
      const given = (name: string): string => textIn(request.body, name);
      const [name, password] = [given("name").trim(), given("password") || given("token")];
      const judged = await logIn(context, name, password, request.ip);
      if (!judged.ok) {
        context.failed(request.ip, judged, "POST /api/login");
        const tried = name === "" ? "a token" : context.judge.triedName(name);
        request.audited = { who: tried, by: "nobody", target: tried, why: judged.why };
        return refuseLogin(request, reply, judged, {
          next: given("next"),
          ...(oidc === undefined ? {} : { oidc }),
        });
      }
      const { access } = judged;
      request.audited = {
        who: access.name,
        by: "session",
        target: access.name,
        scope: access.scope,
      };
      openSession(context, access, request, reply);
      return reply.redirect(`..${pagePath(`/${given("next")}`) ?? "/"}`, 303);
    });
    scope.post("/api/logout", { bodyLimit: maxBodyBytes }, async (request, reply) => {
      if (textIn(request.body, "everywhere") === "yes") logOutEverywhere(context, request);
      closeSession(context.access, request);
      return reply
        .header("set-cookie", sessionCookie("", context.access.secure, 0))
        .redirect("../login", 303);
    });
  });
}

/** Opens a new session at each login, whatever cookie the request had, which prevents session fixation. */
export function openSession(
  { access, log, nowMs }: Pick<LoginContext, "access" | "log" | "nowMs">,
  { name, scope, holder }: Pick<AuthenticatedCaller, "name" | "scope" | "holder">,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  closeSession(access, request);
  const value = access.sessions.open({ name, scope, holder }, nowMs());
  reply.header("set-cookie", sessionCookie(value, access.secure, access.sessions.lengthMs / 1_000));
  log.info("logged in", { name, how: holder.kind, address: request.ip });
  if (holder.kind !== "user") return;
  try {
    access.accounts.noteLogin(name, nowMs());
  } catch (thrown) {
    log.warn("saving a user's last login failed", { error: formatError(thrown) });
  }
}

function closeSession(access: HubAccess, { headers }: FastifyRequest): void {
  const value = cookieOf("session", headers.cookie, access.secure);
  if (value !== undefined) access.sessions.close(value);
}

function logOutEverywhere({ access }: LoginContext, { access: who }: FastifyRequest): void {
  if (who === null || who.by === "nobody" || who.by === "share") return;
  if (who.holder.kind === "user") access.accounts.endSessions(who.holder.id);
  access.sessions.closeAllOf(who.holder);
}

async function logIn(
  { access, judge, attempts, nowMs }: LoginContext,
  name: string,
  password: string,
  address: string,
): Promise<
  { readonly ok: true; readonly access: AuthenticatedCaller } | Exclude<AuthResult, { ok: true }>
> {
  refreshAccess(access);
  if (isAccessDamaged(access)) return { ok: false, why: "damaged" };
  if (name !== "" && !looksLikeToken(password.trim()))
    return judge.judgePassword(name, password, address, nowMs());
  const judged = access.tokens.judge(password.trim(), nowMs());
  if (judged.ok) {
    const { id, name: tokenName, scope } = judged.token;
    if (scope === "push") return { ok: false, why: "scope", who: tokenName, scope, by: "token" };
    const holder = { kind: "token", id } as const;
    return { ok: true, access: { by: "token", name: tokenName, scope, holder } };
  }
  const waitMs = attempts.byAddress.waitMs(address, nowMs());
  if (waitMs > 0) return { ok: false, why: "too-many", waitMs };
  const { why, token } = judged;
  return token === undefined ? { ok: false, why } : { ok: false, why, who: token.name };
}

const loginStatus: Readonly<Partial<Record<Exclude<AuthResult, { ok: true }>["why"], number>>> = {
  scope: 403,
  "too-many": 429,
  damaged: 503,
};

function refuseLogin(
  request: FastifyRequest,
  reply: FastifyReply,
  verdict: Exclude<AuthResult, { ok: true }>,
  again: { readonly next: string; readonly oidc?: string },
): FastifyReply {
  const { why } = verdict;
  const status = loginStatus[why] ?? 401;
  const problem =
    why === "scope"
      ? "This token may only push: log in with one of scope read or admin."
      : formatRefusal(verdict);
  if (why === "too-many") reply.header("retry-after", Math.ceil(verdict.waitMs / 1_000));
  return wantsPage(request.headers.accept)
    ? sendLoginPage(reply, status, { ...again, problem })
    : noStore(reply.code(status)).send({ error: problem });
}

export const wantsPage = (accept: string | undefined): boolean =>
  accept !== undefined && /\btext\/html\b/.test(accept);

function textIn(body: unknown, name: string): string {
  const value: unknown =
    typeof body === "object" && body !== null ? Reflect.get(body, name) : undefined;
  return typeof value === "string" ? value : "";
}
