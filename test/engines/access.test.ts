// The built hub beyond loopback: unsafe configurations that it refuses to start with, access by TLS and token, and
// changes at runtime. Rejected data must not be stored, and only `gpulse token add` may print a token.

import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";

import { WriteRequests } from "../../bench/remote-write.ts";
import { makeAuthority, writeCertificate } from "../../engines/certificates.ts";
import { hubProgram } from "../../engines/hub.ts";
import { freePort } from "../../engines/ports.ts";
import { type RunningProcess, runProcess, startProcess } from "../../engines/process.ts";
import { ensureBuild } from "../../engines/program.ts";
import { waitUntil } from "../../engines/wait.ts";
import { HttpAgent, request } from "../../src/net/http/request.ts";
import { labelSet } from "../../src/model/labels.ts";

const ca = makeAuthority("gpulse test CA");
const otherCa = makeAuthority("another CA");
const names = ["localhost", "127.0.0.1"];
const secrets: string[] = [];
/** All output of our programs, except for that of `token add`. */
const printed: string[] = [];
const bodies: string[] = [];
let folder = "";
let dataDir = "";
let port = 0;
let hub: RunningProcess;

async function gpulse(args: readonly string[], env: Record<string, string> = {}) {
  return runProcess(process.execPath, [hubProgram, ...args], { env, timeoutMs: 60_000 });
}

async function addToken(name: string, ...more: string[]): Promise<string> {
  const done = await gpulse(["token", "add", name, "--data", dataDir, "--json", ...more]);
  expect(done.code).toBe(0);
  printed.push(done.stderr);
  const { token } = JSON.parse(done.stdout) as { token: string };
  secrets.push(token);
  return token;
}

async function revoke(name: string): Promise<void> {
  const done = await gpulse(["token", "revoke", name, "--data", dataDir]);
  printed.push(done.stdout, done.stderr);
  expect(done.code).toBe(0);
}

interface Sent {
  readonly token?: string;
  readonly ca?: string;
  readonly method?: "GET" | "POST";
  readonly body?: Buffer | string;
  readonly headers?: Record<string, string>;
}

async function send(route: string, sent: Sent = {}) {
  const agent = new HttpAgent({ ca: sent.ca ?? ca.cert });
  try {
    const { status, body } = await request(`https://127.0.0.1:${port}${route}`, {
      method: sent.method ?? "GET",
      headers: {
        ...(sent.token === undefined ? {} : { authorization: `Bearer ${sent.token}` }),
        ...sent.headers,
      },
      ...(sent.body === undefined ? {} : { body: sent.body }),
      agent,
      timeoutMs: 20_000,
      maxBytes: 10_000_000,
    });
    bodies.push(body.toString("utf8"));
    return { status, body: body.toString("utf8") };
  } finally {
    agent.close();
  }
}

/** Sends one unique sample by remote-write. */
async function push(series: string, token?: string) {
  const requests = new WriteRequests([labelSet({ __name__: "access_test", series })]);
  const { status } = await send("/api/v1/write", {
    method: "POST",
    body: requests.encode(0, 1, [Date.now()], () => 1),
    headers: { "content-type": "application/x-protobuf", "content-encoding": "snappy" },
    ...(token === undefined ? {} : { token }),
  });
  return status;
}

async function stored(token: string): Promise<string[]> {
  const { body } = await send("/api/v1/label/series/values", { token });
  return (JSON.parse(body) as { data: string[] }).data;
}

beforeAll(async () => {
  await ensureBuild();
  folder = await mkdtemp(path.join(tmpdir(), "gpulse-access-"));
  dataDir = path.join(folder, "data");
  port = await freePort();
  writeCertificate(folder, "hub", ca.issue({ commonName: "hub", names }));
  await writeFile(path.join(folder, "ca.pem"), ca.cert);
});

afterAll(async () => {
  await hub?.stop();
  await rm(folder, { recursive: true, force: true });
});

const tls = () => [
  "--tls-cert",
  path.join(folder, "hub.pem"),
  "--tls-key",
  path.join(folder, "hub.key"),
];

test("the hub does not open to the network without tokens and TLS, and says what to do", async () => {
  const start = async (...more: string[]) =>
    gpulse(["hub", "--host", "0.0.0.0", "--port", String(port), "--data", dataDir, ...more]);
  const bare = await start();
  expect(bare.code).toBe(2);
  expect(bare.stderr).toContain("no token and no TLS");
  expect(bare.stderr).toContain(`gpulse token add NAME --scope read --data ${dataDir}`);
  const noToken = await start(...tls());
  expect([noToken.code, noToken.stderr.includes("there is no token:")]).toEqual([2, true]);
  await addToken("first", "--scope", "read");
  const noTls = await start();
  expect([noTls.code, noTls.stderr.includes("there is no TLS:")]).toEqual([2, true]);
  await revoke("first");
  const revoked = await start(...tls());
  expect([revoked.code, revoked.stderr.includes("there is no token:")]).toEqual([2, true]);
  const up = await gpulse([
    "up",
    "--host",
    "0.0.0.0",
    "--port",
    "0",
    "--data",
    dataDir,
    "--no-open",
  ]);
  expect(up.code).toBe(2);
});

