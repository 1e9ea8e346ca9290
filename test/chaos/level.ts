// A process's resource usage: memory and open files. After a fault both must return to near the baseline; a leak grows
// with every fault.

import { readdirSync, readFileSync } from "node:fs";

import { waitUntil } from "../../engines/wait.ts";

export interface ResourceLevel {
  readonly residentBytes: number;
  readonly handles: number;
}

/** Returns undefined if the operating system does not report it (anything but Linux). */
export function levelOf(pid: number): ResourceLevel | undefined {
  if (process.platform !== "linux") return undefined;
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const kilobytes = Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? Number.NaN);
  return { residentBytes: kilobytes * 1_024, handles: readdirSync(`/proc/${pid}/fd`).length };
}

/** Tolerance for connections that stay open between requests, and files that are open during sealing. */
const handlesMore = 24;
/** Tolerance for memory: V8 does not shrink a heap that is not full, so twice the baseline plus a constant is not a leak. */
const residentTimes = 2;
const residentMore = 96 * 2 ** 20;

/** Waits until both are back near the baseline; connections and memory are released with a delay. */
export async function backToLevel(
  name: string,
  pid: number,
  before: ResourceLevel | undefined,
): Promise<void> {
  if (before === undefined) return;
  const residentMost = before.residentBytes * residentTimes + residentMore;
  const handlesMost = before.handles + handlesMore;
  await waitUntil({ what: `${name} to be back at its level`, timeoutMs: 90_000 }, async () => {
    const now = levelOf(pid);
    if (now === undefined || (now.residentBytes <= residentMost && now.handles <= handlesMost))
      return true;
    throw new Error(`before ${JSON.stringify(before)}, now ${JSON.stringify(now)}`);
  });
}
