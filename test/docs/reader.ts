// Simulates a reader of a page: a separate folder with the files mentioned on pages, two free ports, and a shell with gpulse, npx
// and npm. leave() stops what was started. Must never use the default ports, on which a user's gpulse may run.

import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect } from "vitest";

import { freePort } from "../../engines/ports.ts";
import { type RunningProcess, runProcess, startProcess } from "../../engines/process.ts";
import { ensureBuild, program } from "../../engines/program.ts";
import { waitUntil } from "../../engines/wait.ts";
import { onlyAsks, quickStart, shellCommands, type Step, unseen } from "./quick-start.ts";
import { writeReaderFiles } from "./reader-files.ts";
import { unrunReason } from "./unrun.ts";

const READY_MS = 60_000;
const UP = /(?:gpulse|agent|hub) is up:?\s.*?(https?:\/\/[^/\s]+)\//;
/** Commands that run until they are stopped. */
const SERVER = /^(?:\w+=\S+ )*(?:npx )?(?:gpulse (?:up|hub|agent)\b|npm start\b)/;

/** The programs mentioned on a page, each as a script that becomes gpulse by exec, so that stopping it stops gpulse. */
function scripts(hubPort: number, agentPort: number): Readonly<Record<string, string>> {
  const gpulse = `exec "${process.execPath}" "${program}"`;
  return {
    gpulse: `command=\${1:-up}
[ $# -gt 0 ] && shift
# The reader's machine has GPUs.
case "$command $* " in
  *" --source "* | *" --url "*) ;;
  agent* | doctor* | stats* | top*) set -- --source sim:2 "$@" ;;
esac
case "$command" in
  up) ${gpulse} up --port ${hubPort} --no-open "$@" ;;
  hub) ${gpulse} hub --port ${hubPort} "$@" ;;
  agent) ${gpulse} agent --port ${agentPort} --host 127.0.0.1 "$@" ;;
  query | alerts | import | compare | serving)
    case " $* " in
      *" --url "* | *" --data "* | *.gpulserun*) ${gpulse} "$command" "$@" ;;
      *" test "*) ${gpulse} "$command" "$@" --url http://127.0.0.1:${hubPort} ;;
      *) ${gpulse} "$command" --url http://127.0.0.1:${hubPort} "$@" ;;
    esac ;;
  user) echo "correct horse battery" | "${process.execPath}" "${program}" user "$@" ;;
  silence) sub=$1; shift; ${gpulse} silence "$sub" --url http://127.0.0.1:${hubPort} "$@" ;;
  rules) [ "$1" = backtest ] && set -- "$@" --url http://127.0.0.1:${hubPort}; ${gpulse} rules "$@" ;;
  *) ${gpulse} "$command" "$@" ;;
esac`,
    npx: `shift
exec gpulse "$@"`,
    npm: `[ "$1" = start ] || exit 2
shift
[ "\${1:-}" = -- ] && shift
exec gpulse up "$@"`,
  };
}

interface Server {
  readonly process: RunningProcess;
  readonly command: string;
  readonly isAgent: boolean;
  /** True for a server of a block marked "lines", which the next such server replaces. */
  readonly isByLine: boolean;
  url: string;
}

const isAgentCommand = (command: string): boolean => /^(?:npx )?gpulse agent\b/.test(command);

export interface Reader {
  readonly folder: string;
  /** Performs a step and returns the promised output that is missing. */
  take(step: Step): Promise<string[]>;
  /** The URL of the hub that keeps running. */
  hubAddress(): string | undefined;
  leave(): Promise<void>;
}

