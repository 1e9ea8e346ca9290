// A group of the kernel for each service, with its memory limit, so that cAdvisor and the host source see services as they
// would see containers. Groups are made below our own, so that what limits us still limits them; only what was made here
// is removed.

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

export const GROUP_NAME = "gpulse-stack";
const MOUNT = "/sys/fs/cgroup";
const REMOVE_MS = 5_000;
/** Version 1 has a tree per controller; those that are reported per container. */
const TREES = ["memory", "cpu", "cpuacct", "pids", "blkio"] as const;

export interface Groups {
  /** As the kernel and cAdvisor call the one above those of the services. */
  readonly path: string;
  /** The files a process writes its id to. */
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
  // Another stack on this machine has the plain name; what one that was killed left behind is taken away.
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

/** A group that holds processes may not hand controllers down: then services have groups, and no limits. */
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

/** Groups without processes alone: the kernel refuses to remove others. */
function removeLeft(dir: string): void {
  if (!existsSync(dir)) return;
  const below = readdirSync(dir, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  try {
    for (const { name } of below) rmdirSync(path.join(dir, name));
    rmdirSync(dir);
  } catch {
    // Somebody is in it: it stays.
  }
}

/** The kernel lets go of a group a moment after its last process; what it keeps is empty and harms nobody. */
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
