/**
 * A megabyte of reserved disk space in the data folder. A store that was killed on a full disk releases it at the next
 * start: the lock, the manifest and a log segment need a few kilobytes before anything can be served.
 */
import { existsSync, readdirSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import path from "node:path";
import { lockOwner } from "../../../base/state/lock.ts";

const reserveBytes = 2 ** 20;
const reserveFile = (dir: string): string => path.join(dir, "reserve");

/** True if the next small file may not fit. False if the free space is unknown: the write itself then fails if necessary. */
export function isNearlyFull(dir: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(dir);
    return bavail * bsize < reserveBytes;
  } catch {
    return false;
  }
}

/** Removes the reserve and the leftovers of a crash: half-written files and the address of a hub that no longer runs. */
export function releaseReserve(dir: string): void {
  if (lockOwner(dir) !== undefined) return;
  for (const name of ["reserve", "address"]) rmSync(path.join(dir, name), { force: true });
  for (const folder of [dir, path.join(dir, "wal"), path.join(dir, "blocks")])
    if (existsSync(folder))
      for (const file of readdirSync(folder))
        if (file.endsWith(".tmp")) rmSync(path.join(folder, file), { force: true });
}

/** Creates the reserve if it is missing and the disk has plenty of space. */
export function makeReserve(dir: string): void {
  const file = reserveFile(dir);
  try {
    const { bavail, bsize } = statfsSync(dir);
    if (bavail * bsize < 16 * reserveBytes || existsSync(file)) return;
    // Not zeros, which a compressing file system would not allocate.
    writeFileSync(file, Buffer.alloc(reserveBytes, "gpulse reserve "), { mode: 0o600 });
  } catch {
    rmSync(file, { force: true });
  }
}
