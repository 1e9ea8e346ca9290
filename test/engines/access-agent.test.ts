// A real Prometheus scrapes the agent behind a web configuration file: over HTTPS with a password, and with a client
// certificate.

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { hashSync } from "bcryptjs";
import { afterAll, beforeAll, expect, test } from "vitest";

import { makeAuthority, writeCertificate } from "../../engines/certificates.ts";
import { hubProgram } from "../../engines/hub.ts";
import { freePort } from "../../engines/ports.ts";
import { type RunningProcess, startProcess } from "../../engines/process.ts";
import { ensureBuild } from "../../engines/program.ts";
import { type RunningPrometheus, startPrometheus } from "../../engines/prometheus.ts";
import { findTool, toolOrSkip } from "../../engines/tools.ts";
import { waitUntil } from "../../engines/wait.ts";
import { HttpAgent, request } from "../../src/net/http/request.ts";

const found = findTool("prometheus");
const ca = makeAuthority("gpulse test CA");
const otherCa = makeAuthority("another CA");
const names = ["localhost", "127.0.0.1"];
const password = "correct horse battery staple";
const stops: (() => Promise<void>)[] = [];
let folder = "";
const agents = { password: { port: 0 }, certificate: { port: 0 } };
let guarded: RunningProcess;
let prometheus: RunningPrometheus;

async function startGuarded(file: string, flag: string): Promise<[RunningProcess, number]> {
  const port = await freePort();
  const agent = startProcess(
    process.execPath,
    [
      hubProgram,
      "agent",
      "--source",
      "sim:2",
      "--host",
      "127.0.0.1",
      "--port",
      String(port),
      flag,
      file,
    ],
    { name: "gpulse agent" },
  );
  stops.unshift(async () => void (await agent.stop()));
  await agent.waitForOutput(/agent is up url=https:/);
  return [agent, port];
}

beforeAll(async () => {
  await ensureBuild();
  folder = await mkdtemp(path.join(tmpdir(), "gpulse-access-agent-"));
  stops.push(() => rm(folder, { recursive: true, force: true }));
  const write = (name: string, text: string) => writeFile(path.join(folder, name), text);
  writeCertificate(folder, "agent", ca.issue({ commonName: "agent", names }));
  writeCertificate(folder, "scraper", ca.issue({ commonName: "scraper" }));
  writeCertificate(folder, "stranger", otherCa.issue({ commonName: "stranger" }));
  await write("ca.pem", ca.cert);
  await write("other-ca.pem", otherCa.cert);
  const server = "tls_server_config:\n  cert_file: agent.pem\n  key_file: agent.key\n";
  await write(
    "password.yml",
    `${server}http_server_config:\n  headers:\n    Strict-Transport-Security: max-age=60\nbasic_auth_users:\n  prom: ${hashSync(password, 10)}\n`,
  );
  await write(
    "certificate.yml",
    `${server}  client_auth_type: RequireAndVerifyClientCert\n  client_ca_file: ca.pem\n`,
  );
  [guarded, agents.password.port] = await startGuarded(
    path.join(folder, "password.yml"),
    "--web.config.file",
  );
  [, agents.certificate.port] = await startGuarded(
    path.join(folder, "certificate.yml"),
    "--web-config-file",
  );
  if (!("path" in found)) return;
  const file = (name: string): string => path.join(folder, name);
  const job = (job_name: string, port: number, more: object) => ({
    job_name,
    scheme: "https",
    static_configs: [{ targets: [`127.0.0.1:${port}`] }],
    ...more,
  });
  const trust = { ca_file: file("ca.pem") };
  const client = (name: string) => ({
    ...trust,
    cert_file: file(`${name}.pem`),
    key_file: file(`${name}.key`),
  });
  const { port: byPassword } = agents.password;
  const { port: byCertificate } = agents.certificate;
  prometheus = await startPrometheus({
    path: found.path,
    config: {
      global: { scrape_interval: "1s", scrape_timeout: "1s" },
      scrape_configs: [
        job("password", byPassword, {
          tls_config: trust,
          basic_auth: { username: "prom", password },
        }),
        job("wrong-password", byPassword, {
          tls_config: trust,
          basic_auth: { username: "prom", password: "no" },
        }),
        job("no-password", byPassword, { tls_config: trust }),
        job("wrong-ca", byPassword, {
          tls_config: { ca_file: file("other-ca.pem") },
          basic_auth: { username: "prom", password },
        }),
        job("certificate", byCertificate, { tls_config: client("scraper") }),
        job("stranger", byCertificate, { tls_config: client("stranger") }),
        job("no-certificate", byCertificate, { tls_config: trust }),
      ],
    },
  });
  stops.unshift(() => prometheus.stop());
});

