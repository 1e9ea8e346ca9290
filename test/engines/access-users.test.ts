// The built hub with users: accounts created on the command line can log in, keep their session over a restart and lose
// access within a moment of being disabled; a client certificate is required before anything else; no file or log
// contains a credential.

import { randomBytes } from "node:crypto";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { get } from "node:https";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";

import { makeAuthority, writeCertificate } from "../../engines/certificates.ts";
import { hubProgram } from "../../engines/hub.ts";
import { freePort } from "../../engines/ports.ts";
import { type RunningProcess, runProcess, startProcess } from "../../engines/process.ts";
import { ensureBuild } from "../../engines/program.ts";
import { waitUntil } from "../../engines/wait.ts";
import { HttpAgent, request } from "../../src/net/http/request.ts";

const ca = makeAuthority("gpulse test CA");
const strangers = makeAuthority("another CA");
const names = ["localhost", "127.0.0.1"];
const client = ca.issue({ commonName: "person" });
const password = `pass word ${randomBytes(9).toString("base64url")}`;
const secrets: string[] = [password];
const printed: string[] = [];
let folder = "";
let dataDir = "";
let port = 0;
let hub: RunningProcess;

/** A running hub applies changes within a moment; the timeout allows for a busy machine. */
const soon = { timeout: 60_000, interval: 200 };

async function gpulse(...args: readonly string[]) {
  const done = await runProcess(process.execPath, [hubProgram, ...args, "--data", dataDir], {
    timeoutMs: 60_000,
  });
  if (!args.includes("share")) printed.push(done.stdout);
  printed.push(done.stderr);
  return done;
}

interface Sent {
  readonly method?: "GET" | "POST";
  readonly body?: string;
  readonly headers?: Record<string, string>;
  readonly as?: typeof client | "nobody";
}

async function send(route: string, { method = "GET", body, headers = {}, as = client }: Sent = {}) {
  const own = as === "nobody" ? {} : { cert: as.cert, key: as.key };
  const agent = new HttpAgent({ ca: ca.cert, ...own });
  try {
    return await request(`https://127.0.0.1:${port}${route}`, {
      method,
      headers,
      ...(body === undefined ? {} : { body }),
      agent,
      timeoutMs: 30_000,
      maxBytes: 1_000_000,
    });
  } finally {
    agent.close();
  }
}
const statusOf = async (route: string, sent: Sent = {}) => (await send(route, sent)).status;

async function logIn(name: string, secret: string) {
  const answer = await send("/api/login", {
    method: "POST",
    headers: { "content-type": "application/x-www-form-urlencoded" },
    body: new URLSearchParams({ name, password: secret }).toString(),
  });
  const cookie = answer.headers["set-cookie"]?.split(";")[0] ?? "";
  if (cookie !== "") secrets.push(cookie.split("=")[1] ?? "no cookie");
  return { status: answer.status, cookie };
}

async function start(): Promise<void> {
  const args = {
    "--host": "0.0.0.0",
    "--port": String(port),
    "--data": dataDir,
    "--tls-cert": path.join(folder, "hub.pem"),
    "--tls-key": path.join(folder, "hub.key"),
    "--tls-client-ca": path.join(folder, "ca.pem"),
  };
  hub = startProcess(
    process.execPath,
    [hubProgram, "hub", "--no-self-scrape", ...Object.entries(args).flat()],
    { name: "gpulse hub" },
  );
  await waitUntil({ what: "the hub by HTTPS", timeoutMs: 60_000 }, async () =>
    (await statusOf("/-/ready")) === 200 ? true : undefined,
  );
}

beforeAll(async () => {
  await ensureBuild();
  folder = await mkdtemp(path.join(tmpdir(), "gpulse-access-users-"));
  dataDir = path.join(folder, "data");
  port = await freePort();
  writeCertificate(folder, "hub", ca.issue({ commonName: "hub", names }));
  await writeFile(path.join(folder, "ca.pem"), ca.cert);
  await writeFile(path.join(folder, "password"), `${password}\n`);
});

afterAll(async () => {
  await hub?.stop();
  await rm(folder, { recursive: true, force: true });
});

test("a user is made from a file, never from a flag, and is enough for a hub to open to the network", async () => {
  const plain = await gpulse("user", "add", "ada", "--password", "plain text here");
  expect([plain.code, plain.stderr.includes("takes file:PATH")]).toEqual([2, true]);
  const from = `file:${path.join(folder, "password")}`;
  expect((await gpulse("user", "add", "ada", "--role", "admin", "--password", from)).code).toBe(0);
  expect((await gpulse("user", "add", "grace", "--password", from)).code).toBe(0);
  expect((await gpulse("user", "add", "ADA", "--password", from)).code).toBe(2);
  await start();
});

