/**
 * One process per data folder. The file `lock` holds the owner's process number and when that process started; a number that
 * is free or was given to another process since is a lock that nobody holds, and is taken over.
 *
 *   "PID START\n", START being field 22 of /proc/PID/stat where there is one, else 0
 */
import { linkSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { systemCode } from "../errors/error.ts";

/** Somebody else holds the folder; the message says who, and what to do. */
export class FolderLocked extends Error {}

export interface FolderLock {
  release(): void;
}

const held = new Set<string>();

export function lockFolder(dir: string): FolderLock {
  const file = path.join(path.resolve(dir), "lock");
  const own = `${process.pid} ${startOf(process.pid)}\n`;
  const mine = `${file}.${process.pid}`;
  writeFileSync(mine, own);
  try {
    for (let attempt = 0; attempt < 10; attempt++) {
      try {
        place(mine, file, own);
        held.add(file);
        return {
          release: () => {
            held.delete(file);
            rmSync(file, { force: true });
          },
        };
      } catch (thrown) {
        if (systemCode(thrown) !== "EEXIST") throw thrown;
        const owner = liveOwner(file);
        if (owner !== undefined)
          throw new FolderLocked(
            `The data folder ${dir} is in use by process ${owner}: stop it, or choose another folder.`,
            { cause: thrown },
          );
        rmSync(file, { force: true });
      }
    }
    throw new FolderLocked(`The data folder ${dir} cannot be locked: try again.`);
  } finally {
    rmSync(mine, { force: true });
  }
}

/** The process that holds the folder's lock now; undefined where none does, or the one that did has ended. */
export function lockOwner(dir: string): number | undefined {
  return liveOwner(path.join(path.resolve(dir), "lock"));
}

/** Linking a finished file is one step: nobody can see a lock without its owner in it. Not every file system has links. */
function place(mine: string, file: string, own: string): void {
  try {
    linkSync(mine, file);
  } catch (thrown) {
    if (!["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EMLINK"].includes(systemCode(thrown) ?? ""))
      throw thrown;
    writeFileSync(file, own, { flag: "wx" });
  }
}

function liveOwner(file: string): number | undefined {
  let text: string;
  try {
    text = readFileSync(file, "latin1");
  } catch (thrown) {
    if (systemCode(thrown) === "ENOENT") return undefined;
    throw thrown;
  }
  const [pid, start] = text.trim().split(" ").map(Number);
  if (pid === undefined || !Number.isInteger(pid) || pid <= 0) return undefined;
  if (pid === process.pid) return held.has(file) ? pid : undefined;
  try {
    process.kill(pid, 0);
  } catch (thrown) {
    if (systemCode(thrown) === "ESRCH") return undefined;
  }
  const running = startOf(pid);
  return running === 0 || start === 0 || running === start ? pid : undefined;
}

function startOf(pid: number): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    // The name in brackets may hold anything, so fields are counted from the last bracket.
    return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19]);
  } catch {
    return 0;
  }
}
