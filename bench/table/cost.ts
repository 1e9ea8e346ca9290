/** The cost of processes over a span of time: processor time to the microsecond if the kernel reports it, and memory. */
import { readdirSync, readFileSync } from "node:fs";
import { processCost } from "../process-cost.ts";

/** Sum over all threads. The ticks of /proc/PID/stat are 10 ms, a fifth of what an idle agent uses in a round. */
export function cpuSeconds(pid: number): number {
  let nanoseconds = 0;
  try {
    for (const thread of readdirSync(`/proc/${pid}/task`))
      nanoseconds += Number(
        readFileSync(`/proc/${pid}/task/${thread}/schedstat`, "utf8").split(" ")[0],
      );
    return nanoseconds / 1e9;
  } catch {
    return processCost(pid).cpuSeconds;
  }
}

export const residentBytes = (pid: number): number => processCost(pid).residentBytes;
