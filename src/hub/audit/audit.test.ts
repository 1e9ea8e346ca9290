/** Tests of the audit log's entries for HTTP requests, and of who may read them. */
import { randomBytes } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fastify, type FastifyInstance } from "fastify";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { type AuditEntry, AuditLog } from "../../access/audit.ts";
import { openAccess } from "../../access/open.ts";
import type { Scope } from "../../access/scope.ts";
import { Tokens } from "../../access/tokens.ts";
import { BasicUsers } from "../../net/http/basic-users.ts";
import { silentLog } from "../../base/log.ts";
import { addAuth } from "../auth/auth.ts";
import type { HubAccess } from "../auth/authenticator.ts";
import { RefusalCounts } from "../auth/self-metrics.ts";
import { isAudited } from "./audited.ts";
import { addAudit } from "./routes.ts";

const nowMs = Date.parse("2026-11-15T12:00:00Z");
let dataDir = "";
let tokens: Tokens;
let audit: AuditLog;
const apps: FastifyInstance[] = [];
beforeEach(() => {
  dataDir = mkdtempSync(path.join(tmpdir(), "gpulse-hub-audit-"));
  tokens = new Tokens({ dataDir, log: silentLog });
  audit = new AuditLog({ dataDir, log: silentLog, nowMs: () => nowMs });
});
afterEach(async () => {
  for (const app of apps.splice(0)) await app.close();
  tokens.close();
  rmSync(dataDir, { recursive: true, force: true });
});

async function hub(open: boolean): Promise<FastifyInstance> {
  const app = fastify();
  apps.push(app);
  const access: HubAccess = {
    ...openAccess({ dataDir: dataDir, log: silentLog, random: randomBytes }),
    tokens,
    users: () => new BasicUsers(new Map()),
    openReads: open,
    openWithoutTokens: true,
    secure: false,
    random: randomBytes,
    refused: new RefusalCounts(),
  };
  addAudit(app, { audit, access, nowMs: () => nowMs });
  await addAuth(app, { access, log: silentLog, nowMs: () => nowMs });
  app.delete("/api/agents/:id", async () => ({}));
  app.post("/api/v1/write", async () => ({}));
  return app;
}

const bearer = (name: string, scope: Scope) => ({
  authorization: `Bearer ${tokens.add({ name, scope }, nowMs, randomBytes).text.reveal()}`,
});
/** Entries are written after the response. */
const noted = (count: number): Promise<readonly AuditEntry[]> =>
  vi.waitFor(
    () => {
      const entries = audit.tail(1_000);
      expect(entries).toHaveLength(count);
      return entries;
    },
    { timeout: 30_000 },
  );

test.each([
  ["POST", "/api/tokens", 201, true],
  ["POST", "/api/tokens", 403, true],
  ["DELETE", "/api/v2/silence/:id", 200, true],
  ["DELETE", "/api/v2/silence/:id", 404, true],
  ["POST", "/api/login", 401, true],
  ["POST", "/-/reload", 200, true],
  ["PUT", "/api/v1/admin/tsdb/snapshot", 200, true],
  ["GET", "/api/tokens", 200, false],
  ["GET", "/api/tokens", 401, true],
  ["GET", "/metrics", 401, false],
  ["POST", "/api/v1/query", 403, false],
  ["POST", "/api/v1/write", 204, false],
  ["POST", "/api/v1/write", 401, true],
  ["POST", undefined, 403, true],
  ["POST", undefined, 404, false],
])("%s %s answered %i is noted: %s", (method, pattern, status, is) => {
  expect(isAudited(method, pattern, status)).toBe(is);
});

test("a change reports who made it, from where and to what, and its secret is nowhere", async () => {
  const app = await hub(false);
  const boss = bearer("boss", "admin");
  const made = await app.inject({
    method: "POST",
    url: "/api/tokens",
    headers: boss,
    payload: { name: "node-7", scope: "push" },
  });
  await app.inject({ method: "DELETE", url: "/api/agents/a1?x=y", headers: boss });
  const [deleted, added] = await noted(2);
  expect(added).toEqual({
    time: "2026-11-15T12:00:00.000Z",
    who: "boss",
    by: "token",
    address: "127.0.0.1",
    what: "POST /api/tokens",
    target: "node-7",
    outcome: "done",
    status: 201,
  });
  expect(deleted).toMatchObject({ what: "DELETE /api/agents/:id", target: "a1" });
  const file = readFileSync(path.join(dataDir, "access", "audit.jsonl"), "utf8");
  expect(file).not.toContain(made.json<{ token: string }>().token);
  expect(file).not.toContain(boss.authorization.slice("Bearer ".length));
});

test("refused tries are noted, and a flood of them is bounded", async () => {
  const app = await hub(false);
  const reader = bearer("reader", "read");
  for (let count = 0; count < 50; count++)
    await app.inject({ method: "DELETE", url: "/api/agents/a1", headers: reader });
  const entries = await noted(20);
  expect(entries[19]).toMatchObject({ outcome: "refused", status: 403, target: "a1" });
  expect(entries[0]?.why).toBe("more in this minute are not recorded");
  await app.inject({
    method: "DELETE",
    url: "/api/agents/a1",
    headers: reader,
    remoteAddress: "10.0.0.9",
  });
  await noted(21);
});

test("administrators read it, readers and strangers do not", async () => {
  const app = await hub(false);
  const [boss, reader] = [bearer("boss", "admin"), bearer("reader", "read")];
  const ask = (url: string, headers: Record<string, string>) =>
    app.inject({ method: "GET", url, headers });
  await app.inject({ method: "DELETE", url: "/api/agents/a1", headers: boss });
  await noted(1);
  const shown = await ask("/api/audit", boss);
  expect(shown.json()).toMatchObject({ entries: [{ who: "boss" }] });
  expect(shown.headers["cache-control"]).toBe("no-store");
  expect((await ask("/api/audit", reader)).statusCode).toBe(403);
  expect((await ask("/api/audit", {})).statusCode).toBe(401);
  expect((await ask("/api/audit?limit=0", boss)).statusCode).toBe(400);
  expect((await ask("/api/audit?before=soon", boss)).statusCode).toBe(400);
  const past = await ask("/api/audit?before=2026-11-15T11:00:00Z", boss);
  expect(past.json()).toEqual({ entries: [] });
});

test.each([
  [true, {}, 200],
  [true, { "x-forwarded-for": "10.0.0.9" }, 403],
  [false, {}, 403],
])("with no token yet, on loopback %s with %j: %i", async (open, headers, status) => {
  const app = await hub(open);
  expect((await app.inject({ method: "GET", url: "/api/audit", headers })).statusCode).toBe(status);
});
