// A cgroup for each service, with its memory limit, so that cAdvisor and the host source report services like containers. Groups
// are created below our own, so that our own limits still apply; only groups created here are removed.

import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmdirSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import type { Service } from "./service.ts";

const GROUP_NAME = "gpulse-stack";
const MOUNT = "/sys/fs/cgroup";
const REMOVE_MS = 5_000;
/** Version 1 has a tree per controller; these are reported per container. */
const TREES = ["memory", "cpu", "cpuacct", "pids", "blkio"] as const;

export interface Groups {
  /** The path of the services' parent group, as in the kernel and cAdvisor. */
  readonly path: string;
  /** The files to which a process writes its id. */
  joinsOf(service: Service): readonly string[];
  close(): Promise<void>;
}

export type OpenedGroups = Groups | { readonly missing: string };

export function openGroups(
  mount = MOUNT,
  own = readFileSync("/proc/self/cgroup", "utf8"),
): OpenedGroups {
  const made: string[] = [];
  const make = (dir: string): void => {
    if (existsSync(dir)) return;
    make(path.dirname(dir));
    mkdirSync(dir);
    made.push(dir);
  };
  const close = async (): Promise<void> => {
    const deadlineMs = Date.now() + REMOVE_MS;
    for (const dir of made.reverse()) await removeEmpty(dir, deadlineMs);
  };
  const isUnified = existsSync(path.join(mount, "cgroup.controllers"));
  const trees = isUnified ? [""] : TREES.filter((tree) => existsSync(path.join(mount, tree)));
  if (trees.length === 0) return { missing: `there are no control groups at ${mount}` };
  const above = ownPath(own, isUnified ? "" : "memory");
  // Another stack on this machine may have the plain name; groups left by a killed stack are removed.
  const plain = trees.map((tree) => path.join(mount, tree, above, GROUP_NAME));
  for (const dir of plain) removeLeft(dir);
  const isTaken = plain.some((dir) => existsSync(dir));
  const below = path.join(above, isTaken ? `${GROUP_NAME}-${process.pid}` : GROUP_NAME);
  try {
    for (const tree of trees) make(path.join(mount, tree, below));
    if (isUnified) giveControllers(path.join(mount, below));
  } catch (error) {
    for (const dir of made.reverse()) rmdirSync(dir);
    return { missing: error instanceof Error ? error.message : String(error) };
  }
  return {
    path: below,
    joinsOf: (service) =>
      trees.map((tree) => {
        const dir = path.join(mount, tree, below, service.name);
        make(dir);
        limitMemory(dir, service.memoryLimitBytes);
        return path.join(dir, "cgroup.procs");
      }),
    close,
  };
}

/** Lines are `4:memory:/path`, and `0::/path` in version 2. */
export function ownPath(text: string, controller: string): string {
  for (const line of text.split("\n")) {
    const [, controllers = "", ...rest] = line.split(":");
    if (rest.length > 0 && controllers.split(",").includes(controller)) return rest.join(":");
  }
  return "/";
}

/** A group with processes may not delegate controllers: then services have groups, but no limits. */
function giveControllers(dir: string): void {
  for (const group of [path.dirname(dir), dir]) {
    try {
      writeFileSync(path.join(group, "cgroup.subtree_control"), "+memory +cpu +pids");
    } catch {
      return;
    }
  }
}

function limitMemory(dir: string, bytes: number): void {
  for (const name of ["memory.limit_in_bytes", "memory.max"]) {
    const file = path.join(dir, name);
    if (existsSync(file)) writeFileSync(file, String(bytes));
  }
}

/** Removes groups without processes: the kernel refuses to remove others. */
function removeLeft(dir: string): void {
  if (!existsSync(dir)) return;
  const below = readdirSync(dir, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  try {
    for (const { name } of below) rmdirSync(path.join(dir, name));
    rmdirSync(dir);
  } catch {
    // It contains processes: it stays.
  }
}

/** The kernel releases a group a moment after its last process; a remaining group is empty and harmless. */
async function removeEmpty(dir: string, deadlineMs: number): Promise<void> {
  do {
    try {
      rmdirSync(dir);
      return;
    } catch (error) {
      if (error instanceof Error && "code" in error && error.code === "ENOENT") return;
      await sleep(50);
    }
  } while (Date.now() < deadlineMs);
}
