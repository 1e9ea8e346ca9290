/**
 * Finds out who holds a folder's lock, and whether that process is alive. A PID is valid only within one PID namespace of one
 * running kernel. Elsewhere the proof is a unix socket in the folder, which the kernel closes with its process and which is
 * reachable from every namespace of the machine; where that is not possible (another machine on a network file system, a file
 * system without sockets), the proof is that the holder still renews the lock file.
 *
 *   "PID START NAMESPACE BOOT HOST TOKEN PROOF\n"; an older gpulse wrote "PID START\n"
 */
import { readFileSync, readlinkSync, rmSync, statSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { systemCode } from "../error.ts";
import { probeSocket } from "./lock-socket.ts";

/** `brief`: held only during one write, with no proof but the file's age. */
export type LockProof = "socket" | "heartbeat" | "brief";

export interface LockHolder {
  readonly pid: number;
  readonly start: number;
  readonly namespace: string;
  readonly boot: string;
  readonly host: string;
  readonly token: string;
  readonly proof: LockProof;
}

export const heartbeatMs = 5_000;
/** The holder is dead if it does not renew the lock while observed for this long. */
const patienceMs = 3 * heartbeatMs + 1_000;
/** The holder is dead, without observing it, if its last renewal is this long ago by the file system's own clock. */
const certainlyDeadMs = 60_000;
const briefMs = 10_000;
const pollMs = 250;
const sleeper = new Int32Array(new SharedArrayBuffer(4));

const machine = {
  namespace: tryRead(() => readlinkSync("/proc/self/ns/pid")) ?? "-",
  boot: tryRead(() => readFileSync("/proc/sys/kernel/random/boot_id", "latin1")) ?? os.hostname(),
  host: os.hostname(),
};
/** The tokens of the locks that this process holds. */
export const ownTokens = new Set<string>();

export const thisProcess = (token: string, proof: LockProof): LockHolder => ({
  pid: process.pid,
  start: startOf(process.pid),
  namespace: word(machine.namespace),
  boot: word(machine.boot),
  host: word(machine.host),
  token,
  proof,
});

export const formatHolder = (holder: LockHolder): string =>
  `${holder.pid} ${holder.start} ${holder.namespace} ${holder.boot} ${holder.host} ${holder.token} ${holder.proof}\n`;

export interface LockFile {
  readonly text: string;
  readonly modifiedMs: number;
}

/** Undefined if there is no lock. */
export function readLock(file: string): LockFile | undefined {
  try {
    return { text: readFileSync(file, "latin1"), modifiedMs: statSync(file).mtimeMs };
  } catch (thrown) {
    if (systemCode(thrown) === "ENOENT") return undefined;
    throw thrown;
  }
}

export function parseHolder(text: string): LockHolder | undefined {
  const [pid, start, namespace, boot, host, token, proof] = text.trim().split(" ");
  const number = Number(pid);
  if (!Number.isInteger(number) || number <= 0) return undefined;
  const own = thisProcess("", "heartbeat");
  return {
    pid: number,
    start: Number(start ?? 0),
    namespace: namespace ?? own.namespace,
    boot: boot ?? own.boot,
    host: host ?? own.host,
    token: token ?? "",
    proof: proof === "socket" || proof === "brief" ? proof : "heartbeat",
  };
}

/** The holder if it is alive. May block for `patienceMs` if only the heartbeat can decide. */
export function liveHolder(file: string, lock: LockFile): LockHolder | undefined {
  const holder = parseHolder(lock.text);
  const own = thisProcess("", "brief");
  if (holder === undefined) {
    // Another process may be writing the file right now, on a file system without hard links.
    return fileClockMs(file) - lock.modifiedMs < briefMs && lock.text === "" ? own : undefined;
  }
  if (holder.boot === own.boot && holder.namespace === own.namespace)
    return isRunning(holder) ? holder : undefined;
  if (holder.proof === "brief")
    return fileClockMs(file) - lock.modifiedMs < briefMs ? holder : undefined;
  if (holder.boot === own.boot && holder.proof === "socket") {
    const found = probeSocket(path.dirname(file), holder.token);
    if (found !== "unknown") return found === "alive" ? holder : undefined;
  }
  return isRenewed(file, lock) ? holder : undefined;
}

export function describeHolder({ pid, namespace, boot, host }: LockHolder): string {
  const own = thisProcess("", "brief");
  if (namespace === own.namespace && boot === own.boot) return `process ${pid}`;
  return `process ${pid} of ${host}, ${boot === own.boot ? "another container on this machine" : "another machine"}`;
}

function isRunning({ pid, start, token }: LockHolder): boolean {
  if (pid === process.pid) return ownTokens.has(token);
  try {
    process.kill(pid, 0);
  } catch (thrown) {
    if (systemCode(thrown) === "ESRCH") return false;
  }
  const running = startOf(pid);
  return running === 0 || start === 0 || running === start;
}

function isRenewed(file: string, first: LockFile): boolean {
  if (fileClockMs(file) - first.modifiedMs > certainlyDeadMs) return false;
  for (let waitedMs = 0; waitedMs < patienceMs; waitedMs += pollMs) {
    Atomics.wait(sleeper, 0, 0, pollMs);
    const now = readLock(file);
    if (now === undefined) return false;
    if (now.modifiedMs !== first.modifiedMs || now.text !== first.text) return true;
  }
  return false;
}

/** The current time of the file system: clocks of machines differ. */
function fileClockMs(file: string): number {
  const probe = `${file}.${process.pid}.now`;
  try {
    writeFileSync(probe, "");
    return statSync(probe).mtimeMs;
  } catch {
    return Date.now();
  } finally {
    rmSync(probe, { force: true });
  }
}

function startOf(pid: number): number {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    // The process name in brackets may contain anything, so fields are counted from the last bracket.
    return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19]);
  } catch {
    return 0;
  }
}

function tryRead(read: () => string): string | undefined {
  try {
    return read().trim();
  } catch {
    return undefined;
  }
}

const word = (text: string): string => text.replace(/[^\x21-\x7e]/g, "_") || "-";
