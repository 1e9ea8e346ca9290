/** Tests of users and their sessions over HTTP. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { hashSync } from "bcryptjs";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { BasicUsers } from "../../net/http/basic-users.ts";
import { buildHub } from "../hub.ts";
import { requiredScope } from "./required-scope.ts";
import {
  basic,
  change,
  cookieIn,
  form,
  sameOriginHeaders,
  logIn,
  password,
  LoginFixture,
  statusOf,
} from "../../../test/fixtures/hub/login.ts";

let lab: LoginFixture;
beforeEach(() => {
  lab = new LoginFixture();
});
afterEach(() => lab.close());

test.each([
  ["GET", "/api/users", "admin"],
  ["PUT", "/api/users/:name", "admin"],
  ["POST", "/api/shares", "admin"],
  ["GET", "/api/shares", "admin"],
  ["GET", "/api/audit", "admin"],
  ["GET", "/api/me", "read"],
  ["POST", "/api/me/password", "read"],
  ["POST", "/api/share", undefined],
  ["GET", "/share", undefined],
  ["GET", "/login/oidc", undefined],
])("%s %s needs %s", (method, pattern, needs) => {
  expect(requiredScope(method, pattern)).toBe(needs);
});

test("a user logs in by the form, to the page asked for, and does what the role says", async () => {
  await lab.addUser("ada", "admin");
  await lab.addUser("grace", "viewer");
  const app = await lab.hub();
  const asked = await app.inject({ url: "/gpu?uuid=GPU-1", headers: { accept: "text/html" } });
  expect(asked.statusCode).toBe(401);
  expect(asked.body).toContain('name="next" value="gpu?uuid=GPU-1"');
  const ada = await logIn(app, "Ada", password, "gpu?uuid=GPU-1");
  expect([ada.answer.statusCode, ada.answer.headers.location]).toEqual([303, "../gpu?uuid=GPU-1"]);
  expect(ada.answer.headers["set-cookie"]).toMatch(
    /^__Host-gpulse_session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=43200; Secure$/,
  );
  expect((await change(app, ada.cookie)).statusCode).toBe(200);
  const grace = await logIn(app, "grace");
  expect(await statusOf(app, grace.cookie)).toBe(200);
  expect((await change(app, grace.cookie)).statusCode).toBe(403);
  expect(lab.state.accounts.lastLoginMs("ada")).toBe(lab.nowMs);
});

test.each(["//evil.example", "https://evil.example/", "\\\\evil.example", "api/users", "../x"])(
  "logging in leads to no other place than our pages: %s",
  async (next) => {
    await lab.addUser("ada", "viewer");
    const { answer } = await logIn(await lab.hub(), "ada", password, next);
    expect(answer.headers.location).toMatch(/^\.\.\/(?:\?[^/]*)?$/);
  },
);

test("a wrong password and an unknown user get the same answer, in a form and as a program", async () => {
  await lab.addUser("ada", "admin");
  const app = await lab.hub();
  for (const [name, secret] of [
    ["ada", "something else"],
    ["nobody-here", password],
    ["<script>", "x"],
  ] as const) {
    const { answer } = await logIn(app, name, secret);
    expect([answer.statusCode, answer.headers["set-cookie"]]).toEqual([401, undefined]);
    expect(answer.body).toContain("The user name or password is wrong.");
    expect(answer.body).not.toContain("<script>");
  }
  expect(lab.logged.join("\n")).not.toContain("something else");
});

test("guesses by the form are slowed by address, whatever the name, and a password in the wrong field is reported nowhere", async () => {
  await lab.addUser("ada", "admin");
  const app = await lab.hub();
  const statuses: number[] = [];
  for (let at = 0; at < 22; at++)
    statuses.push((await logIn(app, `${password}-${at}`, "x")).answer.statusCode);
  expect([statuses[0], statuses.at(-1)]).toEqual([401, 429]);
  await vi.waitFor(() => {
    const audit = readFileSync(
      path.join(lab.dataDir, "access", "audit-unprivileged.jsonl"),
      "utf8",
    );
    expect(audit).toContain('"who":"an unknown name"');
    expect(audit + lab.logged.join("\n")).not.toContain(password);
  });
});

test("each login has a session of its own, and the one before it in that browser ends", async () => {
  await lab.addUser("ada", "viewer");
  const app = await lab.hub();
  const { cookie: first } = await logIn(app, "ada");
  const second = await app.inject({
    method: "POST",
    url: "/api/login",
    headers: { ...form, cookie: first },
    payload: `name=ada&password=${encodeURIComponent(password)}`,
  });
  expect(cookieIn(second.headers)).not.toBe(first);
  expect(await statusOf(app, first)).toBe(401);
  expect(await statusOf(app, cookieIn(second.headers))).toBe(200);
});

test.each([
  [{}, 403],
  [{ "sec-fetch-site": "same-site" }, 403],
  [{ "sec-fetch-site": "cross-site" }, 403],
  [{ "sec-fetch-site": "none" }, 403],
  [{ origin: "https://evil.example" }, 403],
  [{ origin: "null" }, 403],
  [{ "sec-fetch-site": "same-origin" }, 200],
  [{ origin: "https://hub.example:9410", host: "hub.example:9410" }, 200],
])("a change by cookie with %j is answered %i", async (headers, status) => {
  await lab.addUser("ada", "admin");
  const app = await lab.hub();
  const { cookie } = await logIn(app, "ada");
  expect((await change(app, cookie, headers as Record<string, string>)).statusCode).toBe(status);
});

test("a program with a password needs no origin, and the hash is made once", async () => {
  await lab.addUser("ada", "admin");
  const app = await lab.hub();
  const check = vi.spyOn(lab.state.accounts, "check");
  const ask = () => app.inject({ method: "POST", url: "/-/quit", headers: basic("ada", password) });
  expect((await ask()).statusCode).toBe(200);
  expect((await ask()).statusCode).toBe(200);
  expect(check).toHaveBeenCalledTimes(1);
  const wrong = await app.inject({ url: "/metrics", headers: basic("ada", "wrong wrong wrong") });
  expect(wrong.statusCode).toBe(401);
  expect(wrong.headers["www-authenticate"]).toContain('Basic realm="gpulse"');
  const browser = await app.inject({
    url: "/api/fleet",
    headers: { "user-agent": "Mozilla/5.0", "sec-fetch-site": "same-origin" },
  });
  expect(browser.headers["www-authenticate"]).toEqual(['Bearer realm="gpulse"']);
});

test("users of the web configuration file log in by the form as well, and out when their password changes", async () => {
  await lab.addUser("ada", "admin");
  let files = new BasicUsers(new Map([["carl", hashSync("filepw", 4)]]));
  const app = await lab.hub({ users: () => files });
  const { cookie } = await logIn(app, "carl", "filepw");
  expect(await statusOf(app, cookie, "/api/users")).toBe(200);
  files = new BasicUsers(new Map([["carl", hashSync("other", 4)]]));
  expect(await statusOf(app, cookie)).toBe(401);
});

test("guesses at one name are slowed from every address, while its session and its own address go on", async () => {
  await lab.addUser("ada", "viewer");
  const app = await lab.hub();
  const { cookie } = await logIn(app, "ada");
  const guess = async (from: string) =>
    (
      await app.inject({
        url: "/metrics",
        headers: basic("ada", `wrong ${from}`),
        remoteAddress: from,
      })
    ).statusCode;
  const statuses: number[] = [];
  for (let at = 1; at <= 12; at++) statuses.push(await guess(`10.0.${at}.1`));
  expect([statuses[0], statuses.at(-1)]).toEqual([401, 429]);
  expect(await statusOf(app, cookie)).toBe(200);
  expect((await logIn(app, "ada")).answer.statusCode).toBe(303);
});

test("a session ends when its user is disabled, gets another password or role, or logs out everywhere", async () => {
  await lab.addUser("ada", "viewer");
  const app = await lab.hub();
  const cli = lab.otherUsers();
  const changes = [
    () => cli.disable("ada", lab.nowMs),
    () => cli.setPassword("ada", password, lab.nowMs),
    () => cli.setRole("ada", "admin"),
  ];
  for (const act of changes) {
    cli.enable("ada");
    lab.state.accounts.refresh();
    const { cookie } = await logIn(app, "ada");
    expect(await statusOf(app, cookie)).toBe(200);
    await act();
    lab.state.accounts.refresh();
    expect(await statusOf(app, cookie)).toBe(401);
  }
  const [one, two] = [await logIn(app, "ada"), await logIn(app, "ada")];
  const out = await app.inject({
    method: "POST",
    url: "/api/logout",
    headers: { ...form, ...sameOriginHeaders, cookie: one.cookie },
    payload: "everywhere=yes",
  });
  expect(out.statusCode).toBe(303);
  expect(out.headers["set-cookie"]).toContain("Max-Age=0");
  expect([await statusOf(app, one.cookie), await statusOf(app, two.cookie)]).toEqual([401, 401]);
});

test("a session is still there after the hub's restart", async () => {
  await lab.addUser("ada", "viewer");
  const { cookie } = await logIn(await lab.hub(), "ada");
  lab.reopen();
  expect(await statusOf(await lab.hub(), cookie)).toBe(200);
});

test("administrators add, change and remove users; no answer has a hash, and nobody shuts themselves out", async () => {
  await lab.addUser("ada", "admin");
  const app = await lab.hub();
  const { cookie } = await logIn(app, "ada");
  const send = (method: "POST" | "PUT" | "DELETE", url: string, payload?: object) =>
    app.inject({
      method,
      url,
      headers: { cookie, ...sameOriginHeaders },
      ...(payload ? { payload } : {}),
    });
  const made = await send("POST", "/api/users", { name: "grace", role: "viewer", password });
  expect(made.statusCode).toBe(201);
  expect((await send("POST", "/api/users", { name: "Grace", password })).statusCode).toBe(409);
  const short = await send("POST", "/api/users", { name: "x", password: "hunter2" });
  expect([short.statusCode, short.body.includes("hunter2")]).toEqual([400, false]);
  const odd = await send("POST", "/api/users", { name: "x", password: { secret: "hunter2" } });
  expect([odd.statusCode, odd.body.includes("hunter2")]).toEqual([400, false]);
  const { cookie: graces } = await logIn(app, "grace");
  const disabled = await send("PUT", "/api/users/grace", { disabled: true });
  expect(disabled.json()).toMatchObject({ name: "grace", state: "disabled" });
  expect(await statusOf(app, graces)).toBe(401);
  expect(
    (await send("PUT", "/api/users/grace", { disabled: false, role: "admin" })).json(),
  ).toMatchObject({ state: "live", role: "admin" });
  expect((await send("PUT", "/api/users/ada", { disabled: true })).statusCode).toBe(409);
  expect((await send("DELETE", "/api/users/ADA")).statusCode).toBe(409);
  expect((await send("DELETE", "/api/users/grace")).statusCode).toBe(200);
  expect((await send("DELETE", "/api/users/grace")).statusCode).toBe(404);
  const listed = await app.inject({ url: "/api/users", headers: { cookie } });
  expect(listed.body).not.toContain("scrypt");
  expect(listed.json<{ users: { name: string; sessions: number }[] }>().users).toMatchObject([
    { name: "ada", sessions: 1 },
  ]);
  await vi.waitFor(() =>
    expect(readFileSync(path.join(lab.dataDir, "access", "audit.jsonl"), "utf8")).toContain(
      '"what":"DELETE /api/users/:name","target":"grace"',
    ),
  );
  expect(readFileSync(path.join(lab.dataDir, "access", "audit.jsonl"), "utf8")).not.toContain(
    password,
  );
});

test("one changes one's own password with the old one, and stays lab.logged in here alone", async () => {
  await lab.addUser("ada", "viewer");
  const app = await lab.hub();
  const [one, two] = [await logIn(app, "ada"), await logIn(app, "ada")];
  const send = (current: string, next: string, cookie: string) =>
    app.inject({
      method: "POST",
      url: "/api/me/password",
      headers: { cookie, ...sameOriginHeaders },
      payload: { current, password: next },
    });
  expect((await send("not it at all", "a new good one", one.cookie)).statusCode).toBe(403);
  expect((await send(password, "short", one.cookie)).statusCode).toBe(400);
  const changed = await send(password, "a new good one", one.cookie);
  expect(changed.statusCode).toBe(200);
  expect([await statusOf(app, one.cookie), await statusOf(app, two.cookie)]).toEqual([200, 401]);
  expect((await logIn(app, "ada")).answer.statusCode).toBe(401);
  expect((await logIn(app, "ada", "a new good one")).answer.statusCode).toBe(303);
});

test("where nobody is asked and the network can reach it, no user and no link is made", async () => {
  const app = await lab.hub({ openReads: false, openWithoutTokens: true });
  for (const url of ["/api/users", "/api/shares"]) {
    const payload = { name: "ada", role: "admin", password };
    expect((await app.inject({ method: "POST", url, payload })).statusCode).toBe(403);
    expect((await app.inject({ url })).statusCode).toBe(403);
  }
});

test("a link of another site is followed by a step of our own, so that the cookie comes along", async () => {
  await lab.addUser("ada", "viewer");
  const app = await lab.hub();
  const asked = await app.inject({
    url: "/gpu?uuid=a/b",
    headers: { accept: "text/html", "sec-fetch-site": "cross-site" },
  });
  expect(asked.statusCode).toBe(200);
  expect(asked.body).toContain('content="0; url=./gpu?uuid=a/b"');
  expect(asked.body).not.toContain("<script");
  const program = await app.inject({ url: "/gpu", headers: { "sec-fetch-site": "cross-site" } });
  expect(program.statusCode).toBe(401);
});

test("a user without access to an address gets a page with the reason and a link", async () => {
  await lab.addUser("grace", "viewer");
  const app = await lab.hub();
  const { cookie } = await logIn(app, "grace");
  const refused = await app.inject({ url: "/api/users", headers: { cookie, accept: "text/html" } });
  expect(refused.statusCode).toBe(403);
  expect(refused.body).toContain("needs an administrator");
  expect(refused.body).toContain('action="../api/logout"');
});

test.each([
  ["https://gpus.example", 200],
  ["https://evil.example", 403],
  ["http://gpus.example", 403],
])(
  "behind a proxy that asks for another name, a change of a page at %s is answered %i",
  async (origin, status) => {
    await lab.addUser("ada", "admin");
    const app = await buildHub({ ...lab.options(), publicUrl: "https://gpus.example/" });
    app.post("/-/quit", async () => ({ quit: true }));
    lab.ends.push(() => app.close());
    const { cookie } = await logIn(app, "ada");
    const headers = { host: "127.0.0.1:9410", origin, "x-forwarded-host": "evil.example" };
    expect((await change(app, cookie, headers)).statusCode).toBe(status);
  },
);
