/**
 * One process per data folder, also across containers that share a volume. The file `lock` names the holder (lock-holder.ts); a
 * lock whose holder is dead is replaced. A holder that lost its lock, for instance because it was suspended for minutes, detects
 * that before its next write: `isHeld` is false from then on.
 */
import { randomBytes } from "node:crypto";
import {
  closeSync,
  linkSync,
  openSync,
  readFileSync,
  renameSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import path from "node:path";
import { systemCode } from "../error.ts";
import { removeLeftover } from "./atomic.ts";
import {
  describeHolder,
  formatHolder,
  heartbeatMs,
  liveHolder,
  type LockFile,
  type LockHolder,
  ownTokens,
  parseHolder,
  readLock,
  thisProcess,
} from "./lock-holder.ts";
import { listenOnSocket, removeSocket } from "./lock-socket.ts";

/** Another process holds the folder; the message names the process and the remedy. */
export class FolderLockedError extends Error {}

export interface FolderLock {
  /** False once another process has taken the folder over: nothing may be written to it any more. */
  isHeld(): boolean;
  release(): void;
}

export interface LockOptions {
  /** Held only during one write: no socket and no heartbeat. */
  readonly brief?: boolean;
}

const checkEveryMs = 1_000;
const attempts = 10;
const lockFile = (dir: string): string => path.join(path.resolve(dir), "lock");

export function lockFolder(dir: string, { brief = false }: LockOptions = {}): FolderLock {
  const file = lockFile(dir);
  const token = randomBytes(8).toString("hex");
  const socket = brief ? undefined : listenOnSocket(path.dirname(file), token);
  const proof = brief ? "brief" : socket === undefined ? "heartbeat" : "socket";
  const text = formatHolder(thisProcess(token, proof));
  try {
    acquire(dir, file, text);
  } catch (thrown) {
    socket?.close();
    throw thrown;
  }
  ownTokens.add(token);
  return new HeldLock(file, text, token, brief, () => socket?.close());
}

/** The live process that holds the folder's lock, as text; undefined if there is none. */
export function lockOwner(dir: string): string | undefined {
  const file = lockFile(dir);
  const lock = readLock(file);
  const holder = lock === undefined ? undefined : liveHolder(file, lock);
  return holder === undefined ? undefined : describeHolder(holder);
}

function acquire(dir: string, file: string, text: string): void {
  for (let attempt = 0; attempt < attempts; attempt++) {
    if (place(file, text)) return;
    const lock = readLock(file);
    if (lock === undefined) continue;
    const holder = liveHolder(file, lock);
    if (holder !== undefined)
      throw new FolderLockedError(
        `The data folder ${dir} is in use by ${describeHolder(holder)}: stop it, or choose another folder.`,
      );
    removeDead(file, lock, parseHolder(lock.text));
  }
  throw new FolderLockedError(`The data folder ${dir} cannot be locked: try again.`);
}

/** False if there is a lock already. Hard-linking a complete file is atomic; not every file system has hard links. */
function place(file: string, text: string): boolean {
  const mine = `${file}.${process.pid}`;
  try {
    writeFileSync(mine, text, { mode: 0o600 });
    try {
      linkSync(mine, file);
    } catch (thrown) {
      if (!noLinks.has(systemCode(thrown) ?? "")) throw thrown;
      writeFileSync(file, text, { flag: "wx", mode: 0o600 });
    }
    return true;
  } catch (thrown) {
    if (systemCode(thrown) === "EEXIST") return false;
    throw thrown;
  } finally {
    removeLeftover(mine);
  }
}

const noLinks = new Set(["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EMLINK"]);

/** Removes the lock of a dead holder. If another starting process has replaced it by its own meanwhile, that lock is put back. */
function removeDead(file: string, dead: LockFile, holder: LockHolder | undefined): void {
  const aside = `${file}.${process.pid}.dead`;
  try {
    renameSync(file, aside);
  } catch (thrown) {
    if (systemCode(thrown) === "ENOENT") return;
    throw thrown;
  }
  const found = readLock(aside);
  if (found !== undefined && found.text !== dead.text) place(file, found.text);
  else if (holder !== undefined && holder.token !== "")
    removeSocket(path.dirname(file), holder.token);
  removeLeftover(aside);
}

class HeldLock implements FolderLock {
  readonly #file: string;
  readonly #text: string;
  readonly #token: string;
  readonly #closeSocket: () => void;
  readonly #timer: NodeJS.Timeout | undefined;
  #checkedMs = performance.now();
  #held = true;

  constructor(file: string, text: string, token: string, brief: boolean, closeSocket: () => void) {
    [this.#file, this.#text, this.#token] = [file, text, token];
    this.#closeSocket = closeSocket;
    if (!brief) this.#timer = setInterval(() => this.#renew(), heartbeatMs).unref();
  }

  isHeld(): boolean {
    const nowMs = performance.now();
    if (this.#held && nowMs - this.#checkedMs >= checkEveryMs) {
      this.#checkedMs = nowMs;
      this.#held = this.#isOurs();
    }
    return this.#held;
  }

  release(): void {
    const isOurs = this.#held && readLock(this.#file)?.text === this.#text;
    this.#held = false;
    clearInterval(this.#timer);
    ownTokens.delete(this.#token);
    if (isOurs) removeLeftover(this.#file);
    this.#closeSocket();
  }

  /** Restores a lock file that was removed; false if the file names another holder. */
  #isOurs(): boolean {
    try {
      const lock = readLock(this.#file);
      return lock === undefined ? place(this.#file, this.#text) : lock.text === this.#text;
    } catch {
      // A disk that does not respond proves no other holder; the next write reports the error.
      return true;
    }
  }

  #renew(): void {
    this.#checkedMs = -Infinity;
    if (!this.isHeld()) return clearInterval(this.#timer);
    try {
      const fd = openSync(this.#file, "r+");
      try {
        // A process that takes over replaces this file, so this descriptor can only be ours.
        if (readFileSync(fd, "latin1") === this.#text) writeSync(fd, this.#text, 0);
      } finally {
        closeSync(fd);
      }
    } catch {
      // The next renewal tries again.
    }
  }
}
