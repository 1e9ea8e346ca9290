// A reader of a quick start: a folder of its own, two free ports, and a shell that knows gpulse, npx, npm and curl. What is
// started here ends with leave(). It must never reach the usual ports, on which somebody's gpulse may run.

import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

import { freePort } from "../../engines/ports.ts";
import { runProcess, startProcess } from "../../engines/process.ts";
import type { RunningProcess } from "../../engines/process.ts";
import { program } from "../../engines/program.ts";
import { waitUntil } from "../../engines/wait.ts";
import { onlyAsks, unseen } from "./quick-start.ts";
import type { Step } from "./quick-start.ts";

const READY_MS = 60_000;
const UP = /(?:gpulse|agent|hub) is up:?\s.*?(http:\/\/[^/\s]+)\//;

/** Starts gpulse as the words say, on the reader's ports where they name none. */
const SHIM = `
import { spawn } from "node:child_process";
const [hub, agent] = process.env.QUICK_START_PORTS.split(" ");
const called = process.argv[2];
let words = process.argv.slice(3);
if (called === "npx") words = words.slice(1);
if (called === "npm") words = ["up", ...words.slice(1).filter((word) => word !== "--")];
if (called === "curl") {
  const answer = await fetch(words.at(-1));
  process.stdout.write(await answer.text());
  process.exit(answer.ok ? 0 : 22);
}
const flags = {
  up: ["--port", hub, "--no-open"],
  hub: ["--port", hub],
  agent: ["--port", agent, "--host", "127.0.0.1"],
  ...Object.fromEntries(["query", "stats", "top", "alerts"].map((name) => [name, ["--url", "http://127.0.0.1:" + hub]])),
};
const [command = "up", ...rest] = words;
const child = spawn(process.execPath, [${JSON.stringify(program)}, command, ...(flags[command] ?? []), ...rest], { stdio: "inherit" });
for (const signal of ["SIGTERM", "SIGINT"]) process.on(signal, () => child.kill(signal));
child.on("close", (code) => process.exit(code ?? 1));
`;

export interface Reader {
  readonly folder: string;
  /** Takes a step and gives back what was not seen of what the page promised. */
  take(step: Step): Promise<string[]>;
  /** Addresses of what was started and stays. */
  addresses(): readonly string[];
  leave(): Promise<void>;
}

export async function newReader(): Promise<Reader> {
  const folder = mkdtempSync(path.join(tmpdir(), "gpulse-quick-start-"));
  const bin = path.join(folder, ".bin");
  mkdirSync(bin);
  writeFileSync(path.join(bin, "shim.mjs"), SHIM);
  for (const name of ["gpulse", "npx", "npm", "curl"]) {
    const line = `exec "${process.execPath}" "${path.join(bin, "shim.mjs")}" ${name} "$@"\n`;
    writeFileSync(path.join(bin, name), `#!/bin/sh\n${line}`);
    chmodSync(path.join(bin, name), 0o755);
  }
  const [hubPort, agentPort] = [await freePort(), await freePort()];
  const options = {
    cwd: folder,
    env: {
      PATH: `${bin}${path.delimiter}${process.env["PATH"] ?? ""}`,
      QUICK_START_PORTS: `${hubPort} ${agentPort}`,
      NO_COLOR: "1",
      LC_ALL: "C.UTF-8",
    },
  };
  const onOurPorts = (text: string): string =>
    text.replaceAll(":9410", `:${hubPort}`).replaceAll(":9400", `:${agentPort}`);
  const kept: { process: RunningProcess; url: string }[] = [];

  const keep = async (commands: string): Promise<string> => {
    const started = startProcess("sh", ["-c", `exec ${commands.trim()}`], options);
    kept.push({ process: started, url: "" });
    const [, url = ""] = await started.waitForOutput(UP, READY_MS);
    kept[kept.length - 1] = { process: started, url: url.replace("localhost", "127.0.0.1") };
    return started.output();
  };
  const run = async (commands: string): Promise<string> => {
    const done = await runProcess("sh", ["-e", "-c", commands], { ...options, timeoutMs: 60_000 });
    const output = done.stdout + done.stderr;
    if (done.code !== 0 && !onlyAsks(commands))
      throw new Error(`exit code ${done.code} of\n${commands}\n${output}`);
    return output;
  };

  return {
    folder,
    addresses: () => kept.map(({ url }) => url),
    take: async ({ commands, isKept, see }) => {
      const [ours, seen] = [onOurPorts(commands), see.map(onOurPorts)];
      if (isKept) return unseen(seen, await keep(ours));
      if (!onlyAsks(ours)) return unseen(seen, await run(ours));
      let missing: string[] = [];
      let output = "";
      await waitUntil({ what: "what the page says one sees", timeoutMs: READY_MS }, async () => {
        output = await run(ours);
        missing = unseen(seen, output);
        return missing.length === 0 ? true : undefined;
      }).catch(() => undefined);
      return missing.length === 0 ? [] : [...missing, `in\n${output}`];
    },
    leave: async () => {
      for (const { process: one } of kept.reverse()) await one.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
