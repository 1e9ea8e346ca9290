/**
 * `/api/sessions`: the login sessions of the page, listed and ended by administrators. The id of a session is a prefix of its
 * digest and grants no access. Shares are not listed: they are revoked instead.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { idOfSession, type KeyedSession } from "../../access/sessions.ts";
import { noStore, sendError } from "../reply.ts";
import { isoTime, isUnknownCaller, callerName } from "./caller.ts";
import type { LoginContext } from "./login.ts";

type SessionNameRequest = { Params: { id: string }; Querystring: { everywhere?: unknown } };

export function addSessions(app: FastifyInstance, context: LoginContext): void {
  const { access, judge, log, nowMs, endStreams } = context;
  const guarded = async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    if (isUnknownCaller(request, access))
      await sendError(
        reply,
        403,
        "Sessions are listed for administrators only: log in as one, or run gpulse user sessions on the hub's machine.",
      );
  };
  const live = (): KeyedSession[] =>
    access.sessions
      .list(nowMs())
      .filter(({ holder }) => holder.kind !== "share" && judge.isHolderGood(holder, nowMs()));

  app.get("/api/sessions", { onRequest: guarded }, async (request, reply) => {
    const own = ownKey(request);
    const sessions = live().map((session) => ({
      ...sessionJson(session),
      own: session.key === own,
    }));
    return noStore(reply).send({ sessions });
  });

  app.delete<SessionNameRequest>(
    "/api/sessions/:id",
    { onRequest: guarded },
    async (request, reply) => {
      const found = live().find((session) => idOfSession(session) === request.params.id);
      if (found === undefined)
        return sendError(reply, 404, "There is no such session: it may have expired.");
      const everywhere = request.query.everywhere === "yes";
      const { name, holder } = found;
      request.audited = {
        target: `${name} (${holder.kind})`,
        ...(everywhere ? { why: "everywhere" } : {}),
      };
      const ended = everywhere
        ? live().filter((one) => one.holder.kind === holder.kind && one.holder.id === holder.id)
        : [found];
      for (const { key } of ended) access.sessions.end(key);
      endStreams();
      log.info("sessions ended", {
        name,
        how: holder.kind,
        count: ended.length,
        by: callerName(request),
      });
      return noStore(reply).send({ name, ended: ended.length });
    },
  );
}

const ownKey = ({ access }: FastifyRequest): string | undefined =>
  access !== null && "session" in access ? access.session?.key : undefined;

const sessionJson = (session: KeyedSession) => ({
  id: idOfSession(session),
  name: session.name,
  how: session.holder.kind,
  scope: session.scope,
  opened: isoTime(session.openedMs),
  seen: isoTime(session.seenMs),
  ends: isoTime(session.endsMs),
});
