/** Reads facts about the machine and about this process. */
import { readdirSync } from "node:fs";
import { availableParallelism, cpus, totalmem } from "node:os";
import { residentBytes } from "../base/resident-bytes.ts";
import type { ProcessFacts } from "../pipeline/self.ts";
import { readText } from "../machine/sysfs/read.ts";
import {
  denied,
  failed,
  present,
  type ReadResult,
  unsupported,
} from "../machine/sysfs/read-result.ts";
import { type CgroupLimits, readCgroupLimits } from "../machine/cgroup-limits.ts";
import { type Machine, MissingFacts } from "../machine/machine.ts";
import { parseMeminfo } from "../machine/proc.ts";
import { type ProcessorCounts, readProcessorCounts } from "../machine/processor.ts";
import type { HostFacts } from "./stats/stats.ts";

/** Reads the machine's facts: the processors once, everything that can change at every call. */
export class HostReader {
  readonly #name: string;
  readonly #machine: Machine;
  #processor: Promise<ProcessorCounts> | undefined;

  constructor(name: string, machine: Machine) {
    this.#name = name;
    this.#machine = machine;
  }

  async read(): Promise<HostFacts> {
    this.#processor ??= readProcessorCounts(this.#machine);
    const missing = new MissingFacts();
    const [processor, limits, meminfo] = await Promise.all([
      this.#processor,
      readCgroupLimits(this.#machine, missing),
      readText(`${this.#machine.procfs}/meminfo`, 16_384, this.#machine.fileAccess),
    ]);
    const memoryBytes = meminfo.ok ? parseMeminfo(meminfo.value).get("MemTotal") : undefined;
    return {
      name: this.#name,
      // If /proc is unreadable, use what Node reports.
      processor: processor.model ?? nodeProcessor(),
      sockets: processor.sockets,
      cores: processor.cores,
      threads: processor.threads,
      availableThreads: availableParallelism(),
      memoryBytes: memoryBytes ?? totalmem(),
      memoryLimitBytes: memoryLimit(limits, missing),
    };
  }
}

/** `unsupported` if no limit is set; another reason if a limit may be set but could not be read. */
function memoryLimit({ memoryBytes }: CgroupLimits, missing: MissingFacts): ReadResult<number> {
  if (memoryBytes !== undefined) return present(memoryBytes);
  const unread = missing.list().find(({ fact }) => fact === "container.memoryLimitBytes");
  if (unread === undefined) return unsupported;
  return unread.reason === "denied" ? denied : failed;
}

function nodeProcessor(): string | undefined {
  const name = cpus()[0]?.model.trim();
  return name === undefined || name === "" || name === "unknown" ? undefined : name;
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

function openFiles(): number | undefined {
  try {
    return readdirSync("/proc/self/fd").length;
  } catch {
    return undefined;
  }
}
