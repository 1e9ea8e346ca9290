/**
 * Reads the limits cgroups set on a process, version 1 or 2: the lowest from its own group up to the root. An unset limit is left
 * out; the huge numbers kernels write for "none" are never returned.
 */
import { listDir, readText } from "./sysfs/read.ts";
import { type Machine, type MissingFacts, processOf } from "./machine.ts";

export interface CgroupLimits {
  readonly version?: 1 | 2;
  readonly memoryBytes?: number;
  readonly swapBytes?: number;
  readonly cpuCores?: number;
  readonly processes?: number;
}

/** For "no limit" version 1 writes the largest multiple of the page size that fits a long. */
const noneBytes = 2 ** 62;

export async function readCgroupLimits(
  machine: Machine,
  missing: MissingFacts,
): Promise<CgroupLimits> {
  const text = await readText(`${processOf(machine)}/cgroup`, 65_536, machine.fileAccess);
  if (!text.ok) {
    // Without the cgroup file every limit would look unset, so report them as missing.
    if (text.reason !== "unsupported")
      for (const fact of Object.values(factNames)) missing.note(fact, text.reason);
    return {};
  }
  const paths = parseHierarchies(text.value);
  const root = `${machine.sysfs}/fs/cgroup`;
  const files = await listDir(root, machine.fileAccess);
  const isTwo = files.ok && files.value.includes("cgroup.controllers");
  if (isTwo)
    return { version: 2, ...(await readTwo(machine, root, paths.get("") ?? "/", missing)) };
  if (!files.ok || files.value.length === 0) return {};
  return { version: 1, ...(await readOne(machine, root, paths, missing)) };
}

const factNames = {
  memoryBytes: "container.memoryLimitBytes",
  swapBytes: "container.swapLimitBytes",
  cpuCores: "container.cpuLimitCores",
  processes: "container.processLimit",
} as const satisfies Record<Exclude<keyof CgroupLimits, "version">, string>;

/** Parses the hierarchies: `0::/path` is version 2 (under ""), `4:cpu,cpuacct:/path` is one of version 1. */
export function parseHierarchies(text: string): ReadonlyMap<string, string> {
  const paths = new Map<string, string>();
  for (const line of text.split("\n").slice(0, 64)) {
    const match = /^\d{1,6}:([^:]*):(\/.*)$/.exec(line);
    if (match?.[1] === undefined || match[2] === undefined) continue;
    for (const controller of match[1].split(",")) paths.set(controller, match[2]);
  }
  return paths;
}

async function readTwo(
  machine: Machine,
  root: string,
  path: string,
  missing: MissingFacts,
): Promise<CgroupLimits> {
  const least = (fact: string, file: string, parse: (text: string) => number | undefined) =>
    tightest(root, path, async (folder) => {
      const text = missing.optional(
        fact,
        await readText(`${folder}/${file}`, 64, machine.fileAccess),
      );
      return text === undefined ? undefined : parse(text);
    });
  return limits(
    await least(factNames.memoryBytes, "memory.max", whole),
    await least(factNames.swapBytes, "memory.swap.max", whole),
    await least(factNames.cpuCores, "cpu.max", parseCpuMax),
    await least(factNames.processes, "pids.max", whole),
  );
}

async function readOne(
  machine: Machine,
  root: string,
  paths: ReadonlyMap<string, string>,
  missing: MissingFacts,
): Promise<CgroupLimits> {
  const least = (controller: string, read: (folder: string) => Promise<number | undefined>) =>
    tightest(`${root}/${controller}`, paths.get(controller) ?? "/", read);
  const number = async (fact: string, file: string): Promise<number | undefined> => {
    const text = missing.optional(fact, await readText(file, 64, machine.fileAccess));
    return text === undefined ? undefined : whole(text);
  };
  const { memoryBytes, cpuCores, processes } = factNames;
  return limits(
    await least("memory", (folder) => number(memoryBytes, `${folder}/memory.limit_in_bytes`)),
    undefined,
    await least("cpu", async (folder) => {
      // -1 means no limit, and does not parse as a whole number.
      const quota = await number(cpuCores, `${folder}/cpu.cfs_quota_us`);
      const period = await number(cpuCores, `${folder}/cpu.cfs_period_us`);
      return quota === undefined || !period ? undefined : quota / period;
    }),
    await least("pids", (folder) => number(processes, `${folder}/pids.max`)),
  );
}

function limits(
  memoryBytes: number | undefined,
  swapBytes: number | undefined,
  cpuCores: number | undefined,
  processes: number | undefined,
): CgroupLimits {
  return {
    ...(memoryBytes === undefined ? {} : { memoryBytes }),
    ...(swapBytes === undefined ? {} : { swapBytes }),
    ...(cpuCores === undefined ? {} : { cpuCores }),
    ...(processes === undefined ? {} : { processes }),
  };
}

/** A group's limit applies to all groups below it. Folders that a container cannot see are skipped. */
async function tightest(
  root: string,
  path: string,
  read: (folder: string) => Promise<number | undefined>,
): Promise<number | undefined> {
  // A path with `..` leaves the tree: it belongs to another namespace.
  const steps = path.split("/").filter((step) => step !== "" && step !== ".." && step !== ".");
  let least: number | undefined;
  for (let depth = steps.length; depth >= 0; depth--) {
    const folder = [root, ...steps.slice(0, depth)].join("/");
    const value = await read(folder);
    if (value !== undefined && (least === undefined || value < least)) least = value;
  }
  return least;
}

/** `max` and anything unusable count as no limit. */
function whole(text: string): number | undefined {
  if (!/^\d{1,20}$/.test(text)) return undefined;
  return Number(text) >= noneBytes ? undefined : Number(text);
}

/** `200000 100000` is two cores; `max 100000` is no limit. */
function parseCpuMax(text: string): number | undefined {
  const match = /^(\d{1,15}) (\d{1,15})$/.exec(text);
  return match === null || Number(match[2]) === 0 ? undefined : Number(match[1]) / Number(match[2]);
}
