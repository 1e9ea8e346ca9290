/**
 * `/api/shares`: links to a view, created, listed and revoked by administrators; and `/share`, the page a link opens. The
 * secret is in the URL fragment, which browsers send to no server: a script passes it to `/api/share` in a body.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import * as v from "valibot";
import { defaultShareMs, maxShareMs, type Share, shareName } from "../../access/shares.ts";
import { tokenStateOf } from "../../access/tokens.ts";
import { checkValue } from "../../config/check.ts";
import { formatError } from "../../base/error.ts";
import { sessionCookie, sessionOf } from "./cookie.ts";
import type { HubAccess } from "./authenticator.ts";
import { noStore, sendError, sendThrownError } from "../reply.ts";
import { isoTime, isUnknownCaller, callerName } from "./caller.ts";
import type { LoginContext } from "./login.ts";
import { sendAccessPage } from "./pages.ts";
import { pagePath } from "./share-page.ts";

const bodyLimit = 8_192;

const wantedShare = v.strictObject({
  name: v.optional(
    v.pipe(v.string("a name"), v.regex(shareName, "1 to 100 characters on one line")),
    "shared view",
  ),
  page: v.optional(v.string("a page such as /gpu?uuid=…"), "/"),
  expiresInSeconds: v.optional(
    v.pipe(
      v.number("a number of seconds"),
      v.minValue(60, "at least 60"),
      v.maxValue(maxShareMs / 1_000, "at most 90 days"),
    ),
    defaultShareMs / 1_000,
  ),
});

export function addShares(app: FastifyInstance, context: LoginContext): void {
  const { access, log, nowMs } = context;
  const guarded = async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    if (isUnknownCaller(request, access))
      await sendError(reply, 403, "Log in first: only authenticated users create links.");
  };

  app.get("/api/shares", { onRequest: guarded }, async (_request, reply) => {
    access.shares.refresh();
    const shares = access.shares.list().map((share) => shareJson(share, access, nowMs()));
    return noStore(reply).send({ shares });
  });

  app.post("/api/shares", { bodyLimit, onRequest: guarded }, async (request, reply) => {
    const checked = checkValue(wantedShare, request.body ?? {});
    if (!checked.ok)
      return sendError(reply, 400, checked.problems.map(({ sentence }) => sentence).join(" "));
    const { name, page: given, expiresInSeconds } = checked.value;
    const page = pagePath(given);
    if (page === undefined)
      return sendError(reply, 400, "A share leads to a page of this hub, such as /gpu?uuid=…");
    try {
      const expiresMs = nowMs() + expiresInSeconds * 1_000;
      const wanted = { name, page, createdBy: callerName(request), expiresMs };
      const { share, secret } = access.shares.add(wanted, nowMs(), access.random);
      log.info("share created", { name, id: share.id, by: callerName(request) });
      return await noStore(reply.code(201)).send({
        ...shareJson(share, access, nowMs()),
        path: `share#${secret.reveal()}`,
      });
    } catch (thrown) {
      return sendThrownError(reply, 409, thrown);
    }
  });

  app.delete<{ Params: { id: string } }>(
    "/api/shares/:id",
    { onRequest: guarded },
    async (request, reply) => {
      try {
        const share = access.shares.revoke(request.params.id, nowMs());
        access.sessions.closeAllOf({ kind: "share", id: share.id });
        log.info("share revoked", { name: share.name, id: share.id, by: callerName(request) });
        return await noStore(reply).send(shareJson(share, access, nowMs()));
      } catch (thrown) {
        return sendThrownError(reply, 404, thrown);
      }
    },
  );

  app.get("/share", async (_request, reply) =>
    sendAccessPage(
      reply,
      200,
      "shared view",
      `<p id="said" role="status">Opening the shared view…</p>
<noscript><p>A shared link needs JavaScript, so that its secret is written into no server's log.</p></noscript>`,
      `<script src="share.js" defer></script>`,
    ),
  );
  app.get("/share.js", async (_request, reply) =>
    reply
      .type("text/javascript; charset=utf-8")
      .header("cache-control", "max-age=3600")
      .send(script),
  );
  app.post("/api/share", { bodyLimit }, async (request, reply) =>
    exchange(context, request, reply),
  );
}

const wantedSecret = v.object({ secret: v.string() });

/** Exchanges the secret for a session that ends with the share. A logged-in user stays logged in. */
async function exchange(
  { access, attempts, judge, log, nowMs, failed }: LoginContext,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  access.shares.refresh();
  const body = v.safeParse(wantedSecret, request.body);
  const share = body.success ? access.shares.find(body.output.secret, nowMs()) : undefined;
  if (share === undefined) {
    const waitMs = attempts.byAddress.waitMs(request.ip, nowMs());
    if (waitMs > 0)
      return sendError(
        reply.header("retry-after", Math.ceil(waitMs / 1_000)),
        429,
        "Too many wrong links from this address: wait a minute.",
      );
    failed(request.ip, { ok: false, why: "unknown" }, "POST /api/share");
    return sendError(
      reply,
      401,
      "This link is incomplete, has expired or was revoked: ask its sender for a new one.",
    );
  }
  request.audited = { who: share.name, by: "share", target: share.id };
  noteUse(access, share, nowMs(), log);
  const { name, expiresMs, id, page } = share;
  const held = sessionOf(request.headers.cookie, access.secure);
  const own = held === undefined ? undefined : access.sessions.find(held, nowMs());
  const isOwn =
    own !== undefined &&
    own.holder.kind !== "share" &&
    judge.stillGood({ by: "session", ...own, session: own }, nowMs());
  if (!isOwn) {
    const holder = { kind: "share", id } as const;
    const value = access.sessions.open({ holder, name, scope: "read" }, nowMs(), expiresMs);
    const seconds = (expiresMs - nowMs()) / 1_000;
    reply.header("set-cookie", sessionCookie(value, access.secure, seconds));
  }
  return noStore(reply).send({ page: `.${page}` });
}

function noteUse(access: HubAccess, { id }: Share, nowMs: number, log: LoginContext["log"]): void {
  try {
    access.shares.noteUse(id, nowMs);
  } catch (thrown) {
    log.warn("counting the use of a share failed", { error: formatError(thrown) });
  }
}

function shareJson(share: Share, { shares }: HubAccess, nowMs: number) {
  const use = shares.useOf(share.id);
  return {
    id: share.id,
    name: share.name,
    page: share.page,
    state: tokenStateOf(share, nowMs),
    created: isoTime(share.createdMs),
    createdBy: share.createdBy,
    expires: isoTime(share.expiresMs),
    revoked: isoTime(share.revokedMs),
    opened: use?.count ?? 0,
    lastOpened: isoTime(use?.lastMs),
  };
}

/** Removes the secret from the address first, so that it is not in the browser's history. */
const script = `"use strict";
const secret = location.hash.slice(1);
history.replaceState(null, "", location.pathname);
const said = document.querySelector("#said");
const say = (text) => { said.textContent = text; said.setAttribute("role", "alert"); };
if (secret === "") say("This link is incomplete: copy it whole, with the # and the text after it.");
else fetch("api/share", {
  method: "POST",
  headers: { "content-type": "application/json" },
  body: JSON.stringify({ secret }),
  credentials: "same-origin",
}).then(async (answer) => {
  const body = await answer.json();
  if (answer.ok) location.replace(body.page);
  else say(body.error || "The hub refused this link.");
}).catch(() => say("The hub does not respond: try again in a moment."));
`;
