/** Attacks on access control: a local user without a token, damaged access state, and callers that share a proxy. */
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync, truncateSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { FastifyInstance } from "fastify";
import { afterEach, beforeEach, expect, test } from "vitest";
import { AuditLog } from "../../src/access/audit.ts";
import { type AccessState, closeAccess, openAccess } from "../../src/access/open.ts";
import type { Scope } from "../../src/access/scope.ts";
import { BasicUsers } from "../../src/net/http/basic-users.ts";
import type { HubAccess } from "../../src/hub/auth/authenticator.ts";
import { RefusalCounts } from "../../src/hub/auth/self-metrics.ts";
import { buildHub } from "../../src/hub/hub.ts";
import { pipeProgram } from "../fixtures/hub/pipes.ts";
import { Pipes } from "../../src/hub/pipes/pipes.ts";
import { silentLog } from "../../src/base/log.ts";
import { alertOf, notificationOf, startMs } from "../fixtures/alerting/channels.ts";
import { messageOf } from "../../src/alerting/channels/message.ts";
import { NotificationTemplates } from "../../src/alerting/channels/templates.ts";
import { LatestFrames } from "../../src/sinks/latest/latest.ts";

const nowMs = Date.parse("2026-11-15T12:00:00Z");
let dataDir = "";
let state: AccessState;
let pipes: Pipes;
let audit: AuditLog;
let app: FastifyInstance | undefined;
beforeEach(() => {
  dataDir = mkdtempSync(path.join(tmpdir(), "gpulse-attack-access-"));
  state = openAccess({ dataDir, log: silentLog, random: randomBytes, cost: { ln: 4, r: 8, p: 1 } });
  audit = new AuditLog({ dataDir, log: silentLog, nowMs: () => nowMs });
  pipes = new Pipes({
    dataDir,
    hostName: "lab",
    program: pipeProgram(dataDir),
    env: { SMTP_PASSWORD: "hunter2-of-the-owner" },
    log: silentLog,
    nowMs: Date.now,
    check: async () => undefined,
  });
});
afterEach(async () => {
  await app?.close();
  app = undefined;
  await pipes.close();
  closeAccess(state);
  rmSync(dataDir, { recursive: true, force: true });
});

async function openHub(changes: Partial<HubAccess> = {}): Promise<FastifyInstance> {
  app = await buildHub({
    latest: new LatestFrames(),
    host: "127.0.0.1",
    port: 0,
    hostName: "lab",
    webDir: dataDir,
    log: silentLog,
    nowMs: () => nowMs,
    version: "1",
    metricsPage: () => ({ body: "", contentType: "text/plain" }),
    stats: () => ({}),
    ready: () => ({ ready: true, problems: [] }),
    access: {
      ...state,
      users: () => new BasicUsers(new Map()),
      openReads: true,
      openWithoutTokens: true,
      secure: false,
      random: randomBytes,
      refused: new RefusalCounts(),
      ...changes,
    },
    audit,
    pipes,
  });
  return app;
}

type Headers = Record<string, string>;
const host = { host: "localhost:9410" };
const post = (hub: FastifyInstance, url: string, payload: object, headers: Headers = {}) =>
  hub.inject({ method: "POST", url, payload, headers: { ...host, ...headers } });
const bearer = (scope: Scope): Headers => ({
  authorization: `Bearer ${state.tokens.add({ name: scope, scope }, nowMs, randomBytes).text.reveal()}`,
});
const pipeTo = (to: string) => ({ name: "exfil", kind: "pipe", from: ["sim:1"], to: [to] });
const secretReferences = [
  "influxdb:http://127.0.0.1:1/?db=x&username=u&password=file:/etc/shadow",
  "influxdb:http://127.0.0.1:1/?db=x&username=u&password=file%3A%2Fetc%2Fshadow",
  "influxdb:http://127.0.0.1:1/?db=x&username=u&password=%66ile:/etc/shadow",
  "influxdb:http://127.0.0.1:1/?db=x&password=${SMTP_PASSWORD}",
  "influxdb:http://127.0.0.1:1/?db=x&password=%24%7BSMTP_PASSWORD%7D",
  "influxdb:http://127.0.0.1:1/${SMTP_PASSWORD}?db=x",
  "mqtt://user:${SMTP_PASSWORD}@127.0.0.1/gpus",
  "mqtt://user:file%3A%2Fetc%2Fshadow@127.0.0.1/gpus",
];

