/** `gpulse top` beside other terminal monitors, all at the same time in terminals of the same size (tmux). */
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { requiredTool } from "../../engines/cache.ts";
import { freePort } from "../../engines/ports.ts";
import { startProcess } from "../../engines/process.ts";
import { program } from "../../engines/program.ts";
import { cpuSeconds, residentBytes } from "./cost.ts";
import { type Area, line } from "./measurement.ts";

const peer = "btop";
const [columns, rows] = [200, 60];
const simulated = "the simulator is counted with it; a view of a hub's 256 GPUs does not have it.";
const node =
  "Node itself takes 41 MB before the first line of ours runs, and once it compiles and draws 47: of what is left, most is our code as read and compiled. btop is a C++ program.";

export const top: Area = {
  name: "top",
  title: "gpulse top beside btop",
  about: `\`gpulse top\` at 1 s with \`sim:8\` (the simulator counted with it) and with 256 GPUs of a hub, and btop at 1 s, all in the same seconds in terminals of ${columns} × ${rows}. nvtop is not the peer, since it ends at once where no GPU is.`,
  more: "npm run bench:top",
  measurements: [
    line("top.8.cpu", "processor, 8 GPUs", peer, "processor", "%", { behind: simulated }),
    line("top.256.cpu", "processor, 256 GPUs of a hub", peer, "processor", "%", {
      behind:
        "a frame of 256 GPUs is 100 kB of JSON a second, and every row is made again. Sending what changed would shorten both.",
    }),
    line("top.8.memory", "resident memory, 8 GPUs", peer, "memory", "MiB", { behind: node }),
  ],
  measure: async ({ full, put, progress }) => {
    const [rounds, seconds] = full ? [6, 20] : [4, 8];
    const [tmuxFile, btop] = [requiredTool("tmux"), requiredTool("btop")];
    const folder = mkdtempSync(path.join(tmpdir(), "gpulse-bench-top-"));
    const tmux = (...args: string[]): string =>
      execFileSync(tmuxFile, ["-S", path.join(folder, "socket"), ...args], {
        encoding: "utf8",
      }).trim();
    mkdirSync(path.join(folder, "btop"));
    writeFileSync(path.join(folder, "btop", "btop.conf"), "update_ms = 1000\n");
    const port = await freePort();
    const data = path.join(folder, "data");
    const up = ["up", "--no-open", "--source", "sim:256", "--log-level", "error"];
    const hub = startProcess(process.execPath, [
      program,
      ...up,
      "--port",
      String(port),
      "--data",
      data,
    ]);
    const start = (name: string, command: string): number => {
      const variables = ["-e", "LANG=C.UTF-8", "-e", "COLORTERM=truecolor"];
      const size = ["-x", String(columns), "-y", String(rows)];
      const args = ["new-session", "-d", "-s", name, ...size, ...variables, "sh", "-c", command];
      tmux("-f", "/dev/null", ...args);
      return Number(tmux("display-message", "-p", "-t", name, "#{pane_pid}"));
    };
    try {
      await hub.waitForUrl(`http://127.0.0.1:${port}/-/ready`, 60_000);
      const ours = `exec '${process.execPath}' '${program}' top --interval 1s`;
      const pids = {
        small: start("small", `${ours} --source sim:8`),
        large: start("large", `${ours} --url http://127.0.0.1:${port}`),
        peer: start("peer", `XDG_CONFIG_HOME='${folder}' exec '${btop}'`),
      };
      await sleep(12_000);
      for (let round = 0; round < rounds; round++) {
        progress(`round ${round + 1} of ${rounds}: ${seconds} s of all three`);
        const spent = (): number[] => Object.values(pids).map(cpuSeconds);
        const before = spent();
        await sleep(seconds * 1_000);
        const [small = NaN, large = NaN, other = NaN] = spent().map(
          (now, at) => ((now - (before[at] ?? NaN)) / seconds) * 100,
        );
        put("top.8.cpu", small, other);
        put("top.256.cpu", large, other);
        put(
          "top.8.memory",
          residentBytes(pids.small) / 2 ** 20,
          residentBytes(pids.peer) / 2 ** 20,
        );
      }
    } finally {
      try {
        tmux("kill-server");
      } catch {
        // Every session has ended by itself.
      }
      await hub.stop();
      rmSync(folder, { recursive: true, force: true });
    }
  },
};
