// What a process holds: memory and open files. After a fault both must be back near where they were; a leak grows with every fault.

import { readdirSync, readFileSync } from "node:fs";

import { waitUntil } from "../../engines/wait.ts";

export interface ResourceLevel {
  readonly residentBytes: number;
  readonly handles: number;
}

/** Undefined where the system does not tell (anything but Linux). */
export function levelOf(pid: number): ResourceLevel | undefined {
  if (process.platform !== "linux") return undefined;
  const status = readFileSync(`/proc/${pid}/status`, "utf8");
  const kilobytes = Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? Number.NaN);
  return { residentBytes: kilobytes * 1_024, handles: readdirSync(`/proc/${pid}/fd`).length };
}

/** Connections that stay open between requests, and files that are open while something is being sealed. */
const handlesMore = 24;
/** A heap that is not full is not emptied: half as much again, and what a first hour brings, is no leak. */
const residentTimes = 2;
const residentMore = 96 * 2 ** 20;

/** Waits until both are back; connections and memory are given back when it is their time. */
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
