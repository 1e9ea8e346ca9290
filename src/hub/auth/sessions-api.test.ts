/** Tests of listing and ending sessions as an administrator. */
import { readFileSync } from "node:fs";
import path from "node:path";
import type { FastifyInstance } from "fastify";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { OidcSettings } from "../../access/oidc.ts";
import { createHub } from "../hub.ts";
import {
  sameOriginHeaders,
  logIn,
  LoginFixture,
  statusOf,
} from "../../../test/fixtures/hub/login.ts";

let lab: LoginFixture;
beforeEach(() => {
  lab = new LoginFixture();
});
afterEach(() => lab.close());

/** Never contacted: its users are logged in already. */
const oidc: OidcSettings = {
  issuer: "https://login.example",
  clientId: "gpulse",
  scopes: "openid",
  roleClaim: "groups",
  admin: [],
  viewer: [],
  label: "Lab",
};

const letIn = (id: string, name = id): string =>
  lab.state.sessions.open({ holder: { kind: "oidc", id }, name, scope: "read" }, lab.nowMs);
const cookieOf = (value: string): string => `__Host-gpulse_session=${value}`;

interface Shown {
  readonly id: string;
  readonly name: string;
  readonly how: string;
  readonly own: boolean;
}
async function sessionsOf(app: FastifyInstance, cookie: string): Promise<readonly Shown[]> {
  const answer = await app.inject({ url: "/api/sessions", headers: { cookie } });
  expect(answer.statusCode).toBe(200);
  return answer.json<{ sessions: readonly Shown[] }>().sessions;
}
const end = (app: FastifyInstance, cookie: string, id: string, query = "") =>
  app.inject({
    method: "DELETE",
    url: `/api/sessions/${id}${query}`,
    headers: { cookie, ...sameOriginHeaders },
  });

test("an administrator sees who is logged in by whatever, and no cookie or whole digest of one", async () => {
  await lab.addUser("ada", "admin");
  const app = await lab.hub({ oidc });
  const { cookie } = await logIn(app, "ada");
  const value = letIn("subject-1", "grace");
  const shown = await sessionsOf(app, cookie);
  expect(shown).toMatchObject([
    { name: "ada", how: "user", scope: "admin", own: true },
    { name: "grace", how: "oidc", scope: "read", own: false },
  ]);
  const keys = lab.state.sessions.list(lab.nowMs).map(({ key }) => key);
  for (const secret of [value, cookie.split("=")[1] ?? "", ...keys, "subject-1"])
    expect(JSON.stringify(shown)).not.toContain(secret);
});

test("viewers, guests and strangers neither see nor end sessions", async () => {
  await lab.addUser("grace", "viewer");
  const app = await lab.hub({ oidc });
  const { cookie } = await logIn(app, "grace");
  const [session] = lab.state.sessions.list(lab.nowMs);
  const id = session?.key.slice(0, 16) ?? "";
  expect(await statusOf(app, cookie, "/api/sessions")).toBe(403);
  expect((await end(app, cookie, id)).statusCode).toBe(403);
  expect(await statusOf(app, "", "/api/sessions")).toBe(401);
  expect(await statusOf(app, cookie)).toBe(200);
});

test("a session that a provider let in ends at once, and only that one", async () => {
  await lab.addUser("ada", "admin");
  const app = await lab.hub({ oidc });
  const { cookie } = await logIn(app, "ada");
  const [first, second] = [letIn("subject-1", "grace"), letIn("subject-1", "grace")].map(cookieOf);
  const id = (await sessionsOf(app, cookie)).find(({ name }) => name === "grace")?.id ?? "";
  const ended = await end(app, cookie, id);
  expect([ended.statusCode, ended.json()]).toEqual([200, { name: "grace", ended: 1 }]);
  expect(await statusOf(app, first ?? "")).toBe(401);
  expect(await statusOf(app, second ?? "")).toBe(200);
  expect((await end(app, cookie, id)).statusCode).toBe(404);
  lab.reopen();
  expect(lab.state.sessions.list(lab.nowMs)).toHaveLength(2);
});

test("everywhere ends all of that person's sessions, and of nobody of the same name", async () => {
  await lab.addUser("ada", "admin");
  await lab.addUser("grace", "viewer");
  const app = await lab.hub({ oidc });
  const { cookie } = await logIn(app, "ada");
  const other = await logIn(app, "grace");
  const theirs = [letIn("subject-1", "grace"), letIn("subject-1", "grace")].map(cookieOf);
  const id = (await sessionsOf(app, cookie)).find(({ how }) => how === "oidc")?.id ?? "";
  expect((await end(app, cookie, id, "?everywhere=yes")).json()).toMatchObject({ ended: 2 });
  for (const one of theirs) expect(await statusOf(app, one)).toBe(401);
  expect(await statusOf(app, other.cookie)).toBe(200);
  await vi.waitFor(() => {
    const audit = readFileSync(path.join(lab.dataDir, "access", "audit.jsonl"), "utf8");
    expect(audit).toContain('"what":"DELETE /api/sessions/:id","target":"grace (oidc)"');
  });
});

test("the live stream of a session that is ended ends with it", async () => {
  await lab.addUser("ada", "admin");
  const opened = await createHub({ ...lab.options({ secure: false, oidc }), host: "127.0.0.1" });
  lab.ends.push(() => opened.close());
  const ask = (route: string, value: string, method = "GET") =>
    fetch(`${opened.url}${route}`, {
      method,
      headers: { cookie: `gpulse_session=${value}`, ...sameOriginHeaders },
    });
  const generation = lab.state.accounts.get("ada")?.generation ?? 0;
  const admin = lab.state.sessions.open(
    { holder: { kind: "user", id: "ada", generation }, name: "ada", scope: "admin" },
    lab.nowMs,
  );
  const live = await ask("api/live", letIn("subject-1", "grace"));
  expect(live.status).toBe(200);
  const ended = live.text().catch(() => "cut off");
  const { sessions } = (await (await ask("api/sessions", admin)).json()) as { sessions: Shown[] };
  const id = sessions.find(({ name }) => name === "grace")?.id ?? "";
  expect((await ask(`api/sessions/${id}`, admin, "DELETE")).status).toBe(200);
  await ended;
});

test("a user who was logged out elsewhere counts as logged in nowhere", async () => {
  await lab.addUser("ada", "admin");
  await lab.addUser("grace", "viewer");
  const app = await lab.hub();
  const { cookie } = await logIn(app, "ada");
  await logIn(app, "grace");
  lab.otherUsers().endSessions("grace");
  lab.state.accounts.refresh();
  const listed = await app.inject({ url: "/api/users", headers: { cookie } });
  expect(listed.json<{ users: object[] }>().users).toMatchObject([
    { name: "ada", sessions: 1 },
    { name: "grace", sessions: 0 },
  ]);
  expect((await sessionsOf(app, cookie)).map(({ name }) => name)).toEqual(["ada"]);
});
