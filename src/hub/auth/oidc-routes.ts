/**
 * `/login/oidc` redirects to the provider, `/login/oidc/callback` is the return URL. Each login is completed once, by the
 * browser that began it.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { nameOfClaims, type OidcSettings, scopeOfClaims } from "../../access/oidc.ts";
import { digestOf } from "../../access/token.ts";
import { cookieOf, loginCookie } from "./cookie.ts";
import { type LoginContext, openSession } from "./login.ts";
import { OidcClient, OidcError, type PendingLogin } from "./oidc-client.ts";
import { sendLoginPage, sendRedirectPage } from "./pages.ts";
import { pagePath } from "./share-page.ts";
import { noStore } from "../reply.ts";

const loginMs = 10 * 60_000;
const maxBegun = 1_000;

interface StoredPendingLogin extends PendingLogin {
  readonly next: string;
  readonly endsMs: number;
}

export function addOidc(app: FastifyInstance, settings: OidcSettings, context: LoginContext): void {
  const { access, log, nowMs } = context;
  const client = new OidcClient(settings, nowMs);
  /** By the digest of the cookie. In memory only: after a restart, users in the middle of a login begin again. */
  const begun = new Map<string, StoredPendingLogin>();
  const again = { oidc: settings.label };
  const refuse = (reply: FastifyReply, status: number, problem: string): FastifyReply =>
    sendLoginPage(reply, status, { ...again, problem });
  const sendOidcError = (reply: FastifyReply, thrown: unknown): FastifyReply => {
    if (!(thrown instanceof OidcError)) throw thrown;
    log.warn("OpenID login failed", { error: thrown.message });
    return refuse(reply, thrown.status, thrown.message);
  };

  app.get<{ Querystring: { next?: unknown } }>("/login/oidc", async (request, reply) => {
    const { next } = request.query;
    try {
      const { url, login } = await client.begin(
        settings.redirectUrl ?? callbackOf(request, access),
      );
      for (const [key, { endsMs }] of begun)
        if (endsMs <= nowMs() || begun.size >= maxBegun) begun.delete(key);
        else break;
      const value = access.random(32).toString("base64url");
      const page = typeof next === "string" ? pagePath(`/${next}`) : undefined;
      begun.set(digestOf(value), { ...login, next: page ?? "/", endsMs: nowMs() + loginMs });
      return await noStore(reply)
        .header("set-cookie", loginCookie(value, access.secure, loginMs / 1_000))
        .redirect(url.href, 303);
    } catch (thrown) {
      return sendOidcError(reply, thrown);
    }
  });

  app.get("/login/oidc/callback", async (request, reply) => {
    const value = cookieOf("login", request.headers.cookie, access.secure);
    const key = value === undefined ? "" : digestOf(value);
    const login = begun.get(key);
    // A login completes once: the callback URL cannot be replayed.
    begun.delete(key);
    reply.header("set-cookie", loginCookie("", access.secure, 0));
    request.audited = { who: "nobody", by: "nobody" };
    if (login === undefined || login.endsMs <= nowMs())
      return refuse(reply, 401, "This login was already completed or took too long: log in again.");
    try {
      const at = request.url.indexOf("?");
      const claims = await client.finish(login, at === -1 ? "" : request.url.slice(at + 1));
      const name = nameOfClaims(claims);
      const scope = scopeOfClaims(claims, settings);
      request.audited = {
        who: name,
        by: scope === undefined ? "nobody" : "session",
        ...(scope !== undefined && { scope }),
      };
      if (scope === undefined) {
        context.failed(
          request.ip,
          { ok: false, why: "scope", who: name, scope: "read", by: "user" },
          "GET /login/oidc/callback",
        );
        return refuse(
          reply,
          403,
          `${name} has no role here: an administrator can assign one with the claim ${settings.roleClaim}.`,
        );
      }
      const id = typeof claims["sub"] === "string" ? claims["sub"] : name;
      openSession(context, { name, scope, holder: { kind: "oidc", id } }, request, reply);
      return sendRedirectPage(reply, `../..${login.next}`);
    } catch (thrown) {
      return sendOidcError(reply, thrown);
    }
  });
}

/** The callback on the address the browser used. The provider redirects only to registered URLs. */
const callbackOf = (
  { headers }: FastifyRequest,
  { secure }: { readonly secure: boolean },
): string => `${secure ? "https" : "http"}://${headers.host ?? "localhost"}/login/oidc/callback`;
