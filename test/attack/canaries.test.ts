/**
 * Puts a unique secret in every place where one can be configured, and then searches all output, responses and files of the built
 * program for each of them: while it works, while operations fail, when it is stopped, and when it crashes.
 */
import { randomBytes } from "node:crypto";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { hubProgram } from "../../engines/hub.ts";
import { freePort } from "../../engines/ports.ts";
import { runProcess, startProcess } from "../../engines/process.ts";
import { ensureBuild, repository } from "../../engines/program.ts";
import { waitUntil } from "../../engines/wait.ts";

const agentProgram = path.join(repository, "dist", "agent", "main.js");
const folder = mkdtempSync(path.join(tmpdir(), "gpulse-canaries-"));
const dataDir = path.join(folder, "data");
const canaries = new Map<string, string>();
/** Long and unique, so that even half of it is recognized. */
function canary(name: string): string {
  const text = `canary${randomBytes(12).toString("hex")}`;
  canaries.set(name, text);
  return text;
}
const said: { readonly where: string; readonly text: string }[] = [];
const hear = (where: string, text: string): void => void said.push({ where, text });
const file = (name: string, text: string): string => {
  writeFileSync(path.join(folder, name), text);
  return path.join(folder, name);
};

/** Refuses every request and repeats its content, as an unfriendly service may. */
const echo = createServer((request, reply) => {
  const parts: Buffer[] = [];
  request.on("data", (part: Buffer) => parts.push(part));
  request.on("end", () => {
    const { authorization = "", "x-secret": header = "" } = request.headers;
    const body = Buffer.concat(parts).toString("utf8");
    reply.writeHead(400).end(`refused: ${authorization} ${String(header)} ${request.url} ${body}`);
  });
});
beforeAll(async () => {
  await ensureBuild();
  mkdirSync(dataDir);
  await new Promise<void>((resolve) => echo.listen(0, "127.0.0.1", resolve));
}, 300_000);
afterAll(() => {
  echo.closeAllConnections();
  echo.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Writes every file that may contain a secret, each with its own. */
function writeFiles(echoPort: number): { config: string; env: Record<string, string> } {
  const url = `http://127.0.0.1:${echoPort}`;
  file("password", canary("a password file"));
  file(
    "alertmanager.yml",
    `global: { smtp_smarthost: "127.0.0.1:1", smtp_from: a@b.example, smtp_auth_username: me, smtp_auth_password: ${canary("the mail password")}, slack_api_url: "${url}/${canary("the Slack URL")}" }
route: { receiver: all, group_wait: 0s }
receivers:
  - name: all
    email_configs: [{ to: c@d.example }]
    slack_configs: [{ channel: "#x" }]
    webhook_configs:
      - { url: "${url}/hook/${canary("the webhook URL")}", http_config: { authorization: { credentials: ${canary("the webhook token")} } } }
      - { url: "${url}/hook", http_config: { basic_auth: { username: me, password: ${canary("the webhook password")} } } }
    pagerduty_configs: [{ routing_key: ${canary("the PagerDuty key")}, url: "${url}/pd" }]
    telegram_configs: [{ bot_token: "1:${canary("the Telegram token")}", chat_id: 1, api_url: "${url}" }]
`,
  );
  file(
    "prometheus.yml",
    `scrape_configs:
  - { job_name: a, scrape_interval: 1s, basic_auth: { username: me, password: ${canary("a scrape password")} }, static_configs: [{ targets: ["127.0.0.1:${echoPort}"] }] }
  - { job_name: b, scrape_interval: 1s, authorization: { credentials: ${canary("a scrape token")} }, static_configs: [{ targets: ["127.0.0.1:${echoPort}"] }] }
  - { job_name: c, scrape_interval: 1s, basic_auth: { username: me, password_file: password }, static_configs: [{ targets: ["127.0.0.1:1"] }] }
remote_write:
  - { url: "${url}/write", basic_auth: { username: me, password: ${canary("a remote-write password")} } }
  - { url: "${url}/write2", headers: { X-Secret: ${canary("a remote-write header")} } }
`,
  );
  const config = file(
    "gpulse.yaml",
    `to: ["remote-write+${url.replace("//", "//me:${SINK_PASSWORD}@")}/sink"]
hub:
  prometheus_config: ${path.join(folder, "prometheus.yml")}
  alertmanager_config: alertmanager.yml
  on_alert: [{ forward: "${url}/alert", forward_token: ${canary("the forward token")} }]
`,
  );
  const env = {
    SINK_PASSWORD: canary("a sink password"),
    PIPE_PASSWORD: canary("a pipe password"),
    GPULSE_TOKEN: canary("the token of the environment"),
  };
  return { config, env };
}

const routes = [
  "/api/v1/status/config",
  "/api/v1/status/flags",
  "/api/v1/status/runtimeinfo",
  "/api/v1/targets",
  "/api/v1/scrape_pools",
  "/api/v1/alertmanagers",
  "/api/v1/rules",
  "/api/v2/status",
  "/api/v2/receivers",
  "/api/alerts/channels",
  "/api/alerts/deliveries",
  "/api/pipes",
  "/api/tokens",
  "/api/users",
  "/api/shares",
  "/api/audit",
  "/api/events",
  "/api/fleet",
  "/stats",
  "/metrics",
  "/-/ready",
  "/login",
];

test("no secret is in a log, an answer, a file, the list of processes or a crash", async () => {
  const { port: echoPort } = echo.address() as AddressInfo;
  const { config, env } = writeFiles(echoPort);
  const run = async (args: readonly string[]): Promise<string> => {
    const { stdout, stderr } = await runProcess(process.execPath, [hubProgram, ...args], {
      timeoutMs: 60_000,
    });
    hear(`gpulse ${args[0]}`, stderr);
    return stdout;
  };
  const made = await run(["token", "add", "me", "--scope=admin", `--data=${dataDir}`]);
  const token = made.split("\n", 1)[0] ?? "";
  canaries.set("a token", token.split("_").slice(2).join("_"));
  hear("config check", await run(["config", "check", config]));

  const port = await freePort();
  const hub = startProcess(
    process.execPath,
    [
      hubProgram,
      "hub",
      "--auth=always",
      `--port=${port}`,
      `--data=${dataDir}`,
      `--config=${config}`,
      "--log-level=debug",
    ],
    { name: "gpulse hub", env, cwd: folder },
  );
  try {
    const url = `http://127.0.0.1:${port}`;
    await hub.waitForUrl(`${url}/-/ready`, 60_000);
    const authorization = `Bearer ${token}`;
    const ask = async (method: string, target: string, body?: unknown): Promise<number> => {
      const answer = await fetch(`${url}${target}`, {
        method,
        redirect: "manual",
        headers: {
          authorization,
          ...(body === undefined ? {} : { "content-type": "application/json" }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      hear(`${method} ${target}`, `${JSON.stringify([...answer.headers])} ${await answer.text()}`);
      return answer.status;
    };
    // Every channel of the receiver is used, and each is refused by a service that repeats the request.
    expect(await ask("POST", "/api/alerts/test", { receiver: "all" })).toBe(200);
    const alert = {
      status: "firing",
      labels: { alertname: "x" },
      annotations: {},
      startsAt: new Date().toISOString(),
    };
    await ask("POST", "/alert", { version: "4", status: "firing", alerts: [alert] });
    await ask("POST", "/api/v2/alerts", [{ labels: { alertname: "y" } }]);
    const plain = canary("a password in a pipe's URL");
    const pipe = (password: string, name: string) => ({
      name,
      kind: "pipe",
      from: ["sim:1"],
      to: [`remote-write+http://me:${password}@127.0.0.1:${echoPort}/pipe`],
    });
    expect(await ask("POST", "/api/pipes", pipe(plain, "plain"))).toBe(400);
    expect(await ask("POST", "/api/pipes", pipe("${PIPE_PASSWORD}", "hidden"))).toBe(201);
    await ask("POST", "/api/login", { token: canary("a wrong token") });
    await ask("POST", "/api/login", { user: "me", password: canary("a wrong password") });
    await fetch(`${url}/metrics`, {
      headers: { authorization: `Bearer ${canary("a forged token")}` },
    });
    await fetch(`${url}/write?db=x&u=me&p=${canary("an Influx password")}`, {
      method: "POST",
      body: "x v=1",
    });
    await ask("POST", "/-/reload");
    // An invalid file: its error message must not quote the file.
    for (const [name, text] of [
      ["alertmanager.yml", `global: { smtp_auth_password: [${canary("a broken mail password")}, `],
      [
        "prometheus.yml",
        `scrape_configs: [{ job_name: a, basic_auth: { password: { x: ${canary("a misplaced password")} } } }]`,
      ],
    ] as const) {
      file(name, text);
      expect(await ask("POST", "/-/reload")).toBe(500);
    }
    process.kill(hub.pid, "SIGHUP");
    await waitUntil({ what: "scrapes and sinks to have failed", timeoutMs: 60_000 }, async () =>
      /400/.test(hub.output()) ? true : undefined,
    );
    for (const route of routes) await ask("GET", route);
    const processes = argumentsBelow(process.pid);
    expect(processes).toContain(folder);
    hear("the list of processes", processes);
  } finally {
    await hub.stop(30_000);
  }
  hear("the hub's log", hub.output());

  const crashed = await runProcess(
    process.execPath,
    [
      hubProgram,
      "hub",
      "--port=0",
      `--data=${path.join(folder, "password")}`,
      `--config=${config}`,
    ],
    { env: { ...process.env, ...env } as Record<string, string>, timeoutMs: 60_000 },
  );
  expect(crashed.code).not.toBe(0);
  hear("a hub that cannot start", crashed.stdout + crashed.stderr);
  // Crashes as soon as a handler for it exists: a busy machine may take long to reach that point.
  const bomb = `setInterval(() => {
    if (process.listenerCount("uncaughtException") === 0) return;
    throw Object.assign(new Error("boom"), { headers: { ...process.env } });
  }, 200)`;
  const empty = file("empty.yaml", "{}");
  const crashes: readonly (readonly string[])[] = [
    [hubProgram, "hub", "--port=0", `--data=${path.join(folder, "other")}`, "--config", empty],
    [hubProgram, "pipe", "--from=sim:1", "--config", empty],
    [agentProgram, "agent", "--source=sim:1", "--port=0", "--config", empty],
  ];
  await Promise.all(
    crashes.map(async (args) => {
      const blown = await runProcess(
        process.execPath,
        [`--import=data:text/javascript,${encodeURIComponent(bomb)}`, ...args],
        { env: { ...process.env, ...env } as Record<string, string>, timeoutMs: 60_000 },
      );
      expect([blown.code, blown.stderr]).toEqual([1, expect.stringContaining("BUG: Error: boom")]);
      hear(`the crash of ${args.slice(0, 2).join(" ")}`, blown.stdout + blown.stderr);
    }),
  );
  for (const name of filesIn(dataDir))
    hear(`the file ${path.relative(folder, name)}`, readFileSync(name, "latin1"));

  expect(canaries.size).toBeGreaterThan(20);
  expect(said.length).toBeGreaterThan(40);
  const found = said.flatMap(({ where, text }) =>
    [...canaries].flatMap(([name, secret]) =>
      formsOf(secret).some((form) => text.includes(form)) ? [`${name} is in ${where}`] : [],
    ),
  );
  expect(found).toEqual([]);
}, 240_000);

/** The beginning of the secret, and of the Base64 pair that carries it as a password. */
const formsOf = (secret: string): string[] => [
  secret.slice(0, 18),
  Buffer.from(`me:${secret}`).toString("base64").slice(0, 28),
];

/** The command lines of a process's descendants, which any user of this machine can read. */
function argumentsBelow(pid: number): string {
  const children = threadsOf(pid).flatMap((thread) =>
    readIfThere(`/proc/${pid}/task/${thread}/children`).split(" ").filter(Boolean),
  );
  return children
    .map((child) => `${readIfThere(`/proc/${child}/cmdline`)}\n${argumentsBelow(Number(child))}`)
    .join("\n");
}

/** A process may end meanwhile. */
function threadsOf(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/task`);
  } catch {
    return [];
  }
}

function readIfThere(place: string): string {
  try {
    return readFileSync(place, "latin1");
  } catch {
    return "";
  }
}

function filesIn(place: string): string[] {
  return readdirSync(place).flatMap((name) => {
    const whole = path.join(place, name);
    return statSync(whole).isDirectory() ? filesIn(whole) : [whole];
  });
}