test.each([...secretReferences, "parquet:lake"])(
  "a local user without a token makes no pipe to %s",
  async (to) => {
    const refused = await post(await openHub(), "/api/pipes", pipeTo(to));
    expect([refused.statusCode, refused.body]).toEqual([
      403,
      expect.stringContaining("gpulse token add"),
    ]);
    expect(pipes.ids()).toEqual([]);
  },
);

test.each<[string, object]>([
  ["/api/tokens", { name: "mallory", scope: "admin" }],
  ["/api/tokens", { name: "mallory", scope: "push" }],
  ["/api/users", { name: "mallory", role: "admin", password: "correct horse battery" }],
])("a local user without a token gets none by POST %s %j", async (url, payload) => {
  const refused = await post(await openHub(), url, payload);
  expect(refused.statusCode).toBe(403);
  expect(refused.body).not.toMatch(/gpulse_(admin|push)_/);
  expect([state.tokens.any, state.accounts.any]).toEqual([false, false]);
});

test.each(secretReferences)("an administrator on the network makes no pipe to %s", async (to) => {
  const hub = await openHub();
  const headers = bearer("admin");
  const viaProxy = { ...headers, "x-forwarded-for": "203.0.113.9" };
  const direct = hub.inject({
    method: "POST",
    url: "/api/pipes",
    payload: pipeTo(to),
    headers: { ...host, ...headers },
    remoteAddress: "203.0.113.9",
  });
  for (const refused of [await post(hub, "/api/pipes", pipeTo(to), viaProxy), await direct])
    expect([refused.statusCode, refused.body]).toEqual([
      403,
      expect.stringContaining("on the hub's machine"),
    ]);
  expect(pipes.ids()).toEqual([]);
});

test("an administrator on loopback may refer to a secret, and on the network may make pipes without", async () => {
  const hub = await openHub();
  const headers = bearer("admin");
  const local = await post(hub, "/api/pipes", pipeTo(secretReferences[3] ?? ""), headers);
  expect(local.statusCode).toBe(201);
  const plain = { ...pipeTo("textfile:/var/lib/x.prom"), name: "plain" };
  const remote = await post(hub, "/api/pipes", plain, {
    ...headers,
    "x-forwarded-for": "203.0.113.9",
  });
  expect(remote.statusCode).toBe(201);
});

test("a running hub whose tokens are damaged answers 503 to every credential, and opens nothing", async () => {
  const admin = bearer("admin");
  const hub = await openHub();
  truncateSync(path.join(dataDir, "access", "tokens.state"), 64);
  state.tokens.refresh();
  const get = (url: string, headers: Headers = {}) =>
    hub.inject({ url, headers: { ...host, ...headers } });
  expect((await get("/api/tokens", admin)).statusCode).toBe(503);
  expect((await get("/api/tokens", admin)).body).toContain("gpulse token recover");
  expect((await get("/api/audit")).statusCode).toBe(503);
  expect((await post(hub, "/api/pipes", pipeTo("parquet:lake"), admin)).statusCode).toBe(503);
  expect((await post(hub, "/api/login", { token: "x" })).statusCode).toBe(503);
});

const through = (client: string, headers: Headers = {}): Headers => ({
  ...headers,
  "x-forwarded-for": client,
});
const behindProxy = { openReads: false, openWithoutTokens: false, behindProxy: true };
const password = "correct horse battery";

test.each([
  ["that names its clients", "203.0.113.9", "198.51.100.7"],
  ["that names nobody", undefined, undefined],
])(
  "a flood of bad tokens through a proxy %s holds up nobody's password",
  async (_proxy, bad, good) => {
    await state.accounts.add({ name: "ada", role: "admin", password }, nowMs);
    const hub = await openHub(behindProxy);
    const wrong = { authorization: `Bearer gpulse_admin_${"A".repeat(43)}` };
    for (let count = 0; count < 60; count++)
      await hub.inject({
        url: "/api/fleet",
        headers: { ...host, ...(bad === undefined ? wrong : through(bad, wrong)) },
      });
    const headers = good === undefined ? {} : through(good);
    const login = await post(hub, "/api/login", { name: "ada", password }, headers);
    expect(login.statusCode).toBe(303);
  },
);

