/**
 * An attacker's checklist against the built program: each attack is refused with its status and reported in the log, and the
 * attacked process goes on. Every row is one attack; the last test prints how many there were.
 */
import { readFileSync, writeFileSync, mkdtempSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { waitUntil } from "../../engines/wait.ts";
import { as, attack, everyAttack, forged, hubGet } from "./attacks.ts";
import { type AttackLab, gpulse, openAttackLab } from "./lab.ts";

let lab: AttackLab;
let trickled: Promise<void> | undefined;
let attacks = 0;
let refused = 0;
const folder = mkdtempSync(path.join(tmpdir(), "gpulse-attack-config-"));
const config = path.join(folder, "gpulse.yaml");
writeFileSync(config, "hub: { limits: { heavy_per_second: 1 } }\n");
beforeAll(async () => {
  lab = await openAttackLab(config);
  attack(lab);
  // This attack takes a while to end: the others run meanwhile.
  trickled = trickle(lab.hub.port);
}, 300_000);
afterAll(async () => {
  await lab.close();
  rmSync(folder, { recursive: true, force: true });
}, 60_000);

/** The log lines about refusals so far. */
const reportOf = (): string[] =>
  [lab.hub, lab.open, lab.agent].flatMap(({ process: attacked }) =>
    attacked
      .output()
      .split("\n")
      .filter((line) => / (?:access|request|connection) refused /.test(line)),
  );

/** Waits for a log line about it, or for so many of its kind within the minute that the log suppresses more. */
async function isReported(before: number, status: number): Promise<void> {
  await waitUntil(
    { what: `a line about a refusal with ${status}`, timeoutMs: 60_000 },
    async () => {
      const lines = reportOf();
      const isHeld = (line: string): boolean =>
        line.includes("not logged") &&
        (line.includes(`status=${status}`) || line.includes("access refused"));
      return lines.length > before || lines.some(isHeld) ? true : undefined;
    },
  );
}

/** A missing path is not a refusal, except for path traversal; a closed connection returns no status. */
const isRefusal = (name: string, status: number): boolean =>
  status >= 400 && (status !== 404 || /above|the same, encoded|backslash|NUL/.test(name));

test.for(everyAttack)("%s", async ([name, made, status, says]) => {
  attacks++;
  const before = reportOf().length;
  const answer = await made();
  expect([status].flat(), `${answer.head}\n${answer.body.slice(0, 300)}`).toContain(answer.status);
  if (says !== undefined) expect(answer.head + answer.body).toContain(says);
  expect(answer.answers).toBeLessThan(2);
  expect(answer.body).not.toMatch(/root:|inner network|node_modules|\n\s+at /);
  if (isRefusal(name, answer.status)) await isReported(before, answer.status);
  refused++;
});

test("a heavy thing asked over and over is answered 429 with when to come again", async () => {
  attacks++;
  const statuses: number[] = [];
  for (let count = 0; count < 200 && !statuses.includes(429); count++)
    statuses.push((await hubGet("/api/runs", as("read"))).status);
  const last = await hubGet("/api/runs", as("read"));
  expect(statuses).toContain(429);
  expect([200, 429]).toContain(last.status);
  refused++;
});

/** Resolves when the hub has closed the connection. */
const trickle = (port: number): Promise<void> =>
  new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    socket.write("GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n");
    const timer = setInterval(() => socket.write("X: y\r\n"), 500);
    socket
      .on("error", () => undefined)
      .on("close", () => {
        clearInterval(timer);
        resolve();
      });
  });

test("every answer is locked in, and none says what it runs on", async () => {
  attacks++;
  for (const target of ["/", "/metrics", "/api/fleet", "/nothing"]) {
    const { head } = await hubGet(target, [...as("read"), "Accept: text/html"]);
    expect(head).toMatch(/content-security-policy: default-src 'none'/i);
    expect(head).toMatch(/x-frame-options: DENY/i);
    expect(head).toMatch(/x-content-type-options: nosniff/i);
    expect(head).not.toMatch(/access-control-allow|x-powered-by|^server:/im);
  }
  refused++;
});

test.each([
  ["without a token and TLS", ["--host=0.0.0.0"], /no token and no TLS/],
  ["with a token and without TLS", ["--host=0.0.0.0", "TOKEN"], /no TLS/],
  ["with TLS alone left to a proxy", ["--host=0.0.0.0", "--behind-proxy"], /no token/],
  ["on every IPv6 address", ["--host=::"], /opens gpulse to the network/],
])("a hub that the network would reach %s does not start", async (_name, args, says) => {
  attacks++;
  const data = mkdtempSync(path.join(folder, "data-"));
  if (args.includes("TOKEN")) await gpulse(["token", "add", "x", "--scope=read", `--data=${data}`]);
  const flags = args.filter((one) => one !== "TOKEN");
  const { code, stderr } = await gpulse(["hub", "--port=0", `--data=${data}`, ...flags]);
  expect(code).toBe(2);
  expect(stderr).toMatch(says);
  refused++;
});

test("headers that trickle in do not keep a connection, and hold up nobody", async () => {
  attacks++;
  expect((await hubGet("/-/healthy")).status).toBe(200);
  await trickled;
  refused++;
}, 90_000);

test("the attacked still answer, reached nothing they should not have, and report on it", async () => {
  const { hub, open, agent: attacked, bait } = lab;
  for (const one of [hub, open, attacked]) expect(one.process.exited()).toBeUndefined();
  expect((await hubGet("/api/v1/query?query=1", as("read"))).status).toBe(200);
  expect(bait.taken()).toBe(0);
  expect(hub.process.output()).toContain("access refused");
  const audit = readFileSync(path.join(hub.dataDir, "access", "audit-unprivileged.jsonl"), "utf8");
  expect(audit).toContain('"outcome":"refused"');
  for (const text of [audit, hub.process.output(), open.process.output()]) {
    for (const token of [...Object.values(hub.tokens), ...Object.values(open.tokens)])
      expect(text).not.toContain(token);
    expect(text).not.toContain(forged);
  }
  process.stdout.write(`${attacks} attacks, ${refused} refused\n`);
  expect(refused).toBe(attacks);
});