async function newReader(): Promise<Reader> {
  const folder = mkdtempSync(path.join(tmpdir(), "gpulse-quick-start-"));
  const bin = path.join(folder, ".bin");
  mkdirSync(bin);
  writeReaderFiles(folder);
  const [hubPort, agentPort] = [await freePort(), await freePort()];
  for (const [name, script] of Object.entries(scripts(hubPort, agentPort))) {
    writeFileSync(path.join(bin, name), `#!/bin/sh\n${script}\n`);
    chmodSync(path.join(bin, name), 0o755);
  }
  const options = {
    cwd: folder,
    env: {
      PATH: `${bin}${path.delimiter}${process.env["PATH"] ?? ""}`,
      NO_COLOR: "1",
      LC_ALL: "C.UTF-8",
    },
  };
  const onOurPorts = (text: string): string =>
    text
      .replaceAll(/(?<=https?:\/\/)hub(?:\.example)?:9410/g, "127.0.0.1:9410")
      .replaceAll(/http:\/\/gpu-node(?:-1)?:9400/g, "http://127.0.0.1:9400")
      .replaceAll(":9410", `:${hubPort}`)
      .replaceAll(":9400", `:${agentPort}`)
      .replaceAll(/--port \d+/g, `--port ${agentPort}`)
      .replaceAll("--host 0.0.0.0", "--host 127.0.0.1")
      .replaceAll(/(?<=[\s:=])\/(?=(?:backup|data|etc|srv|var)\/)/g, `${folder}/`);
  let servers: Server[] = [];
  let exports = "";

  const start = async (command: string, isByLine: boolean): Promise<string> => {
    const isAgent = isAgentCommand(command);
    const script = `${exports}exec ${command}`;
    const started = startProcess("sh", ["-c", script], options);
    const server = { process: started, command, isAgent, isByLine, url: "" };
    servers.push(server);
    const [, url = ""] = await started.waitForOutput(UP, READY_MS);
    server.url = url.replace("localhost", "127.0.0.1");
    return started.output();
  };
  const run = async (commands: string, mayFail = false): Promise<string> => {
    const done = await runProcess("sh", ["-e", "-c", exports + commands], {
      ...options,
      timeoutMs: 180_000,
    });
    const output = done.stdout + done.stderr;
    if (done.code !== 0 && !mayFail)
      throw new Error(`exit code ${done.code} of\n${commands}\n${output}`);
    return output;
  };
  /** Starts a server on the port and the data folder of the server from an earlier line. */
  const startInstead = async (command: string, isByLine: boolean): Promise<string> => {
    const isSameKind = (one: Server): boolean => one.isAgent === isAgentCommand(command);
    for (const server of servers.filter(isSameKind))
      if (isByLine || server.isByLine) await server.process.stop();
    servers = servers.filter((one) => !isSameKind(one) || !one.isByLine);
    return start(command, isByLine);
  };
  /** After a block of lines: restarts the page's own servers that had to stop for it. */
  const restart = async (): Promise<void> => {
    for (const stopped of servers.filter((one) => one.process.exited() !== undefined)) {
      const replacing = servers.find((one) => one.isByLine && one.isAgent === stopped.isAgent);
      await replacing?.process.stop();
      servers = servers.filter((one) => one !== stopped && one !== replacing);
      await start(stopped.command, false);
    }
  };
  const runLines = async (commands: string): Promise<string> => {
    let output = "";
    for (const command of shellCommands(commands)) {
      if (unrunReason(command) !== undefined) continue;
      const ours = onOurPorts(command);
      if (command.startsWith("export ")) exports += `${ours}\n`;
      else output += await (SERVER.test(command) ? startInstead(ours, true) : run(ours));
    }
    await restart();
    return output;
  };

  return {
    folder,
    hubAddress: () => servers.find(({ url }) => url === `http://127.0.0.1:${hubPort}`)?.url,
    take: async ({ commands, mode, see }) => {
      if (mode === "lines") return unseen(see.map(onOurPorts), await runLines(commands));
      const [ours, seen] = [onOurPorts(commands), see.map(onOurPorts)];
      if (mode === "keep") return unseen(seen, await startInstead(ours.trim(), false));
      if (!onlyAsks(ours)) return unseen(seen, await run(ours));
      let missing: string[] = [];
      let output = "";
      await waitUntil({ what: "what the page says one sees", timeoutMs: READY_MS }, async () => {
        output = await run(ours, true);
        missing = unseen(seen, output);
        return missing.length === 0 ? true : undefined;
      }).catch(() => undefined);
      return missing.length === 0 ? [] : [...missing, `in\n${output}`];
    },
    leave: async () => {
      for (const { process: one } of servers.reverse()) await one.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The number of GPUs in the hub, whether read locally, pushed or scraped. */
async function gpusOf(address: string): Promise<number> {
  const answer = await fetch(`${address}/api/v1/query?query=count(gpu_info)`);
  const { data } = (await answer.json()) as { data: { result: { value: [number, string] }[] } };
  return Number(data.result[0]?.value[1] ?? 0);
}

/** Performs every step of a page. A program that a step marked "keep" left running must serve its page and its GPUs. */
export async function readThrough(text: string): Promise<void> {
  await ensureBuild();
  const steps = quickStart(text);
  const reader = await newReader();
  try {
    for (const step of steps) {
      expect({ step: step.commands, missing: await reader.take(step) }).toEqual({
        step: step.commands,
        missing: [],
      });
    }
    const address = reader.hubAddress();
    if (address === undefined || !steps.some(({ mode }) => mode === "keep")) return;
    const page = await fetch(`${address}/`);
    expect(page.headers.get("content-type")).toContain("text/html");
    await expect.poll(() => gpusOf(address), { timeout: 30_000 }).toBeGreaterThan(0);
  } finally {
    await reader.leave();
  }
}
