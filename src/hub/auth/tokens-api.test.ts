import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fastify } from "fastify";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openAccess } from "../../access/open.ts";
import type { Scope } from "../../access/scope.ts";
import { Tokens } from "../../access/tokens.ts";
import { BasicUsers } from "../../net/http/basic-users.ts";
import { silentLog } from "../../base/log.ts";
import { addAuth } from "./auth.ts";
import type { HubAccess } from "./authenticator.ts";
import { RefusalCounts } from "./self-metrics.ts";

let dataDir = "";
let tokens: Tokens;
const nowMs = 1_700_000_000_000;
beforeEach(() => {
  dataDir = mkdtempSync(path.join(tmpdir(), "gpulse-tokens-"));
  tokens = new Tokens({ dataDir, log: silentLog });
});
afterEach(() => {
  tokens.close();
  rmSync(dataDir, { recursive: true, force: true });
});

async function hub(changes: Partial<HubAccess>) {
  const app = fastify();
  const access: HubAccess = {
    ...openAccess({ dataDir: dataDir, log: silentLog, random: randomBytes }),
    tokens,
    users: () => new BasicUsers(new Map()),
    openReads: true,
    openWithoutTokens: true,
    secure: false,
    random: randomBytes,
    refused: new RefusalCounts(),
    ...changes,
  };
  await addAuth(app, { access, log: silentLog, nowMs: () => nowMs });
  return app;
}

const tokenOf = (name: string, scope: Scope): string =>
  tokens.add({ name, scope }, nowMs, randomBytes).text.reveal();
const bearer = (text: string) => ({ authorization: `Bearer ${text}` });
const wanted = (name: string, scope: Scope) => ({
  method: "POST" as const,
  url: "/api/tokens",
  payload: { name, scope },
});

test("no list and no later answer has a token's text or its digest", async () => {
  const app = await hub({});
  const text = tokenOf("boss", "admin");
  const made = (await app.inject({ ...wanted("n", "push"), headers: bearer(text) })).json<{
    token: string;
  }>();
  const listed = await app.inject({ url: "/api/tokens", headers: bearer(text) });
  expect(listed.body).not.toContain(made.token);
  expect(listed.body).not.toMatch(/[0-9a-f]{64}/);
  expect(listed.json<{ tokens: { name: string }[] }>().tokens.map(({ name }) => name)).toEqual([
    "boss",
    "n",
  ]);
});

test("a revoked token is refused from then on", async () => {
  const app = await hub({ openReads: false, openWithoutTokens: false });
  const boss = tokenOf("boss", "admin");
  const other = tokenOf("other", "admin");
  const gone = await app.inject({
    method: "DELETE",
    url: "/api/tokens/other",
    headers: bearer(boss),
  });
  expect(gone.json<{ state: string }>().state).toBe("revoked");
  expect((await app.inject({ url: "/api/tokens", headers: bearer(other) })).statusCode).toBe(401);
});

test.each<[string, Partial<HubAccess>, Scope | undefined, Record<string, string>, number]>([
  ["an administrator", {}, "admin", {}, 200],
  ["a reader", {}, "read", {}, 403],
  ["a pusher", {}, "push", {}, 403],
  ["nobody on loopback", {}, undefined, {}, 200],
  ["nobody by way of a proxy", {}, undefined, { "x-forwarded-for": "10.0.0.9" }, 403],
  ["nobody on an open network", { openReads: false }, undefined, {}, 403],
])(
  "%s that asks for the tokens is answered as that deserves",
  async (_who, changes, scope, more, status) => {
    const app = await hub(changes);
    const headers = { ...more, ...(scope === undefined ? {} : bearer(tokenOf("x", scope))) };
    expect((await app.inject({ url: "/api/tokens", headers })).statusCode).toBe(status);
    expect((await app.inject({ ...wanted("y", "push"), headers })).statusCode).toBe(
      scope === "admin" ? 201 : 403,
    );
  },
);

test.each<[Record<string, unknown>, number]>([
  [{ name: "a b" }, 400],
  [{}, 400],
  [{ name: "a", scope: "root" }, 400],
  [{ name: "a", expiresInSeconds: 0 }, 400],
  [{ name: "a", more: 1 }, 400],
  [{ name: "a", expiresInSeconds: 60 }, 201],
])("%j is answered with %i", async (payload, status) => {
  const app = await hub({});
  const headers = bearer(tokenOf("boss", "admin"));
  const answer = await app.inject({ method: "POST", url: "/api/tokens", payload, headers });
  expect(answer.statusCode, answer.body).toBe(status);
});

test("a name that is taken is reported", async () => {
  const app = await hub({});
  const headers = bearer(tokenOf("boss", "admin"));
  expect((await app.inject({ ...wanted("boss", "read"), headers })).statusCode).toBe(409);
});

test("the users of the web configuration file are listed by name, and nothing else of them", async () => {
  const hash = "$2b$10$reFTQ449Nam.bJOEmAvrAe.LzcBMqMcKqKqvyxLuNrA.jVoC0Ugs6";
  const app = await hub({ users: () => new BasicUsers(new Map([["ada", hash]])) });
  const headers = bearer(tokenOf("boss", "admin"));
  const answer = await app.inject({ url: "/api/tokens", headers });
  expect(answer.json<{ users: string[] }>().users).toEqual(["ada"]);
  expect(answer.body).not.toContain("$2b$");
});