test("a flood of bad passwords through a proxy holds up its own client alone", async () => {
  for (const name of ["ada", "grace"])
    await state.accounts.add({ name, role: "admin", password }, nowMs);
  const hub = await openHub(behindProxy);
  for (let count = 0; count < 30; count++)
    await post(hub, "/api/login", { name: `x${count}`, password }, through("203.0.113.9"));
  const asAda = { name: "ada", password };
  expect((await post(hub, "/api/login", asAda, through("203.0.113.9"))).statusCode).toBe(429);
  expect((await post(hub, "/api/login", asAda, through("198.51.100.7"))).statusCode).toBe(303);
});

test("the audit log has the client's address, the last one the proxy appended, and no claim of others", async () => {
  const admin = bearer("admin");
  const hub = await openHub(behindProxy);
  const headers = through("10.9.9.9, 203.0.113.9", admin);
  await post(hub, "/api/tokens", { name: "a", scope: "read" }, headers);
  await hub.inject({
    method: "POST",
    url: "/api/tokens",
    payload: { name: "b", scope: "read" },
    headers: { ...host, ...through("10.9.9.9", admin) },
    remoteAddress: "198.51.100.1",
  });
  await expect
    .poll(() => audit.tail(9).map(({ target, address }) => `${target ?? ""} ${address ?? ""}`))
    .toEqual(["b 198.51.100.1", "a 203.0.113.9"]);
});

test("a read token that logs out over and over evicts no administrator's line", async () => {
  const [admin, read] = [bearer("admin"), bearer("read")];
  audit = new AuditLog({ dataDir, log: silentLog, nowMs: () => nowMs, maxFileBytes: 4_096 });
  const hub = await openHub();
  await post(hub, "/api/tokens", { name: "evidence", scope: "read" }, admin);
  for (let count = 0; count < 300; count++) await post(hub, "/api/logout", {}, read);
  await expect.poll(() => audit.tail(1_000).length).toBeGreaterThan(1);
  const lines = audit.tail(1_000);
  expect(lines.map(({ target }) => target)).toContain("evidence");
  expect(lines.filter(({ what }) => what === "POST /api/logout").length).toBeLessThanOrEqual(20);
});

test("lines of callers without administrator rights, however many, evict none of an administrator", () => {
  const log = new AuditLog({ dataDir, log: silentLog, nowMs: () => nowMs, maxFileBytes: 4_096 });
  log.note({ who: "boss", by: "token", what: "DELETE /api/tokens/:id", outcome: "done" });
  for (let count = 0; count < 1_000; count++)
    log.note(
      { who: "reader", by: "token", what: "POST /api/logout", outcome: "done" },
      { privileged: false },
    );
  expect(log.tail(100_000).map(({ who }) => who)).toContain("boss");
});

test("2,000 logins of a reader end no session of an administrator", async () => {
  const admin = { holder: { kind: "user", id: "ada", generation: 1 }, name: "ada" } as const;
  const reader = { holder: { kind: "token", id: "r" }, name: "reader", scope: "read" } as const;
  const value = state.sessions.open({ ...admin, scope: "admin" }, nowMs);
  for (let count = 0; count < 2_000; count++) state.sessions.open(reader, nowMs);
  expect(state.sessions.find(value, nowMs)).toBeDefined();
  expect(state.sessions.list(nowMs).length).toBeLessThanOrEqual(21);
});

test.each([
  "slack.default.text",
  "discord.default.message",
  "email.default.text",
  "email.default.html",
])("a runbook that is no web address is no link in %s", (name) => {
  const hostile = { ...alertOf({ alertname: "A" }, { runbook_url: "javascript:alert(1)" }) };
  const notification = notificationOf([{ ...hostile, generatorUrl: "javascript:alert(2)" }]);
  const text = new NotificationTemplates(() => startMs).text(`{{ template "${name}" . }}`);
  expect(text(messageOf(notification))).not.toContain("javascript:");
});
