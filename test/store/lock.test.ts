/** Two processes and one data folder: in one PID namespace, and in two, as two containers on one volume are. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, renameSync, utimesSync, writeFileSync } from "node:fs";
import path from "node:path";
import { build } from "esbuild";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { formatHolder, thisProcess } from "../../src/base/state/lock-holder.ts";
import { dump, Folders, openAt } from "./folder.ts";

const folders = new Folders();
const bundle = new Folders();
let holder = "";
const children: ChildProcess[] = [];

beforeAll(async () => {
  holder = path.join(bundle.make(), "holder.mjs");
  await build({
    entryPoints: [path.join(import.meta.dirname, "holder.ts")],
    outfile: holder,
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node20.19",
    logLevel: "silent",
  });
});
afterEach(() => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
  folders.remove();
});
afterAll(() => bundle.remove());

interface Running {
  readonly child: ChildProcess;
  readonly lines: string[];
  /** Resolves with the first line that matches. */
  line(pattern: RegExp): Promise<string>;
}

const ownNamespace = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child=SIGKILL"];
const canUnshare = spawnSync("unshare", [...ownNamespace.slice(1), "true"]).status === 0;

function run(dir: string, name: string, prefix: readonly string[]): Running {
  const [command, ...args] = [...prefix, process.execPath, holder, dir, name];
  const child = spawn(command, args, { stdio: ["ignore", "pipe", "inherit"] });
  children.push(child);
  const lines: string[] = [];
  let rest = "";
  child.stdout?.on("data", (chunk) => {
    const parts = (rest + String(chunk)).split("\n");
    rest = parts.pop() ?? "";
    lines.push(...parts);
    child.emit("lines");
  });
  const line = (pattern: RegExp): Promise<string> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        const found = lines.find((text) => pattern.test(text));
        if (found !== undefined) resolve(found);
      };
      child.on("lines", look);
      child.on("close", () => reject(new Error(`ended after ${lines.slice(-3).join(", ")}`)));
      look();
    });
  return { child, lines, line };
}

async function kill({ child }: Running): Promise<void> {
  const closed = new Promise((resolve) => child.on("close", resolve));
  child.kill("SIGKILL");
  await closed;
}

test.for<[string, string[]]>([
  ["one PID namespace", []],
  ["two PID namespaces", ownNamespace],
])(
  "of two processes in %s the second is refused; after kill -9 of the first it starts and has every sample",
  { timeout: 60_000 },
  async ([, prefix], context) => {
    if (prefix.length > 0 && !canUnshare)
      return context.skip("this user may not make PID namespaces");
    const dir = folders.make();
    const first = run(dir, "first", prefix);
    await first.line(/^20$/);
    const second = run(dir, "second", prefix);
    expect(await second.line(/^(open|refused)/)).toMatch(
      prefix.length > 0
        ? /in use by process \d+ of \S+, another container on this machine: stop it/
        : /in use by process \d+: stop it/,
    );
    await kill(first);
    const acknowledged = Number(first.lines.filter((text) => /^\d+$/.test(text)).at(-1));
    const third = run(dir, "third", prefix);
    expect(await third.line(/^(open|refused)/)).toBe("open");
    await third.line(/^5$/);
    await kill(third);
    const store = await openAt(dir);
    expect(store.stats().lost).toEqual([]);
    const lines = await dump(store);
    expect(lines[0]?.split(" ").length).toBeGreaterThan(acknowledged);
    expect(lines.map((text) => text.split(" ")[0])).toEqual(["__name__:first", "__name__:third"]);
    await store.close();
  },
);

test("a holder whose lock was taken over stops writing", { timeout: 30_000 }, async () => {
  const dir = folders.make();
  const first = run(dir, "first", []);
  await first.line(/^5$/);
  const thief = path.join(dir, "lock.thief");
  writeFileSync(thief, `${process.pid} 0 pid:[1] boot host 00ff heartbeat\n`);
  renameSync(thief, path.join(dir, "lock"));
  expect(await first.line(/^stopped/)).toContain("has been taken over by another process");
  expect(readFileSync(path.join(dir, "lock"), "latin1")).toContain("00ff");
});

test("a lock from another machine is taken over once it has not been renewed for a minute", async () => {
  const dir = folders.make();
  const lock = path.join(dir, "lock");
  writeFileSync(lock, "1 77 pid:[4026531836] another-boot gpu-07 00ff socket\n");
  utimesSync(lock, new Date(Date.now() - 61_000), new Date(Date.now() - 61_000));
  await (await openAt(dir)).close();
});

test("a dead holder's socket that cannot be removed does not keep the folder locked", async () => {
  const dir = folders.make();
  const token = "0123456789abcdef";
  // A folder in the socket's place: removing it as a file fails.
  mkdirSync(path.join(dir, `lock-${token}.sock`, "in-the-way"), { recursive: true });
  const [, , namespace, boot, host] = formatHolder(thisProcess(token, "socket")).split(" ");
  writeFileSync(
    path.join(dir, "lock"),
    `999999999 1 ${namespace} ${boot} ${host} ${token} socket\n`,
  );
  const store = await openAt(dir);
  await store.close();
});

test(
  "a lock from another machine that is being renewed is respected",
  { timeout: 30_000 },
  async () => {
    const dir = folders.make();
    const lock = path.join(dir, "lock");
    writeFileSync(lock, "1 77 pid:[4026531836] another-boot gpu-07 00ff heartbeat\n");
    const renewing = spawn(process.execPath, [
      "-e",
      `setInterval(() => require("fs").utimesSync(${JSON.stringify(lock)}, new Date(), new Date()), 300)`,
    ]);
    children.push(renewing);
    await expect(openAt(dir)).rejects.toThrow(/in use by process 1 of gpu-07, another machine/);
  },
);
