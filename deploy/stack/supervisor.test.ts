// The supervisor with tiny real programs: order, health, restarts with back-off, holding, and a clean shutdown.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";

import { freePort } from "../../engines/ports.ts";
import { backoffMs, deathsAfter, HELD_MS } from "./backoff.ts";
import type { Declared, Service } from "./service.ts";
import { type Change, Supervisor } from "./supervisor.ts";

let dir = "";
const running: Supervisor[] = [];
const changes: Change[] = [];
beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), "gpulse-supervisor-"));
  changes.length = 0;
});
afterEach(async () => {
  for (const one of running.splice(0)) await one.stop();
  rmSync(dir, { recursive: true, force: true });
});

/** Listens, prints that it does, and appends its name to a shared file. */
const program = `
  const [name, port, order] = process.argv.slice(1);
  require("node:fs").appendFileSync(order, name + " ");
  require("node:net").createServer((socket) => socket.end()).listen(Number(port), "127.0.0.1", () => console.log("listening as " + name));
  process.on("SIGTERM", () => { require("node:fs").appendFileSync(order, "-" + name + " "); process.exit(0); });
`;
async function service(name: string, dependsOn: readonly string[] = []): Promise<Service> {
  const port = await freePort();
  return {
    name,
    summary: name,
    command: [process.execPath, "-e", program, name, String(port), path.join(dir, "order")],
    address: `127.0.0.1:${port}`,
    health: { kind: "tcp", port },
    dependsOn,
    memoryLimitBytes: 1e9,
  };
}
function supervise(services: readonly Declared[]): Supervisor {
  const supervisor = new Supervisor({
    services,
    logDir: path.join(dir, "logs"),
    onChange: (change) => changes.push(change),
  });
  running.push(supervisor);
  supervisor.start();
  return supervisor;
}
const order = (): string => readFileSync(path.join(dir, "order"), "utf8").trim();
const statusOf = (supervisor: Supervisor, name: string) =>
  supervisor.statuses().find((one) => one.name === name);
const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

test("services start after what they depend on and stop in reverse, and nothing is left", async () => {
  const supervisor = supervise([await service("front", ["back"]), await service("back")]);
  await expect.poll(() => supervisor.isHealthy()).toBe(true);
  expect(order()).toBe("back front");
  expect(statusOf(supervisor, "front")?.lastWord).toBe("listening as front");
  const pids = supervisor.statuses().map(({ pid = -1 }) => pid);
  expect(pids.every(isAlive)).toBe(true);
  await supervisor.stop();
  expect(order()).toBe("back front -front -back");
  expect(pids.some(isAlive)).toBe(false);
});

test("what is killed is started again, and says why it had ended", async () => {
  const supervisor = supervise([await service("one")]);
  await expect.poll(() => supervisor.isHealthy()).toBe(true);
  const first = statusOf(supervisor, "one")?.pid ?? 0;
  process.kill(first, "SIGKILL");
  await expect
    .poll(() => statusOf(supervisor, "one"))
    .toMatchObject({ state: "healthy", restarts: 1 });
  expect(statusOf(supervisor, "one")?.pid).not.toBe(first);
  expect(changes).toContainEqual({
    name: "one",
    state: "restarting",
    says: expect.stringMatching(/^ended by SIGKILL; starts again in 0.5 s/) as string,
  });
});

test("what cannot start is tried less and less often", async () => {
  const broken: Service = {
    ...(await service("broken")),
    command: [process.execPath, "-e", "console.error('no such disk'); process.exit(3)"],
  };
  const supervisor = supervise([broken]);
  await expect.poll(() => statusOf(supervisor, "broken")?.restarts ?? 0).toBeGreaterThanOrEqual(2);
  const reported = changes.filter(({ state }) => state === "restarting").map(({ says }) => says);
  expect(reported.slice(0, 2)).toEqual([
    "exit code 3; starts again in 0.5 s (no such disk)",
    "exit code 3; starts again in 1 s (no such disk)",
  ]);
  expect(supervisor.isHealthy()).toBe(false);
});

test("a service that is held stays away until it is released, and is no restart", async () => {
  const supervisor = supervise([await service("one")]);
  await expect.poll(() => supervisor.isHealthy()).toBe(true);
  await supervisor.hold("one");
  expect(statusOf(supervisor, "one")).toMatchObject({ state: "held", restarts: 0 });
  expect(statusOf(supervisor, "one")).not.toHaveProperty("pid");
  supervisor.release("one");
  await expect.poll(() => supervisor.isHealthy()).toBe(true);
  await expect(supervisor.hold("two")).rejects.toThrow("there is no service two: there are one");
});

test("a port that answers no more makes a service unhealthy, not dead", async () => {
  const deaf: Service = { ...(await service("deaf")) };
  const [, , , name = "", port = "", file = ""] = deaf.command;
  const closing = `const server = require("node:net").createServer().listen(${port}, "127.0.0.1"); const wait = setInterval(() => { if (require("node:fs").existsSync("${dir}/close")) { clearInterval(wait); server.close(); setInterval(() => {}, 1000); } }, 50);`;
  const supervisor = supervise([
    { ...deaf, command: [process.execPath, "-e", closing, name, port, file] },
  ]);
  await expect.poll(() => supervisor.isHealthy()).toBe(true);
  writeFileSync(path.join(dir, "close"), "");
  await expect
    .poll(() => statusOf(supervisor, "deaf"))
    .toMatchObject({ state: "unhealthy", restarts: 0, lastWord: "refuses connections" });
});

test("waiting doubles up to half a minute, and begins again after a minute that held", () => {
  expect([1, 2, 3, 7, 20].map(backoffMs)).toEqual([500, 1_000, 2_000, 30_000, 30_000]);
  expect(deathsAfter(5, 1_000)).toBe(6);
  expect(deathsAfter(5, HELD_MS)).toBe(1);
});