test("without a certificate of the client CA nobody even gets to a form", async () => {
  await expect(send("/login", { as: "nobody" })).rejects.toThrow(/./);
  const other = strangers.issue({ commonName: "stranger" });
  await expect(send("/login", { as: other })).rejects.toThrow(/./);
  expect(await statusOf("/login")).toBe(200);
});

test("users log in and do what their role says, also by basic authentication", async () => {
  const ada = await logIn("ada", password);
  expect(ada.status).toBe(303);
  const { cookie } = ada;
  const reload = { method: "POST", headers: { cookie, "sec-fetch-site": "same-origin" } } as const;
  expect(await statusOf("/-/reload", reload)).toBe(200);
  expect(await statusOf("/-/reload", { method: "POST", headers: { cookie } })).toBe(403);
  expect((await logIn("ada", "something else")).status).toBe(401);
  const basic = `Basic ${Buffer.from(`grace:${password}`).toString("base64")}`;
  const headers = { authorization: basic };
  expect(await statusOf("/metrics", { headers })).toBe(200);
  expect(await statusOf("/-/reload", { method: "POST", headers })).toBe(403);
});

test("a token created elsewhere opens, and its file is the only place it stands in", async () => {
  const token = `gpulse_read_${randomBytes(32).toString("base64url")}`;
  secrets.push(token);
  await writeFile(path.join(folder, "token"), token);
  const from = `file:${path.join(folder, "token")}`;
  expect((await gpulse("token", "add", "given", "--scope", "read", "--token", from)).code).toBe(0);
  const headers = { authorization: `Bearer ${token}` };
  await expect.poll(() => statusOf("/metrics", { headers }), soon).toBe(200);
  expect((await gpulse("token", "revoke", "given")).code).toBe(0);
  await expect.poll(() => statusOf("/metrics", { headers }), soon).toBe(401);
});

test("a shared link opens until it is revoked, and says nothing of how the hub is set up", async () => {
  const made = await gpulse("share", "add", "--name", "wall", "--page", "/alerts", "--json");
  const { link } = JSON.parse(made.stdout) as { link: string };
  const secret = link.split("#")[1] ?? "";
  secrets.push(secret);
  const opened = await send("/api/share", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ secret }),
  });
  expect([opened.status, JSON.parse(String(opened.body))]).toEqual([200, { page: "./alerts" }]);
  const cookie = opened.headers["set-cookie"]?.split(";")[0] ?? "";
  secrets.push(cookie.split("=")[1] ?? "no cookie");
  const headers = { cookie };
  expect(await statusOf("/api/v1/query?query=up", { headers })).toBe(200);
  for (const route of ["/api/v1/status/config", "/api/pipes", "/api/users", "/api/audit"])
    expect([route, await statusOf(route, { headers })]).toEqual([route, 403]);
  expect((await gpulse("share", "revoke", "wall")).code).toBe(0);
  await expect.poll(() => statusOf("/metrics", { headers }), soon).toBe(401);
});

test("a session outlives a kill -9 and ends, with its stream, when the user is disabled", async () => {
  const { cookie } = await logIn("grace", password);
  process.kill(hub.pid, "SIGKILL");
  await hub.waitForExit();
  printed.push(hub.output());
  await start();
  expect(await statusOf("/metrics", { headers: { cookie } })).toBe(200);
  let ended = false;
  const stream = get(
    `https://127.0.0.1:${port}/api/live`,
    { ca: ca.cert, cert: client.cert, key: client.key, headers: { cookie } },
    (answer) => {
      answer.resume();
      answer.once("close", () => (ended = true));
    },
  );
  stream.on("error", () => (ended = true));
  await new Promise((resolve) => stream.once("response", resolve));
  expect((await gpulse("user", "disable", "grace")).code).toBe(0);
  await expect.poll(() => ended, soon).toBe(true);
  expect(await statusOf("/metrics", { headers: { cookie } })).toBe(401);
  expect((await logIn("grace", password)).status).toBe(401);
});

test("a new client CA is taken up without a restart: the old certificates are out", async () => {
  const other = strangers.issue({ commonName: "stranger" });
  await writeFile(path.join(folder, "ca.pem"), strangers.cert);
  await expect.poll(() => statusOf("/login", { as: other }).catch(() => 0), soon).toBe(200);
  await expect(send("/login")).rejects.toThrow(/./);
});

test("what was done is in the audit log, and no secret is in a log, an answer or a file", async () => {
  const audit = await gpulse("audit");
  for (const line of ["user add --role admin", "user disable", "share add", "POST /api/login"])
    expect(audit.stdout).toContain(line);
  printed.push(hub.output());
  const texts = [...printed];
  for (const file of await readdir(dataDir, { recursive: true, withFileTypes: true }))
    if (file.isFile()) texts.push(await readFile(path.join(file.parentPath, file.name), "latin1"));
  const all = texts.join("\n");
  expect(all).toContain("logged in");
  expect(secrets.filter((secret) => all.includes(secret.slice(-16)))).toEqual([]);
  expect(secrets.length).toBeGreaterThan(5);
});