afterAll(async () => {
  for (const stop of stops) await stop();
});

const JOBS = [
  ["password", "up", ""],
  ["wrong-password", "down", /401|429/],
  ["no-password", "down", /401/],
  ["wrong-ca", "down", /certificate/],
  ["certificate", "up", ""],
  ["stranger", "down", /tls|certificate|EOF|reset/],
  ["no-certificate", "down", /tls|certificate|EOF|reset/],
] as const;

test.for(JOBS)(
  "Prometheus finds the target of job %s %s",
  async ([job, health, problem], context) => {
    toolOrSkip(context, "prometheus");
    const target = await waitUntil({ what: `a scrape of ${job}`, timeoutMs: 30_000 }, async () => {
      const targets = await prometheus.targets();
      return targets.find(({ scrapePool, health: now }) => scrapePool === job && now !== "unknown");
    });
    expect([target.health, target.lastError]).toEqual([
      health,
      problem === "" ? "" : expect.stringMatching(problem),
    ]);
  },
);

test("wrong passwords from the same address never hold up the right one", async (context) => {
  toolOrSkip(context, "prometheus");
  await waitUntil({ what: "some scrapes", timeoutMs: 30_000 }, async () => {
    const [count] = await prometheus.query('count_over_time(up{job="password"}[5m])');
    return Number(count?.value[1]) >= 5 ? true : undefined;
  });
  const [least] = await prometheus.query('min_over_time(up{job="password"}[5m])');
  expect(least?.value[1]).toBe("1");
});

async function get(route: string, headers: Record<string, string> = {}) {
  const agent = new HttpAgent({ ca: ca.cert });
  try {
    const url = `https://127.0.0.1:${agents.password.port}${route}`;
    return await request(url, { headers, agent, timeoutMs: 10_000, maxBytes: 10_000_000 });
  } finally {
    agent.close();
  }
}
const basic = (user: string, given: string) => ({
  authorization: `Basic ${Buffer.from(`${user}:${given}`).toString("base64")}`,
});

test("health needs no password, every answer carries the file's headers, and no password is logged", async () => {
  expect((await get("/healthz")).status).toBe(200);
  const refused = await get("/metrics");
  expect([refused.status, refused.headers["www-authenticate"]]).toEqual([
    401,
    'Basic realm="gpulse"',
  ]);
  expect(refused.headers["strict-transport-security"]).toBe("max-age=60");
  expect((await get("/metrics", basic("prom", password))).status).toBe(200);
  await expect.poll(() => guarded.output()).toContain("access refused");
  expect(guarded.output()).not.toContain(password);
});

test("users follow the file while the agent runs, and a broken file changes nothing", async () => {
  const file = path.join(folder, "password.yml");
  const server = "tls_server_config:\n  cert_file: agent.pem\n  key_file: agent.key\n";
  await writeFile(file, `${server}basic_auth_users:\n  other: ${hashSync("second", 10)}\n`);
  await waitUntil({ what: "the new user", timeoutMs: 10_000 }, async () =>
    (await get("/metrics", basic("other", "second"))).status === 200 ? true : undefined,
  );
  await writeFile(file, `${server}basic_auth_user: {}\n`);
  await guarded.waitForOutput(/keeping the previous ones.*basic_auth_user/, 10_000);
  expect((await get("/metrics", basic("other", "second"))).status).toBe(200);
});
