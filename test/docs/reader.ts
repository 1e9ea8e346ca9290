// A reader of a page: a folder of its own, two free ports, and a shell that knows gpulse, npx, npm and curl. What is
// started here ends with leave(). It must never reach the usual ports, on which somebody's gpulse may run.

import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

import { freePort } from "../../engines/ports.ts";
import { type RunningProcess, runProcess, startProcess } from "../../engines/process.ts";
import { program } from "../../engines/program.ts";
import { waitUntil } from "../../engines/wait.ts";
import { onlyAsks, type Step, unseen } from "./quick-start.ts";

const READY_MS = 120_000;
const UP = /(?:gpulse|agent|hub) is up:?\s.*?(http:\/\/[^/\s]+)\//;

/** The programs a page names, each as a script that becomes gpulse, so that ending it ends gpulse. */
function scripts(hubPort: number, agentPort: number): Readonly<Record<string, string>> {
  const gpulse = `exec "${process.execPath}" "${program}"`;
  return {
    gpulse: `command=\${1:-up}
[ $# -gt 0 ] && shift
case "$command" in
  up) ${gpulse} up --port ${hubPort} --no-open "$@" ;;
  hub) ${gpulse} hub --port ${hubPort} "$@" ;;
  agent) ${gpulse} agent --port ${agentPort} --host 127.0.0.1 "$@" ;;
  query | stats | top | alerts) ${gpulse} "$command" --url http://127.0.0.1:${hubPort} "$@" ;;
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
    curl: `exec "${process.execPath}" -e '
fetch(process.argv.at(-1)).then(async (answer) => process.stdout.write(await answer.text()))' -- "$@"`,
  };
}

export interface Reader {
  readonly folder: string;
  /** Takes a step and gives back what was not seen of what the page promised. */
  take(step: Step): Promise<string[]>;
  /** The address of the hub that was started and stays. */
  hubAddress(): string | undefined;
  leave(): Promise<void>;
}

export async function newReader(): Promise<Reader> {
  const folder = mkdtempSync(path.join(tmpdir(), "gpulse-quick-start-"));
  const bin = path.join(folder, ".bin");
  mkdirSync(bin);
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
    const done = await runProcess("sh", ["-e", "-c", commands], { ...options, timeoutMs: 180_000 });
    const output = done.stdout + done.stderr;
    if (done.code !== 0 && !onlyAsks(commands))
      throw new Error(`exit code ${done.code} of\n${commands}\n${output}`);
    return output;
  };

  return {
    folder,
    hubAddress: () => kept.find(({ url }) => url.endsWith(`:${hubPort}`))?.url,
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
