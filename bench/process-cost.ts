/** The cost of a process, read from /proc: processor time and resident memory. Linux only. */
import { readFileSync } from "node:fs";

/** The kernel counts processor time in ticks of 10 ms (USER_HZ is 100 on every Linux Node runs on). */
const ticksPerSecond = 100;

export interface ProcessCost {
  readonly cpuSeconds: number;
  readonly residentBytes: number;
}

/** @param thread of the process; if given, the processor time is that thread's */
export function processCost(pid: number, thread?: number): ProcessCost {
  // The second field is the name in brackets and may contain anything, so fields are counted from the last bracket.
  const of = thread === undefined ? pid : `${pid}/task/${thread}`;
  const stat = readFileSync(`/proc/${of}/stat`, "utf8");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [userTicks, systemTicks] = [Number(fields[11]), Number(fields[12])];
  const resident = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  return {
    cpuSeconds: (userTicks + systemTicks) / ticksPerSecond,
    residentBytes: Number(resident) * 1024,
  };
}
