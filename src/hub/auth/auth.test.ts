/** Tests of the hub's responses to valid, invalid and missing tokens, over HTTP. */
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { hashSync } from "bcryptjs";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { openAccess } from "../../access/open.ts";
import type { Scope } from "../../access/scope.ts";
import { Tokens } from "../../access/tokens.ts";
import { BasicUsers } from "../../net/http/basic-users.ts";
import { silentLog } from "../../base/log.ts";
import { LatestFrames } from "../../sinks/latest/latest.ts";
import { buildHub, createHub, type HubOptions } from "../hub.ts";
import type { HubAccess } from "./authenticator.ts";
import { requiredScope } from "./required-scope.ts";
import { RefusalCounts } from "./self-metrics.ts";

let dataDir = "";
let tokens: Tokens;
let nowMs = Date.now();
const ends: (() => Promise<void>)[] = [];
const logged: string[] = [];
beforeEach(() => {
  dataDir = mkdtempSync(path.join(tmpdir(), "gpulse-auth-"));
  tokens = new Tokens({ dataDir, log: silentLog });
  nowMs = Date.now();
  logged.length = 0;
});
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
  tokens.close();
  rmSync(dataDir, { recursive: true, force: true });
});

const make = (scope: Scope, expiresMs?: number): string =>
  tokens
    .add(
      {
        name: `${scope}-${tokens.list().length}`,
        scope,
        ...(expiresMs === undefined ? {} : { expiresMs }),
      },
      nowMs,
      randomBytes,
    )
    .text.reveal();

const remote = (changes: Partial<HubAccess> = {}): HubAccess => ({
  ...openAccess({ dataDir: dataDir, log: silentLog, random: randomBytes }),
  tokens,
  users: () => new BasicUsers(new Map()),
  openReads: false,
  openWithoutTokens: false,
  secure: true,
  random: randomBytes,
  refused: new RefusalCounts(),
  ...changes,
});
const loopback = (changes: Partial<HubAccess> = {}): HubAccess =>
  remote({ openReads: true, openWithoutTokens: true, secure: false, ...changes });

const options = (access: HubAccess): HubOptions => ({
  latest: new LatestFrames(),
  host: "0.0.0.0",
  port: 0,
  hostName: "lab",
  webDir: dataDir,
  log: {
    ...silentLog,
    warn: (message, fields) => void logged.push(JSON.stringify({ message, ...fields })),
  },
  nowMs: () => nowMs,
  version: "1.2.3",
  metricsPage: () => ({ body: "# metrics\n", contentType: "text/plain" }),
  stats: () => ({ devices: [] }),
  ready: () => ({ ready: true, problems: [] }),
  access,
});

async function hub(access: HubAccess) {
  const app = await buildHub(options(access));
  app.post("/api/v1/write", async () => ({ written: true }));
  app.post("/write", async () => ({ written: true }));
  app.post("/api/v1/admin/tsdb/delete_series", async () => ({ deleted: true }));
  ends.push(() => app.close());
  return async (method: "GET" | "POST", url: string, headers: Record<string, string> = {}) =>
    app.inject({ method, url, headers });
}
const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
const basic = (user: string, password: string) => ({
  authorization: `Basic ${Buffer.from(`${user}:${password}`).toString("base64")}`,
});

test.each([
  ["GET", "/-/healthy", undefined],
  ["GET", "/-/ready", undefined],
  ["POST", "/api/login", undefined],
  ["GET", "/", "read"],
  ["GET", "/*", "read"],
  ["GET", "/metrics", "read"],
  ["GET", "/federate", "read"],
  ["GET", "/api/live", "read"],
  ["POST", "/api/v1/query", "read"],
  ["GET", "/api/v1/label/:name/values", "read"],
  ["GET", undefined, "read"],
  ["POST", "/api/v1/write", "push"],
  ["POST", "/v1/metrics", "push"],
  ["POST", "/write", "push"],
  ["POST", "/api/v2/write", "push"],
  ["POST", "/push", "push"],
  ["POST", "/api/push/frames", "push"],
  ["GET", "/api/push/hello", "push"],
  ["POST", "/api/v1/admin/tsdb/snapshot", "admin"],
  ["GET", "/api/v1/admin/tsdb/snapshot", "admin"],
  ["DELETE", "/api/agents/:id", "admin"],
  ["GET", "/api/agents", "read"],
  ["POST", "/-/reload", "admin"],
  ["POST", "/api/anything/else", "admin"],
  ["PUT", "/api/v1/query", "read"],
])("%s %s needs %s", (method, pattern, needs) => {
  expect(requiredScope(method, pattern)).toBe(needs);
});

const routes = [
  ["GET", "/metrics", "read"],
  ["POST", "/api/v1/write", "push"],
  ["POST", "/api/v1/admin/tsdb/delete_series", "admin"],
] as const;

test.each(["push", "read", "admin"] as const)(
  "a %s token opens what it may and no more",
  async (scope) => {
    const send = await hub(remote());
    const token = make(scope);
    for (const [method, url, needs] of routes) {
      const wanted = scope === "admin" || scope === needs ? 200 : 403;
      expect([url, (await send(method, url, bearer(token))).statusCode]).toEqual([url, wanted]);
    }
  },
);