test("by TLS each token opens what its scope says, and what is refused is not stored", async () => {
  const admin = await addToken("admin", "--scope", "admin");
  const [pusher, reader] = [await addToken("pusher"), await addToken("reader", "--scope", "read")];
  const expired = await addToken("expired", "--scope", "push", "--expires", "50ms");
  const revoked = await addToken("revoked");
  await revoke("revoked");
  hub = startProcess(
    process.execPath,
    [
      hubProgram,
      "hub",
      "--host",
      "0.0.0.0",
      "--port",
      String(port),
      "--data",
      dataDir,
      "--no-self-scrape",
      ...tls(),
    ],
    { name: "gpulse hub" },
  );
  await waitUntil({ what: "the hub by HTTPS", timeoutMs: 60_000 }, async () =>
    (await send("/-/ready")).status === 200 ? true : undefined,
  );
  expect(await push("right", pusher)).toBe(204);
  expect(await push("by-admin", admin)).toBe(204);
  const wrong = `${pusher.slice(0, -4)}AAAA`;
  secrets.push(wrong);
  expect(await push("none")).toBe(401);
  expect(await push("wrong", wrong)).toBe(401);
  expect(await push("expired", expired)).toBe(401);
  expect(await push("revoked", revoked)).toBe(401);
  expect(await push("too-small", reader)).toBe(403);
  await expect(send("/-/ready", { ca: otherCa.cert })).rejects.toThrow(/certificate|verify/);
  expect(await stored(reader)).toEqual(["by-admin", "right"]);
  expect((await send("/api/v1/query?query=access_test", { token: pusher })).status).toBe(403);
  expect((await send("/metrics", { token: pusher })).status).toBe(403);
  const metrics = await send("/metrics", { token: reader });
  expect(metrics.status).toBe(200);
  expect(metrics.body).toMatch(/^gpulse_access_refused_total\{reason="expired"\} 1$/m);
  expect(metrics.body).toMatch(/^gpulse_tls_certificate_expiry_timestamp_seconds 1\.?\d+/m);
  expect((await send("/metrics")).status).toBe(401);
  expect((await send("/")).status).toBe(401);
  expect((await send("/api/live")).status).toBe(401);
  expect((await send(`/metrics?token=${reader}`)).status).toBe(401);
  const snapshot = { method: "POST" } as const;
  expect((await send("/api/v1/admin/tsdb/snapshot", { ...snapshot, token: reader })).status).toBe(
    403,
  );
  expect((await send("/api/v1/admin/tsdb/snapshot", { ...snapshot, token: admin })).status).toBe(
    200,
  );
  expect((await send("/-/healthy")).status).toBe(200);
});

test.each([
  ["/api/v1/write", "application/x-protobuf"],
  ["/v1/metrics", "application/x-protobuf"],
  ["/write?db=x", "text/plain"],
  ["/api/v2/write?bucket=x", "text/plain"],
  ["/push", "application/json"],
])("%s is closed to who has no push token", async (route, type) => {
  const asked = { method: "POST", body: "x", headers: { "content-type": type } } as const;
  expect((await send(route, asked)).status).toBe(401);
  const reader = secrets.find((token) => token.startsWith("gpulse_read_") && token !== secrets[0]);
  expect((await send(route, { ...asked, token: reader ?? "" })).status).toBe(403);
});

test("the command line shows a token from a file, and is told when it is too small", async () => {
  const reader = await addToken("cli", "--scope", "read");
  await writeFile(path.join(folder, "token"), `${reader}\n`);
  const [url, trust] = [`https://127.0.0.1:${port}`, ["--ca", path.join(folder, "ca.pem")]];
  const query = ["query", "access_test", "--url", url, "--csv"];
  const right = await gpulse([...query, ...trust, "--token", `file:${path.join(folder, "token")}`]);
  expect([right.code, right.stdout.includes("by-admin")]).toEqual([0, true]);
  const byVariable = await gpulse([...query, ...trust], { GPULSE_TOKEN: reader });
  expect(byVariable.code).toBe(0);
  const without = await gpulse([...query, ...trust], { GPULSE_TOKEN: "" });
  expect([without.code, without.stderr.includes("needs a token")]).toEqual([1, true]);
  const untrusted = await gpulse(query, { GPULSE_TOKEN: reader });
  expect([untrusted.code, untrusted.stderr.includes("certificate")]).toEqual([1, true]);
  for (const { stdout, stderr } of [right, byVariable, without, untrusted])
    printed.push(stdout, stderr);
});

