/** What is asked about the machine and the process themselves. */
import { readFileSync, readdirSync } from "node:fs";
import { availableParallelism, cpus, totalmem } from "node:os";
import { join } from "node:path";
import type { ProcessFacts } from "../pipeline/self.ts";
import type { HostFacts } from "./stats/stats.ts";

export function hostFacts(name: string, procfs: string): HostFacts {
  return {
    name,
    processor: processorName(procfs),
    cores: availableParallelism(),
    memoryBytes: totalmem(),
  };
}

/** The first `model name` of cpuinfo (x86), else what Node was told. */
function processorName(procfs: string): string | undefined {
  let cpuinfo = "";
  try {
    cpuinfo = readFileSync(join(procfs, "cpuinfo"), "utf8");
  } catch {
    // No /proc on this system: Node's own answer stands in.
  }
  const name = /^model name\s*:\s*(.+)$/m.exec(cpuinfo)?.[1] ?? cpus()[0]?.model;
  return name === undefined || name.trim() === "" || name === "unknown" ? undefined : name.trim();
}

export function processFacts(): ProcessFacts {
  const { user, system } = process.cpuUsage();
  return {
    cpuSeconds: (user + system) / 1e6,
    residentBytes: residentBytes(),
    startTimeSeconds: Math.round(performance.timeOrigin) / 1_000,
    openFiles: openFiles(),
  };
}

/** Without /proc, as in a bare root folder, Node cannot tell and throws. */
function residentBytes(): number | undefined {
  try {
    return process.memoryUsage.rss();
  } catch {
    return undefined;
  }
}

function openFiles(): number | undefined {
  try {
    return readdirSync("/proc/self/fd").length;
  } catch {
    return undefined;
  }
}
