/**
 * `/api/users`: users created and changed on the page by administrators; the first one is created with `gpulse user add`. No
 * response contains a password or its hash. Administrators cannot lock themselves out: only another one can disable them.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import * as v from "valibot";
import { maxPasswordLength } from "../../access/password.ts";
import type { Session } from "../../access/sessions.ts";
import { roles, scopeOfRole, type User, userName } from "../../access/users.ts";
import { checkValue } from "../../config/check.ts";
import { formatError } from "../../base/error.ts";
import { requiresAuth } from "./authenticator.ts";
import { noStore, sendError, sendThrownError } from "../reply.ts";
import { isAnonymous, isoTime, isUnknownCaller, callerName } from "./caller.ts";
import type { LoginContext } from "./login.ts";

const bodyLimit = 16_384;

const role = () => v.picklist(roles, `one of ${roles.join(", ")}`);
const password = () =>
  v.pipe(v.string("a password"), v.maxLength(maxPasswordLength, "at most 1,024 characters"));
const wantedUser = v.strictObject({
  name: v.pipe(v.string("a name"), v.regex(userName, "made of letters, digits and . _ @ -")),
  role: v.optional(role(), "viewer"),
  password: password(),
});
const wantedChange = v.strictObject({
  role: v.optional(role()),
  password: v.optional(password()),
  disabled: v.optional(v.boolean("true or false")),
});

type UserNameRequest = { Params: { name: string } };

export function addUsers(app: FastifyInstance, context: LoginContext): void {
  const { access, log, nowMs } = context;
  const guarded = async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    if (isUnknownCaller(request, access)) await refuse(reply);
  };
  const identified = async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    if (isAnonymous(request)) await refuse(reply);
  };

  app.get("/api/users", { onRequest: guarded }, async (_request, reply) => {
    access.accounts.refresh();
    const users = access.accounts.list().map((user) => userJson(user, context));
    return noStore(reply).send({
      users,
      fileUsers: access.users().names,
      asked: requiresAuth(access),
    });
  });

  app.post("/api/users", { bodyLimit, onRequest: identified }, async (request, reply) => {
    const checked = checkValue(wantedUser, request.body ?? {});
    if (!checked.ok) return sendError(reply, 400, withoutPassword(checked.problems));
    try {
      const user = await access.accounts.add(checked.value, nowMs());
      log.info("user created", { name: user.name, role: user.role, by: callerName(request) });
      return await noStore(reply.code(201)).send(userJson(user, context));
    } catch (thrown) {
      return sendThrownError(reply, isNameTakenError(thrown) ? 409 : 400, thrown);
    }
  });

  app.put<UserNameRequest>(
    "/api/users/:name",
    { bodyLimit, onRequest: identified },
    async (request, reply) => {
      const checked = checkValue(wantedChange, request.body ?? {});
      if (!checked.ok) return sendError(reply, 400, withoutPassword(checked.problems));
      const { name } = request.params;
      const { role: nextRole, password: nextPassword, disabled } = checked.value;
      if (isSelf(request, name) && (disabled === true || nextRole === "viewer"))
        return sendError(
          reply,
          409,
          "You would lock yourself out: another administrator can do this.",
        );
      request.audited = { target: name, why: Object.keys(checked.value).join(", ") };
      const { accounts } = access;
      try {
        if (accounts.get(name) === undefined) accounts.refresh();
        if (nextPassword !== undefined) await accounts.setPassword(name, nextPassword, nowMs());
        if (nextRole !== undefined) accounts.setRole(name, nextRole);
        if (disabled !== undefined)
          if (disabled) accounts.disable(name, nowMs());
          else accounts.enable(name);
      } catch (thrown) {
        return sendThrownError(reply, accounts.get(name) === undefined ? 404 : 400, thrown);
      }
      const user = accounts.get(name);
      if (user === undefined)
        return sendError(reply, 404, `There is no user ${name.slice(0, 100)}.`);
      const what = Object.keys(checked.value).join(", ");
      log.info("user changed", { name: user.name, what, by: callerName(request) });
      const own = request.access;
      if (isSelf(request, name) && own !== null && "session" in own && own.session !== undefined)
        access.sessions.goOnAs(own.session.key, holderOf(user).holder);
      return noStore(reply).send(userJson(user, context));
    },
  );

  app.delete<UserNameRequest>(
    "/api/users/:name",
    { onRequest: identified },
    async (request, reply) => {
      const { name } = request.params;
      if (isSelf(request, name))
        return sendError(
          reply,
          409,
          "You would lock yourself out: another administrator can do this.",
        );
      try {
        const user = access.accounts.remove(name, nowMs());
        log.info("user removed", { name: user.name, by: callerName(request) });
        return await noStore(reply).send({ name: user.name });
      } catch (thrown) {
        return sendThrownError(reply, 404, thrown);
      }
    },
  );
}

const isSelf = ({ access: who }: FastifyRequest, name: string): boolean =>
  who !== null &&
  "holder" in who &&
  who.holder.kind === "user" &&
  who.holder.id.toLowerCase() === name.toLowerCase();

const holderOf = ({ name, role: of, generation }: User) => ({
  name,
  scope: scopeOfRole(of),
  holder: { kind: "user", id: name, generation } as const,
});

const isNameTakenError = (thrown: unknown): boolean => formatError(thrown).includes("already");

/** Validation errors quote the wrong value; a password must not be quoted. */
const withoutPassword = (
  problems: readonly { readonly path: readonly (string | number)[]; readonly sentence: string }[],
): string =>
  problems
    .map(({ path, sentence }) =>
      path[0] === "password" ? "A password is a text of 10 to 1,024 characters." : sentence,
    )
    .join(" ");

function userJson(user: User, { access: { accounts, sessions }, judge, nowMs }: LoginContext) {
  const isTheirs = ({ holder }: Session): boolean =>
    holder.kind === "user" && holder.id === user.name && judge.isHolderGood(holder, nowMs());
  return {
    name: user.name,
    role: user.role,
    state: user.disabledMs === undefined ? "live" : "disabled",
    created: isoTime(user.createdMs),
    passwordChanged: isoTime(user.passwordMs),
    lastLogin: isoTime(accounts.lastLoginMs(user.name)),
    sessions: sessions.list(nowMs()).filter(isTheirs).length,
  };
}

const refuse = (reply: FastifyReply): FastifyReply =>
  sendError(
    reply,
    403,
    "Only an administrator creates users: create the first one on the hub's machine with gpulse user add NAME --role admin, and log in.",
  );