test("without a token, with a wrong, a revoked or an expired one the answer is 401 and says how", async () => {
  const access = remote();
  const send = await hub(access);
  const [good, revoked, expired] = [make("read"), make("read"), make("read", nowMs + 10)];
  tokens.revoke("read-1", nowMs);
  nowMs += 20;
  const answers = [
    await send("GET", "/metrics"),
    await send("GET", "/metrics", bearer(`${good.slice(0, -1)}!`)),
    await send("GET", "/metrics", bearer(revoked)),
    await send("GET", "/metrics", bearer(expired)),
  ];
  for (const answer of answers) {
    expect(answer.statusCode).toBe(401);
    expect(answer.headers["www-authenticate"]).toEqual(['Bearer realm="gpulse"']);
    expect(answer.headers["content-security-policy"]).toBeDefined();
  }
  expect(answers.map((answer) => answer.body)).toEqual([
    expect.stringContaining("needs a token"),
    expect.stringContaining("unknown or was revoked"),
    expect.stringContaining("unknown or was revoked"),
    expect.stringContaining("has expired"),
  ]);
  expect((await send("GET", "/metrics", bearer(good))).statusCode).toBe(200);
  const reasons = ["missing", "unknown", "revoked", "expired", "scope"] as const;
  expect(reasons.map((reason) => access.refused.of(reason))).toEqual([1, 1, 1, 1, 0]);
  const log = logged.join("\n");
  expect(log).toContain('"why":"revoked","token":"read-1 (');
  for (const text of [good, revoked, expired]) expect(log).not.toContain(text.slice(-20));
});

test("every way a client can show a token is taken, and none in the query beyond Influx's own", async () => {
  const send = await hub(remote());
  const token = make("admin");
  const status = async (...asked: Parameters<typeof send>) => (await send(...asked)).statusCode;
  expect(await status("GET", "/metrics", bearer(token))).toBe(200);
  expect(await status("GET", "/metrics", basic("anyone", token))).toBe(200);
  expect(await status("GET", "/metrics", { authorization: `Token ${token}` })).toBe(200);
  expect(await status("POST", `/write?db=x&u=me&p=${token}`)).toBe(200);
  expect(await status("GET", `/metrics?u=me&p=${token}`)).toBe(401);
  expect(await status("GET", `/metrics?token=${token}`)).toBe(401);
  expect(await status("POST", `/api/v1/write?p=${token}`)).toBe(401);
});

test("no spelling of a path gets around its scope", async () => {
  const send = await hub(remote());
  const token = make("read");
  for (const url of [
    "/api/v1/%61dmin/tsdb/delete_series",
    "/api/v1/admin/tsdb/delete_series/",
    "//api/v1/admin/tsdb/delete_series",
    "/api/v1/ADMIN/tsdb/delete_series",
    "/api/v1/query/../admin/tsdb/delete_series",
    "/api/v1/admin/tsdb/delete_series?x=/-/healthy",
    "/-/healthy/../../api/v1/admin/tsdb/delete_series",
  ])
    expect(`${url} ${(await send("POST", url, bearer(token))).body}`).not.toContain("deleted");
  expect(
    (await send("POST", "/api/v1/%61dmin/tsdb/delete_series", bearer(make("admin")))).body,
  ).toContain("deleted");
});

test("everybody may read health", async () => {
  const send = await hub(remote());
  expect((await send("GET", "/-/healthy")).statusCode).toBe(200);
  expect((await send("GET", "/-/ready")).statusCode).toBe(200);
});

test("on loopback nothing is asked before there is a token; then writing is, and reading still is not", async () => {
  const send = await hub(loopback());
  const statuses = async () => {
    const all = [];
    for (const [method, url] of routes) all.push((await send(method, url)).statusCode);
    return all;
  };
  expect(await statuses()).toEqual([200, 200, 200]);
  expect((await send("POST", "/api/v1/write", bearer("made-up"))).statusCode).toBe(200);
  const token = make("push");
  expect(await statuses()).toEqual([200, 401, 401]);
  expect((await send("POST", "/api/v1/write", bearer(token))).statusCode).toBe(200);
  expect((await send("POST", "/api/v1/write", bearer("made-up"))).statusCode).toBe(401);
  expect((await send("GET", "/metrics", { "x-forwarded-for": "10.0.0.1" })).statusCode).toBe(401);
  tokens.revoke("push-0", nowMs);
  expect(await statuses()).toEqual([200, 401, 401]);
});

test("with authentication always on, loopback needs it too", async () => {
  const send = await hub(loopback({ openReads: false, openWithoutTokens: false }));
  expect((await send("GET", "/metrics")).statusCode).toBe(401);
});

