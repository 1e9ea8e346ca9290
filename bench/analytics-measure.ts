/** Runs a program to its end and measures its duration and the peak memory of its process tree. */
import { spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";

const sampleEveryMs = 100;

export interface ProgramCost {
  readonly seconds: number;
  readonly peakBytes: number;
  readonly answers: string;
}

/** The process and its descendants: Spark's work is done in a child of a shell. */
function family(pid: number): number[] {
  const parents = new Map<number, number>();
  for (const name of readdirSync("/proc"))
    if (/^\d+$/.test(name))
      try {
        const stat = readFileSync(`/proc/${name}/stat`, "utf8");
        parents.set(Number(name), Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]));
      } catch {
        continue;
      }
  const found = [pid];
  for (const one of found)
    for (const [child, parent] of parents) if (parent === one) found.push(child);
  return found;
}

function resident(pid: number): number {
  try {
    const kib = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
    return Number(kib ?? 0) * 1_024;
  } catch {
    return 0;
  }
}

/** @param args of Node: a program and its arguments; its output is returned */
export async function measureProgram(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<ProgramCost> {
  const began = performance.now();
  const child = spawn(process.execPath, args, { env, stdio: ["ignore", "pipe", "inherit"] });
  let [peakBytes, answers] = [0, ""];
  child.stdout.setEncoding("utf8").on("data", (text: string) => (answers += text));
  const timer = setInterval(() => {
    const now = family(child.pid ?? 0).reduce((sum, pid) => sum + resident(pid), 0);
    peakBytes = Math.max(peakBytes, now);
  }, sampleEveryMs);
  const code = await new Promise((resolve) => child.once("close", resolve));
  clearInterval(timer);
  if (code !== 0) throw new Error(`${args.slice(1).join(" ")} ended with ${String(code)}`);
  return { seconds: (performance.now() - began) / 1_000, peakBytes, answers };
}
