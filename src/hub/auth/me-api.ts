/** `/api/me`: the current caller, its permissions and the end of its session; and a change of the caller's own password. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import * as v from "valibot";
import { maxPasswordLength } from "../../access/password.ts";
import { checkValue } from "../../config/check.ts";
import { type AuthenticatedCaller, type Caller, requiresAuth } from "./authenticator.ts";
import { noStore, sendError, sendThrownError } from "../reply.ts";
import { isoTime, isUnknownCaller } from "./caller.ts";
import type { LoginContext } from "./login.ts";

const bodyLimit = 16_384;

const password = () => v.pipe(v.string("a password"), v.maxLength(maxPasswordLength, "shorter"));
const wantedPassword = v.strictObject({ current: password(), password: password() });

export function addMe(app: FastifyInstance, context: LoginContext, docs: boolean): void {
  const { access } = context;
  app.get("/api/me", async (request, reply) =>
    noStore(reply).send({
      ...callerJson(request.access),
      // Without access control, any client may do everything except what needs an authenticated user.
      mayChange:
        request.access?.by === "nobody" ? !requiresAuth(access) : mayChange(request.access),
      mayManage:
        request.access?.by === "nobody"
          ? !requiresAuth(access) && !isUnknownCaller(request, access)
          : mayChange(request.access),
      asked: requiresAuth(access),
      page: pageOf(context, request.access),
      // Whether this hub serves its documentation under /docs.
      docs,
    }),
  );

  app.post("/api/me/password", { bodyLimit }, async (request, reply) => {
    const who = request.access;
    if (who === null || who.by === "nobody" || who.holder.kind !== "user" || who.by === "token")
      return sendError(
        reply,
        403,
        "Only a user of this hub has a password here: tokens, shared links, users of the web configuration file and of an OpenID provider are managed elsewhere.",
      );
    const checked = checkValue(wantedPassword, request.body ?? {});
    if (!checked.ok)
      return sendError(reply, 400, "Both the current password and the new one are needed.");
    return changeOwn(context, who, checked.value, request, reply);
  });
}

/** Requires the current password: an unattended page must not let someone take over the account. */
async function changeOwn(
  context: LoginContext,
  who: AuthenticatedCaller,
  wanted: { readonly current: string; readonly password: string },
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { access, judge, nowMs, failed, log } = context;
  const judged = await judge.judgePassword(who.name, wanted.current, request.ip, nowMs());
  if (!judged.ok) {
    failed(request.ip, judged, "POST /api/me/password");
    return judged.why === "too-many"
      ? sendError(
          reply.header("retry-after", Math.ceil(judged.waitMs / 1_000)),
          429,
          "Too many wrong passwords: wait a minute.",
        )
      : sendError(reply, 403, "The current password is wrong.");
  }
  try {
    const user = await access.accounts.setPassword(who.name, wanted.password, nowMs());
    log.info("password changed", { name: user.name, by: user.name });
    // Ends all other sessions of the user.
    const { name, generation } = user;
    if (who.session !== undefined)
      access.sessions.goOnAs(who.session.key, { kind: "user", id: name, generation });
    return await noStore(reply).send({ name });
  } catch (thrown) {
    return sendThrownError(reply, 400, thrown);
  }
}

const mayChange = (who: Caller | null): boolean =>
  who !== null && "scope" in who && who.scope === "admin";

function callerJson(who: Caller | null) {
  if (who === null || who.by === "nobody")
    return { by: "nobody", name: null, scope: null, how: null, ends: null, canLogOut: false };
  const { by, name, scope, holder, session } = who;
  return {
    by,
    name,
    scope,
    how: holder.kind,
    ends: isoTime(session?.endsMs),
    canLogOut: session !== undefined,
  };
}

function pageOf({ access }: LoginContext, who: Caller | null): string | null {
  if (who?.by !== "share") return null;
  return access.shares.get(who.holder.id)?.page ?? null;
}
