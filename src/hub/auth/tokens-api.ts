/**
 * `/api/tokens`: tokens created and revoked on the page by administrators; the first one is created with `gpulse token add`.
 * Only the response that creates a token contains its text. A hub open to the network without access control lists none.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import * as v from "valibot";
import { scopes } from "../../access/scope.ts";
import { tokenName } from "../../access/token.ts";
import { type NewToken, type Token, tokenStateOf } from "../../access/tokens.ts";
import { checkValue } from "../../config/check.ts";
import type { Log } from "../../base/log.ts";
import { type HubAccess, requiresAuth } from "./authenticator.ts";
import { noStore, sendError, sendThrownError } from "../reply.ts";
import { isAnonymous, isoTime, isUnknownCaller, callerName } from "./caller.ts";

export interface TokenRoutesContext {
  readonly access: HubAccess;
  readonly log: Log;
  readonly nowMs: () => number;
}

const longestSeconds = 100 * 365 * 86_400;
const bodyLimit = 4_096;

const wantedToken = v.strictObject({
  name: v.pipe(v.string("a name"), v.regex(tokenName, "made of letters, digits and . _ @ -")),
  scope: v.optional(v.picklist(scopes, `one of ${scopes.join(", ")}`), "push"),
  expiresInSeconds: v.optional(
    v.pipe(
      v.number("a number of seconds"),
      v.minValue(1, "at least 1"),
      v.maxValue(longestSeconds, "at most 100 years"),
    ),
  ),
});

export function addTokens(app: FastifyInstance, context: TokenRoutesContext): void {
  const { access, log, nowMs } = context;
  app.get("/api/tokens", async (request, reply) => {
    if (isUnknownCaller(request, access)) return refuse(reply);
    access.tokens.refresh();
    const tokens = access.tokens.list().map((token) => tokenJson(token, access, nowMs()));
    return noStore(reply).send({
      tokens,
      users: access.users().names,
      asked: requiresAuth(access),
    });
  });

  app.post("/api/tokens", { bodyLimit }, async (request, reply) => {
    if (isAnonymous(request)) return refuse(reply);
    const checked = checkValue(wantedToken, request.body ?? {});
    if (!checked.ok)
      return sendError(reply, 400, checked.problems.map(({ sentence }) => sentence).join(" "));
    const { expiresInSeconds, ...wanted } = checked.value;
    const expires =
      expiresInSeconds === undefined ? {} : { expiresMs: nowMs() + expiresInSeconds * 1_000 };
    return add(context, { ...wanted, ...expires }, request, reply);
  });

  app.delete<{ Params: { id: string } }>("/api/tokens/:id", async (request, reply) => {
    if (isAnonymous(request)) return refuse(reply);
    try {
      const token = access.tokens.revoke(request.params.id, nowMs());
      log.info("token revoked", { name: token.name, id: token.id, by: callerName(request) });
      return await noStore(reply).send(tokenJson(token, access, nowMs()));
    } catch (thrown) {
      return sendThrownError(reply, 404, thrown);
    }
  });
}

async function add(
  context: TokenRoutesContext,
  wanted: NewToken,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { access, log, nowMs } = context;
  try {
    const { token, text } = access.tokens.add(wanted, nowMs(), access.random);
    log.info("token created", { name: token.name, scope: token.scope, by: callerName(request) });
    return await noStore(reply.code(201)).send({
      ...tokenJson(token, access, nowMs()),
      token: text.reveal(),
    });
  } catch (thrown) {
    return sendThrownError(reply, 409, thrown);
  }
}

function tokenJson(token: Token, { tokens }: HubAccess, nowMs: number) {
  return {
    id: token.id,
    name: token.name,
    scope: token.scope,
    state: tokenStateOf(token, nowMs),
    created: isoTime(token.createdMs),
    expires: isoTime(token.expiresMs),
    revoked: isoTime(token.revokedMs),
    lastUsed: isoTime(tokens.lastUsedMs(token.id)),
  };
}

const refuse = (reply: FastifyReply): FastifyReply =>
  sendError(
    reply,
    403,
    "Only an administrator creates tokens: create the first one on the hub's machine with gpulse token add NAME --scope admin, and log in with it.",
  );
