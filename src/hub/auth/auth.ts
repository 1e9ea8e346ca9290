/** Judges every request before anything of its body is read. Says in the log who was refused and why, never with what. */
import type { ServerResponse } from "node:http";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { Failures, freeAttempts } from "../../access/failures.ts";
import { Sessions, sessionMs } from "../../access/sessions.ts";
import { sayError } from "../../errors/error.ts";
import type { Log } from "../../log/log.ts";
import { sessionCookie, sessionOf } from "./cookie.ts";
import type { Access, HubAccess, Verdict } from "./judge.ts";
import { Judge } from "./judge.ts";
import type { LoginDesk } from "./login.ts";
import { addLogin, sendLogin, wantsPage } from "./login.ts";
import { neededScope } from "./needs.ts";
import { addTokens } from "./tokens-api.ts";

export interface AuthOptions {
  readonly access: HubAccess;
  readonly log: Log;
  readonly nowMs: () => number;
}

declare module "fastify" {
  interface FastifyRequest {
    /** Who is asking; set before any route runs. */
    access: Access | null;
  }
}

/** Another process's change to the tokens acts within this. */
const refreshEveryMs = 1_000;

export async function addAuth(app: FastifyInstance, options: AuthOptions): Promise<void> {
  const { access, log, nowMs } = options;
  const sessions = new Sessions(access.random);
  const failures = new Failures();
  const judge = new Judge(access, sessions, failures);
  /** Answers that go on for hours, and whom they were allowed to. */
  const streams = new Map<ServerResponse, Access>();
  const noteUse = usesNoted(access, log);
  const failed = (address: string, verdict: Exclude<Verdict, { ok: true }>, path: string): void => {
    const count = failures.add(address, nowMs());
    if (count > freeAttempts) return;
    const more =
      count === freeAttempts ? { more: "further ones of this minute are not logged" } : {};
    const who = "who" in verdict ? verdict.who : undefined;
    log.warn("access refused", { address, path, why: verdict.why, token: who, ...more });
  };

  app.decorateRequest("access", null);
  app.addHook("onRequest", async (request, reply) => {
    // An earlier guard has answered already.
    if (reply.sent) return;
    const pattern = request.routeOptions.url;
    const needs = neededScope(request.method, pattern);
    if (needs === undefined) return;
    const { url, headers, ip: address } = request;
    const verdict = await judge.judge(
      { needs, pattern: pattern ?? "", url, headers, address },
      nowMs(),
    );
    if (!verdict.ok) {
      access.refused.add(verdict.why);
      // A browser that has yet to log in is no attempt at anything.
      if (verdict.why !== "missing" && verdict.why !== "too-many")
        failed(address, verdict, `${request.method} ${pattern ?? "?"}`);
      return refuse(request, reply, verdict, access.users().any);
    }
    request.access = verdict.access;
    if ("tokenId" in verdict.access) {
      noteUse(verdict.access.tokenId, nowMs());
      if (pattern === "/api/live") {
        streams.set(reply.raw, verdict.access);
        reply.raw.once("close", () => streams.delete(reply.raw));
      }
    }
  });

  const timer = setInterval(() => {
    try {
      access.tokens.refresh();
    } catch (thrown) {
      log.error("the tokens cannot be read, the last known ones go on", {
        trouble: sayError(thrown),
      });
    }
    for (const [stream, who] of streams) if (!judge.stillGood(who, nowMs())) stream.destroy();
  }, refreshEveryMs);
  timer.unref();
  app.addHook("onClose", async () => clearInterval(timer));

  await addLogin(app, desk(access, sessions, failures, failed, nowMs));
  addTokens(app, { access, sessions, log, nowMs });
}

function desk(
  access: HubAccess,
  sessions: Sessions,
  failures: Failures,
  failed: (address: string, verdict: Exclude<Verdict, { ok: true }>, path: string) => void,
  nowMs: () => number,
): LoginDesk {
  return {
    login: (text, address) => {
      access.tokens.refresh();
      const judged = access.tokens.judge(text, nowMs());
      if (!judged.ok) {
        if (failures.waitMs(address, nowMs()) > 0)
          return { status: 429, refused: "Too many attempts from here: wait a minute." };
        failed(
          address,
          judged.token === undefined ? judged : { ...judged, who: judged.token.name },
          "POST /api/login",
        );
        return { status: 401, refused: sentenceFor(judged) };
      }
      const { id: tokenId, name: tokenName, scope } = judged.token;
      if (scope === "push")
        return {
          status: 403,
          refused: "This token may only push: log in with one of scope read or admin.",
        };
      const value = sessions.open({ tokenId, tokenName, scope }, nowMs());
      return { cookie: sessionCookie(value, access.secure, sessionMs / 1_000) };
    },
    logout: (cookies) => {
      const name = sessionOf(cookies, access.secure);
      if (name !== undefined) sessions.close(name);
      return sessionCookie("", access.secure, 0);
    },
  };
}

/** A disk that takes no note of a use must not keep a right token out. */
function usesNoted(access: HubAccess, log: Log): (id: string, nowMs: number) => void {
  let told = false;
  return (id, nowMs) => {
    try {
      access.tokens.noteUse(id, nowMs);
    } catch (thrown) {
      if (!told) log.warn("when a token was last used is not kept", { trouble: sayError(thrown) });
      told = true;
    }
  };
}

function refuse(
  request: FastifyRequest,
  reply: FastifyReply,
  verdict: Exclude<Verdict, { ok: true }>,
  basic: boolean,
): FastifyReply {
  const sentence = sentenceFor(verdict);
  if (verdict.why === "scope") return answer(reply, 403, "forbidden", sentence);
  if (verdict.why === "too-many")
    return answer(
      reply.header("retry-after", Math.ceil(verdict.waitMs / 1_000)),
      429,
      "unavailable",
      sentence,
    );
  reply.header("www-authenticate", [
    'Bearer realm="gpulse"',
    ...(basic ? ['Basic realm="gpulse"'] : []),
  ]);
  const { method, headers } = request;
  if (method === "GET" && wantsPage(headers.accept)) return sendLogin(reply, 401);
  return answer(reply, 401, "unauthorized", sentence);
}

/** In the shape of Prometheus's API, which its clients know how to show. */
const answer = (
  reply: FastifyReply,
  status: number,
  errorType: string,
  error: string,
): FastifyReply =>
  reply
    .code(status)
    .header("cache-control", "no-store")
    .send({ status: "error", errorType, error });

/** Revoked and unknown read the same outside: the log says which it was. */
function sentenceFor(verdict: Exclude<Verdict, { ok: true }>): string {
  switch (verdict.why) {
    case "missing":
      return "This hub needs a token: send it as Authorization: Bearer TOKEN, or as the password of basic authentication.";
    case "expired":
      return "This token has expired: make another with gpulse token add.";
    case "password":
      return "The user name or password is wrong.";
    case "scope":
      return `This needs more than a token of scope ${verdict.scope} may do: make another with gpulse token add.`;
    case "too-many":
      return "Too many attempts with wrong credentials came from this address: wait a minute.";
    case "unknown":
    case "revoked":
      return "This token is unknown or was revoked: gpulse token list shows the good ones.";
  }
}