interface Listed {
  readonly name: string;
  readonly state: string;
  readonly lastUsed: string | null;
}

async function listTokens(): Promise<readonly Listed[]> {
  const list = await gpulse(["token", "list", "--data", dataDir, "--json"]);
  printed.push(list.stdout, list.stderr);
  return JSON.parse(list.stdout) as readonly Listed[];
}

/** A running hub applies changes within a moment; the timeout allows for a busy machine. */
const soon = { timeout: 30_000, interval: 200 };

test("a token created while the hub runs opens, its use is reported, and revoked it closes", async () => {
  const token = await addToken("late");
  await expect.poll(() => push("late", token), soon).toBe(204);
  const lastUsed = async () => (await listTokens()).find(({ name }) => name === "late")?.lastUsed;
  await expect.poll(lastUsed, soon).toEqual(expect.any(String));
  const known = await listTokens();
  expect(known.map(({ name, state }) => `${name} ${state}`)).toContain("expired expired");
  await revoke("late");
  await expect.poll(() => push("after", token), soon).toBe(401);
  await expect
    .poll(() => hub.output())
    .toMatch(/access refused .*why=revoked token="late \([0-9a-f]{12}\)"/);
});

test("a browser logs in by the form and has a session that the revocation ends", async () => {
  const token = await addToken("browser", "--scope", "read");
  const page = await send("/", { headers: { accept: "text/html" } });
  expect([page.status, page.body.includes('action="api/login"')]).toEqual([401, true]);
  const agent = new HttpAgent({ ca: ca.cert });
  const { status, headers } = await request(`https://127.0.0.1:${port}/api/login`, {
    method: "POST",
    headers: { "content-type": "application/x-www-form-urlencoded" },
    body: `token=${token}`,
    agent,
    timeoutMs: 10_000,
    maxBytes: 10_000,
  });
  agent.close();
  expect([status, headers["location"]]).toEqual([303, "../"]);
  const cookie = headers["set-cookie"]?.split(";")[0] ?? "";
  secrets.push(cookie.split("=")[1] ?? "no cookie");
  expect(headers["set-cookie"]).toMatch(/HttpOnly; SameSite=Strict; Max-Age=\d+; Secure$/);
  expect((await send("/api/fleet", { headers: { cookie } })).status).toBe(200);
  await revoke("browser");
  const fleet = async () => (await send("/api/fleet", { headers: { cookie } })).status;
  await expect.poll(fleet, soon).toBe(401);
});

test("a new certificate is served without a restart, also on SIGHUP, and a broken one is not taken", async () => {
  writeCertificate(folder, "hub", otherCa.issue({ commonName: "hub", names }));
  await waitUntil({ what: "the new certificate", timeoutMs: 10_000 }, async () =>
    (await send("/-/ready", { ca: otherCa.cert })).status === 200 ? true : undefined,
  );
  await writeFile(path.join(folder, "hub.key"), "-----BEGIN nothing-----");
  process.kill(hub.pid, "SIGHUP");
  await hub.waitForOutput(/keeping the previous ones/);
  expect((await send("/-/ready", { ca: otherCa.cert })).status).toBe(200);
  writeCertificate(folder, "hub", ca.issue({ commonName: "hub", names }));
  process.kill(hub.pid, "SIGHUP");
  await waitUntil({ what: "the certificate by SIGHUP", timeoutMs: 10_000 }, async () =>
    (await send("/-/ready")).status === 200 ? true : undefined,
  );
});

test("tokens outlive a kill -9, and the hub that comes back asks for them", async () => {
  process.kill(hub.pid, "SIGKILL");
  await hub.waitForExit();
  printed.push(hub.output());
  hub = startProcess(
    process.execPath,
    [hubProgram, "hub", "--host", "0.0.0.0", "--port", String(port), "--data", dataDir, ...tls()],
    { name: "gpulse hub" },
  );
  await waitUntil({ what: "the hub by HTTPS", timeoutMs: 60_000 }, async () =>
    (await send("/-/ready")).status === 200 ? true : undefined,
  );
  const [admin] = secrets.filter((token) => token.startsWith("gpulse_admin_"));
  expect(await push("again", admin)).toBe(204);
  expect(await push("nobody")).toBe(401);
});

test("no secret is in a log, an answer or a file of the data folder", async () => {
  printed.push(hub.output());
  const files = await readdir(dataDir, { recursive: true, withFileTypes: true });
  const texts = [...printed, ...bodies];
  for (const file of files)
    if (file.isFile()) texts.push(await readFile(path.join(file.parentPath, file.name), "latin1"));
  const all = texts.join("\n");
  expect(all).toContain("access refused");
  // Only the last part: a log with a truncated token would expose it as well.
  const reported = secrets.filter((secret) => all.includes(secret.slice(-16)));
  expect(reported).toEqual([]);
  expect(secrets.length).toBeGreaterThan(8);
});
