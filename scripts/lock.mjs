// Allows one bootstrap at a time in a checkout, with a lock file that contains its owner's process id. Must never take a lock
// from a live process.

import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

import { PlainError, say } from "./progress.mjs";

const POLL_MS = 100;
const SAY_AFTER_MS = 2_000;
const GIVE_UP_AFTER_MS = 10 * 60_000;

/** @param {unknown} error */
function codeOf(error) {
  return error instanceof Error && "code" in error ? error.code : undefined;
}

/** @param {string} file @returns {number | undefined} */
function ownerOf(file) {
  try {
    const pid = Number.parseInt(readFileSync(file, "utf8"), 10);
    return Number.isInteger(pid) ? pid : undefined;
  } catch {
    return undefined;
  }
}

/** @param {number} pid */
function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return codeOf(error) !== "ESRCH";
  }
}

/** @param {string} file */
function tryTake(file) {
  try {
    writeFileSync(file, String(process.pid), { flag: "wx" });
    return true;
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error;
    return false;
  }
}

/**
 * Moves a dead owner's lock aside. Another waiter may have replaced it a moment before, so the moved lock is checked again and
 * restored if it is not the dead one.
 * @param {string} file
 * @param {number} deadPid
 */
function removeDead(file, deadPid) {
  const aside = `${file}.${process.pid}`;
  try {
    renameSync(file, aside);
  } catch {
    return;
  }
  if (ownerOf(aside) === deadPid) rmSync(aside, { force: true });
  else renameSync(aside, file);
}

/**
 * @template T
 * @param {string} file
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function withLock(file, work) {
  mkdirSync(path.dirname(file), { recursive: true });
  const startedMs = performance.now();
  let said = false;
  while (!tryTake(file)) {
    const owner = ownerOf(file);
    if (owner !== undefined && !isAlive(owner)) {
      removeDead(file, owner);
      continue;
    }
    const waitedMs = performance.now() - startedMs;
    if (waitedMs > GIVE_UP_AFTER_MS) {
      throw new PlainError(
        `another install or build (process ${owner ?? "unknown"}) holds ${file}; if none is running, delete that file.`,
      );
    }
    if (!said && waitedMs > SAY_AFTER_MS) {
      say(`… waiting for another install or build (process ${owner ?? "unknown"})`);
      said = true;
    }
    await sleep(POLL_MS);
  }
  try {
    return await work();
  } finally {
    rmSync(file, { force: true });
  }
}
