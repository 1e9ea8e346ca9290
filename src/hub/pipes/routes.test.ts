import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { openAccess } from "../../access/open.ts";
import type { Scope } from "../../access/scope.ts";
import { Tokens } from "../../access/tokens.ts";
import { BasicUsers } from "../../net/http/basic-users.ts";
import { silentLog } from "../../base/log.ts";
import { LatestFrames } from "../../sinks/latest/latest.ts";
import { parseSink } from "../../sinks/open.ts";
import { parseSource } from "../../sources/open.ts";
import type { HubAccess } from "../auth/authenticator.ts";
import { RefusalCounts } from "../auth/self-metrics.ts";
import { buildHub } from "../hub.ts";
import { pipeProgram } from "../../../test/fixtures/hub/pipes.ts";
import { Pipes } from "./pipes.ts";

let folder = "";
let tokens: Tokens;
let pipes: Pipes;
beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "gpulse-pipes-api-"));
  tokens = new Tokens({ dataDir: folder, log: silentLog });
  pipes = new Pipes({
    dataDir: folder,
    hostName: "lab",
    program: pipeProgram(folder),
    env: {},
    log: silentLog,
    nowMs: Date.now,
    check: async ({ from, to }) => {
      from.forEach(parseSource);
      to.forEach(parseSink);
    },
  });
});
afterEach(async () => {
  await pipes.close();
  tokens.close();
  rmSync(folder, { recursive: true, force: true });
});

async function hub(changes: Partial<HubAccess> = {}) {
  const access: HubAccess = {
    ...openAccess({ dataDir: folder, log: silentLog, random: randomBytes }),
    tokens,
    users: () => new BasicUsers(new Map()),
    openReads: true,
    openWithoutTokens: true,
    secure: false,
    random: randomBytes,
    refused: new RefusalCounts(),
    ...changes,
  };
  const app = await buildHub({
    latest: new LatestFrames(),
    host: "127.0.0.1",
    port: 0,
    hostName: "lab",
    webDir: folder,
    log: silentLog,
    nowMs: Date.now,
    version: "1",
    metricsPage: () => ({ body: "", contentType: "text/plain" }),
    stats: () => ({}),
    ready: () => ({ ready: true, problems: [] }),
    access,
    pipes,
  });
  return async (
    method: "GET" | "POST" | "DELETE",
    url: string,
    { token, payload }: { token?: string; payload?: object } = {},
  ) => {
    const authorization = token === undefined ? {} : { authorization: `Bearer ${token}` };
    const headers = { host: "localhost:9410", ...authorization };
    const answer = await app.inject({ method, url, headers, ...(payload && { payload }) });
    return {
      status: answer.statusCode,
      text: answer.body,
      body: JSON.parse(answer.body) as unknown,
    };
  };
}

const tokenOf = (scope: Scope): string =>
  tokens.add({ name: scope, scope }, Date.now(), randomBytes).text.reveal();
const lake = { name: "lake", kind: "pipe", from: ["sim:1"], to: ["parquet:lake"] };

test("an administrator adds, stops, starts and removes; anyone who may read sees it", async () => {
  const [ask, admin, read] = [await hub(), tokenOf("admin"), tokenOf("read")];
  const made = await ask("POST", "/api/pipes", { token: admin, payload: lake });
  expect([made.status, made.body]).toMatchObject([201, { id: "1", state: "running", options: {} }]);
  await expect
    .poll(async () => (await ask("GET", "/api/pipes", { token: read })).body, { timeout: 20_000 })
    .toMatchObject({ pipes: [{ name: "lake", frames: 42, deadLetters: 2, lagSeconds: 0.25 }] });
  const stopped = await ask("POST", "/api/pipes/1/stop", { token: admin });
  expect(stopped.body).toMatchObject({ state: "stopped", wanted: "stopped" });
  const started = await ask("POST", "/api/pipes/1/start", { token: admin });
  expect(started.body).toMatchObject({ state: "running" });
  expect((await ask("DELETE", "/api/pipes/1", { token: admin })).status).toBe(200);
  expect((await ask("GET", "/api/pipes", { token: read })).body).toEqual({ pipes: [] });
  expect((await ask("POST", "/api/pipes/1/start", { token: admin })).status).toBe(404);
});

test.each(["read", "push"] as const)("a token that may %s changes nothing", async (scope) => {
  const [ask, token] = [await hub(), tokenOf(scope)];
  expect((await ask("POST", "/api/pipes", { token, payload: lake })).status).toBe(403);
  expect((await ask("DELETE", "/api/pipes/1", { token })).status).toBe(403);
  expect(pipes.ids()).toEqual([]);
});

test.each([true, false])(
  "without a token nothing is changed, open on loopback: %s",
  async (openReads) => {
    const ask = await hub({ openReads });
    const refused = await ask("POST", "/api/pipes", { payload: lake });
    expect([refused.status, refused.text]).toEqual([403, expect.stringContaining("token add")]);
    expect((await ask("DELETE", "/api/pipes/1")).status).toBe(403);
    expect(pipes.ids()).toEqual([]);
  },
);

test.each<[string, object, string]>([
  ["an unknown source", { ...lake, from: ["simm:1"] }, 'There is no source \\"simm\\"'],
  ["an unknown sink", { ...lake, to: ["parket:x"] }, 'There is no sink \\"parket\\"'],
  ["a wrong option", { ...lake, from: ["sim:1?gpuz=2"] }, "unknown key"],
  ["no sink", { ...lake, to: [] }, "at least one URL"],
  ["an unknown key", { ...lake, shell: "rm" }, "unknown key"],
  ["a name of other letters", { ...lake, name: "<b>" }, "made of 1 to 60"],
  ["two lines", { ...lake, to: ["parquet:a\nb"] }, "one line"],
  ["nothing", {}, "is missing"],
])("%s is refused with a sentence, and nothing is started", async (_what, payload, says) => {
  const ask = await hub();
  const { status, text } = await ask("POST", "/api/pipes", { token: tokenOf("admin"), payload });
  expect([status, text]).toEqual([400, expect.stringContaining(says)]);
  expect(pipes.ids()).toEqual([]);
});
