/** Tests of share links over HTTP, and of what ends when a user is removed. */
import { randomBytes } from "node:crypto";
import type { FastifyInstance } from "fastify";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createHub } from "../hub.ts";
import { isClosedToShares } from "./required-scope.ts";
import {
  change,
  cookieIn,
  sameOriginHeaders,
  logIn,
  LoginFixture,
  statusOf,
} from "../../../test/fixtures/hub/login.ts";
import { pagePath } from "./share-page.ts";

let lab: LoginFixture;
beforeEach(() => {
  lab = new LoginFixture();
});
afterEach(() => lab.close());

async function share(app: FastifyInstance, cookie: string, payload: object = {}) {
  const made = await app.inject({
    method: "POST",
    url: "/api/shares",
    headers: { cookie, ...sameOriginHeaders },
    payload,
  });
  const { id, path: link } = made.json<{ id: string; path: string }>();
  return { made, id, secret: link.slice("share#".length) };
}

const openShare = async (app: FastifyInstance, secret: string, cookie = "") => {
  const answer = await app.inject({
    method: "POST",
    url: "/api/share",
    headers: { ...sameOriginHeaders, cookie },
    payload: { secret },
  });
  return { answer, cookie: cookieIn(answer.headers) };
};

test("a shared link shows and changes nothing, hides how the hub is set up, and ends when revoked", async () => {
  await lab.addUser("ada", "admin");
  const app = await lab.hub();
  const ada = await logIn(app, "ada");
  const { made, id, secret } = await share(app, ada.cookie, {
    name: "for the vendor",
    page: "/gpu?uuid=GPU-1",
    expiresInSeconds: 3_600,
  });
  expect(made.statusCode).toBe(201);
  const { answer, cookie } = await openShare(app, secret);
  expect(answer.json()).toEqual({ page: "./gpu?uuid=GPU-1" });
  expect(answer.headers["set-cookie"]).toContain("Max-Age=3600");
  expect(await statusOf(app, cookie)).toBe(200);
  expect((await change(app, cookie)).statusCode).toBe(403);
  for (const url of ["/api/pipes", "/api/tokens", "/api/users", "/api/shares", "/api/audit"])
    expect([url, await statusOf(app, cookie, url)]).toEqual([url, 403]);
  const me = await app.inject({ url: "/api/me", headers: { cookie } });
  expect(me.json()).toMatchObject({ by: "share", name: "for the vendor", mayChange: false });
  const listed = await app.inject({ url: "/api/shares", headers: { cookie: ada.cookie } });
  expect(listed.json()).toMatchObject({ shares: [{ id, opened: 1, state: "live" }] });
  expect(listed.body).not.toContain(secret);
  expect(lab.logged.join("\n")).not.toContain(secret);
  const password403 = await app.inject({
    method: "POST",
    url: "/api/me/password",
    headers: { cookie, ...sameOriginHeaders },
    payload: { current: "x", password: "y" },
  });
  expect(password403.statusCode).toBe(403);
  await app.inject({
    method: "DELETE",
    url: `/api/shares/${id}`,
    headers: { cookie: ada.cookie, ...sameOriginHeaders },
  });
  expect(await statusOf(app, cookie)).toBe(401);
  expect((await openShare(app, secret)).answer.statusCode).toBe(401);
});

test("a shared link ends by itself, and its session with it", async () => {
  await lab.addUser("ada", "admin");
  const app = await lab.hub();
  const { secret } = await share(app, (await logIn(app, "ada")).cookie, { expiresInSeconds: 60 });
  const { cookie } = await openShare(app, secret);
  lab.nowMs += 59_999;
  expect(await statusOf(app, cookie)).toBe(200);
  lab.nowMs += 1;
  expect(await statusOf(app, cookie)).toBe(401);
  expect((await openShare(app, secret)).answer.statusCode).toBe(401);
});

test("who is lab.logged in and opens a link stays who they are", async () => {
  await lab.addUser("ada", "admin");
  const app = await lab.hub();
  const { cookie } = await logIn(app, "ada");
  const { secret } = await share(app, cookie);
  const opened = await openShare(app, secret, cookie);
  expect([opened.answer.statusCode, opened.cookie]).toEqual([200, ""]);
  expect((await change(app, cookie)).statusCode).toBe(200);
});

test.each([
  [{ expiresInSeconds: 91 * 86_400 }],
  [{ expiresInSeconds: 0 }],
  [{ page: "https://evil.example/evil" }],
  [{ page: "/api/users" }],
  [{ name: "two\nlines" }],
  [{ scope: "admin" }],
])("a link %j is refused", async (payload) => {
  await lab.addUser("ada", "admin");
  const app = await lab.hub();
  const { cookie } = await logIn(app, "ada");
  const made = await app.inject({
    method: "POST",
    url: "/api/shares",
    headers: { cookie, ...sameOriginHeaders },
    payload,
  });
  expect(made.statusCode).toBe(400);
});

test.each([
  ["/", "/"],
  ["", "/"],
  ["/gpu?uuid=a/b", "/gpu?uuid=a/b"],
  ["https://hub.example/gpus/compare?x=1#frag", "/compare?x=1"],
  ["/api/live", undefined],
  ["/share", undefined],
  ["javascript:alert(1)", undefined],
  ["/gpu\\..", undefined],
  [`/gpu?${"x".repeat(5_000)}`, undefined],
])("%.40s is the page %s", (given, page) => {
  expect(pagePath(given)).toBe(page);
});

test.each([
  ["/api/pipes", true],
  ["/api/v1/status/config", true],
  ["/api/v2/status", true],
  ["/api/snapshots/:id", true],
  ["/api/v1/query", false],
  ["/api/live", false],
  ["/*", false],
])("%s is closed to shared links: %s", (pattern, is) => {
  expect(isClosedToShares(pattern)).toBe(is);
});

test("live streams of a user and of a shared link end when they are shut out", async () => {
  await lab.addUser("ada", "admin");
  const opened = await createHub({ ...lab.options({ secure: false }), host: "127.0.0.1" });
  lab.ends.push(() => opened.close());
  const { share: shared } = lab.state.shares.add(
    { name: "wall", page: "/", createdBy: "ada", expiresMs: lab.nowMs + 60_000 },
    lab.nowMs,
    randomBytes,
  );
  const ada = lab.state.accounts.get("ada");
  const session = (holder: Parameters<typeof lab.state.sessions.open>[0]["holder"]) =>
    lab.state.sessions.open({ holder, name: "x", scope: "read" }, lab.nowMs);
  const values = [
    session({ kind: "user", id: "ada", generation: ada?.generation ?? 0 }),
    session({ kind: "share", id: shared.id }),
  ];
  const ended = [false, false];
  for (const [at, value] of values.entries()) {
    const cookie = `gpulse_session=${value}`;
    const answer = await fetch(`${opened.url}api/live`, { headers: { cookie } });
    expect(answer.status).toBe(200);
    void answer
      .text()
      .catch(() => undefined)
      .finally(() => {
        ended[at] = true;
      });
  }
  lab.otherUsers().disable("ada", lab.nowMs);
  lab.state.shares.revoke(shared.id, lab.nowMs);
  await vi.waitFor(() => expect(ended).toEqual([true, true]), 30_000);
});