test("a flood of wrong tokens is slowed and not logged for ever, and the right one still opens", async () => {
  const send = await hub(remote());
  const token = make("read");
  const statuses = [];
  for (let attempt = 0; attempt < 30; attempt++)
    statuses.push((await send("GET", "/metrics", bearer(`wrong-${attempt}`))).statusCode);
  expect([statuses[0], statuses.at(-1)]).toEqual([401, 429]);
  expect(logged.filter((line) => line.includes("access refused"))).toHaveLength(20);
  expect(logged.filter((line) => line.includes("request refused"))).toHaveLength(5);
  expect((await send("GET", "/metrics", bearer(token))).statusCode).toBe(200);
  nowMs += 60_000;
  expect((await send("GET", "/metrics", bearer("wrong"))).statusCode).toBe(401);
});

test("a user of the web configuration file may do everything, with the right password", async () => {
  const users = new BasicUsers(new Map([["me", hashSync("pw", 4)]]));
  const send = await hub(remote({ users: () => users }));
  expect((await send("GET", "/metrics", basic("me", "pw"))).statusCode).toBe(200);
  const wrong = await send("GET", "/metrics", basic("me", "no"));
  expect(wrong.statusCode).toBe(401);
  expect(wrong.headers["www-authenticate"]).toEqual([
    'Bearer realm="gpulse"',
    'Basic realm="gpulse"',
  ]);
  expect(
    (await send("POST", "/api/v1/admin/tsdb/delete_series", basic("me", "pw"))).statusCode,
  ).toBe(200);
});

const form = { "content-type": "application/x-www-form-urlencoded", accept: "text/html" };

async function login(access: HubAccess, token: string) {
  const app = await buildHub(options(access));
  app.post("/-/quit", async () => ({ quit: true }));
  ends.push(() => app.close());
  const post = (payload: string, headers: Record<string, string> = {}) =>
    app.inject({ method: "POST", url: "/api/login", payload, headers: { ...form, ...headers } });
  const answer = await post(`token=${encodeURIComponent(token)}`);
  const cookie = String(answer.headers["set-cookie"] ?? "").split(";")[0] ?? "";
  const get = (url: string) => app.inject({ url, headers: { cookie, accept: "text/html" } });
  return { app, answer, cookie, get, post };
}

test("a browser gets a form that needs no script, and with a read token a session", async () => {
  const token = make("read");
  const { app, answer, get } = await login(remote(), token);
  const asked = await app.inject({ url: "/", headers: { accept: "text/html" } });
  expect(asked.statusCode).toBe(401);
  expect(asked.body).toContain('<form method="post" action="api/login">');
  expect(asked.body).not.toContain("<script");
  expect(asked.headers["content-security-policy"]).toContain("form-action 'self'");
  expect(answer.statusCode).toBe(303);
  expect(answer.headers.location).toBe("../");
  expect(answer.headers["set-cookie"]).toMatch(
    /^__Host-gpulse_session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=43200; Secure$/,
  );
  expect((await get("/metrics")).statusCode).toBe(200);
});

test("a session ends with its token, with its time, and by logging out", async () => {
  const token = make("read");
  const { get } = await login(remote(), token);
  for (let hour = 1; hour <= 12; hour++) {
    expect((await get("/metrics")).statusCode).toBe(200);
    nowMs += 3_600_000;
  }
  expect((await get("/metrics")).statusCode).toBe(401);
  const second = await login(remote(), token);
  expect((await second.get("/metrics")).statusCode).toBe(200);
  await second.app.inject({
    method: "POST",
    url: "/api/logout",
    headers: { cookie: second.cookie, "sec-fetch-site": "same-origin" },
  });
  expect((await second.get("/metrics")).statusCode).toBe(401);
  const third = await login(remote(), token);
  expect((await third.get("/metrics")).statusCode).toBe(200);
  tokens.revoke("read-0", nowMs);
  expect((await third.get("/metrics")).statusCode).toBe(401);
});

test("a session of a read token changes nothing", async () => {
  const { app, cookie } = await login(remote(), make("read"));
  const answer = await app.inject({ method: "POST", url: "/-/quit", headers: { cookie } });
  expect(answer.statusCode).toBe(403);
});

test("a push token and a wrong one do not log in, and another site cannot", async () => {
  expect((await login(remote(), make("push"))).answer.statusCode).toBe(403);
  const wrong = await login(remote(), `<script>"'`);
  expect(wrong.answer.statusCode).toBe(401);
  expect(wrong.answer.body).not.toContain("<script");
  const token = make("read");
  const foreign = await wrong.post(`token=${token}`, { origin: "https://evil.example" });
  expect([foreign.statusCode, foreign.headers["set-cookie"]]).toEqual([403, undefined]);
});

test("a live stream ends when its token is revoked", async () => {
  const token = make("read");
  const opened = await createHub({ ...options(remote()), host: "127.0.0.1" });
  ends.push(() => opened.close());
  const answer = await fetch(`${opened.url}api/live`, { headers: bearer(token) });
  expect(answer.status).toBe(200);
  let ended = false;
  void answer.text().then(
    () => (ended = true),
    () => (ended = true),
  );
  const cli = new Tokens({ dataDir, log: silentLog });
  cli.revoke("read-0", Date.now());
  cli.close();
  await vi.waitFor(() => expect(ended).toBe(true), 8_000);
});
