/**
 * Decides whether a process belongs to the wrapped command: by its ancestors, or by an environment variable. Uses Linux's /proc;
 * elsewhere only the command itself is known.
 */
import { readFileSync } from "node:fs";
import path from "node:path";

export const runVariable = "GPULSE_RUN_ID";

export class OwnTree {
  readonly #procfs: string;
  readonly #runId: string;
  readonly #roots = new Set<number>([process.pid]);
  readonly #own = new Set<number>();

  constructor(procfs: string, runId: string) {
    this.#procfs = procfs;
    this.#runId = runId;
  }

  add(pid: number): void {
    this.#roots.add(pid);
  }

  /** A process stays own once recognized: when a parent ends, its children get another parent. */
  has(pid: number): boolean {
    if (this.#own.has(pid)) return true;
    const own = this.#descends(pid) || this.#carriesId(pid);
    if (own) this.#own.add(pid);
    return own;
  }

  #descends(pid: number): boolean {
    let at = pid;
    // Deeper trees do not occur; a reused pid could create a cycle.
    for (let depth = 0; depth < 64 && at > 1; depth++) {
      if (this.#roots.has(at) || this.#own.has(at)) return true;
      const parent = this.#parentOf(at);
      if (parent === undefined) return false;
      at = parent;
    }
    return false;
  }

  /** `/proc/PID/stat`: `pid (name) state ppid …`; the name may contain any character. */
  #parentOf(pid: number): number | undefined {
    const text = this.#read(pid, "stat")?.toString("latin1");
    const behind = text?.slice(text.lastIndexOf(")") + 2).split(" ")[1];
    const parent = Number(behind);
    return Number.isInteger(parent) ? parent : undefined;
  }

  /** A daemon leaves its process tree but keeps its environment. Only this variable is looked up. */
  #carriesId(pid: number): boolean {
    return this.#read(pid, "environ")?.includes(`${runVariable}=${this.#runId}`) ?? false;
  }

  #read(pid: number, name: string): Buffer | undefined {
    try {
      return readFileSync(path.join(this.#procfs, String(pid), name));
    } catch {
      // The process has exited, or belongs to another user.
      return undefined;
    }
  }
}
