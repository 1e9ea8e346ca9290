/** The built program as a user starts it: `gpulse up` with simulated GPUs. */
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { program } from "../../engines/program.ts";
import { type RunningProcess, startProcess } from "../../engines/process.ts";

export interface RunningUp {
  readonly url: string;
  readonly process: RunningProcess;
}

/** `source` and further command-line arguments; eight simulated GPUs by default. */
export async function startUp(
  port: number,
  source = "sim:8",
  more: readonly string[] = [],
): Promise<RunningUp> {
  const data = await mkdtemp(path.join(tmpdir(), "gpulse-up-"));
  const args = [
    program,
    "up",
    "--source",
    source,
    "--port",
    String(port),
    "--no-open",
    "--data",
    data,
    ...more,
  ];
  const up = startProcess(process.execPath, args, { name: "gpulse up" });
  const [, url = ""] = await up.waitForOutput(/(http:\/\/127\.0\.0\.1:\d+\/)/, 120_000);
  await up.waitForUrl(`${url}-/ready`);
  return { url, process: up };
}
