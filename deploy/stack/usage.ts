// The resource usage of a process and its children from /proc: memory as PSS (shared pages divided among their users), open
// files, processor time. Absent without /proc or if the process has exited.

import { readdirSync, readFileSync } from "node:fs";

export interface Usage {
  readonly pssBytes: number;
  readonly openFiles: number;
  readonly cpuSeconds: number;
  readonly processes: number;
}

/** The children of every current process. */
export function processTree(): ReadonlyMap<number, readonly number[]> {
  const children = new Map<number, number[]>();
  for (const name of entries("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    const fields = statFields(Number(name));
    const parent = Number(fields?.[1] ?? "");
    if (fields === undefined) continue;
    children.set(parent, [...(children.get(parent) ?? []), Number(name)]);
  }
  return children;
}

export function familyOf(pid: number, tree: ReadonlyMap<number, readonly number[]>): number[] {
  return [pid, ...(tree.get(pid) ?? []).flatMap((child) => familyOf(child, tree))];
}

/** @param tree `processTree()`, computed once for many services */
export function usageOf(
  pid: number,
  tree: ReadonlyMap<number, readonly number[]>,
): Usage | undefined {
  const parts = familyOf(pid, tree).flatMap((one) => usageOfOne(one) ?? []);
  if (parts.length === 0) return undefined;
  const sum = (of: (usage: Usage) => number): number =>
    parts.reduce((total, usage) => total + of(usage), 0);
  return {
    pssBytes: sum(({ pssBytes }) => pssBytes),
    openFiles: sum(({ openFiles }) => openFiles),
    cpuSeconds: sum(({ cpuSeconds }) => cpuSeconds),
    processes: parts.length,
  };
}

function usageOfOne(pid: number): Usage | undefined {
  try {
    const rollup = readFileSync(`/proc/${pid}/smaps_rollup`, "utf8");
    const pssKib = /^Pss:\s+(\d+) kB$/m.exec(rollup)?.[1];
    const fields = statFields(pid);
    if (pssKib === undefined || fields === undefined) return undefined;
    return {
      pssBytes: Number(pssKib) * 1024,
      openFiles: entries(`/proc/${pid}/fd`).length,
      // USER_HZ is 100 on every Linux that Node runs on.
      cpuSeconds: (Number(fields[11]) + Number(fields[12])) / 100,
      processes: 1,
    };
  } catch {
    return undefined;
  }
}

/** Fields of /proc/PID/stat from the state on: the name before them may contain anything. */
function statFields(pid: number): readonly string[] | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  } catch {
    return undefined;
  }
}

function entries(dir: string): readonly string[] {
  try {
    return readdirSync(dir);
  } catch {
    return [];
  }
}
