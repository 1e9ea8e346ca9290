/** Facts of this machine about a process on a GPU: user, container, parents, and start time. Reads only /proc. */
import { type Owner, valueOf } from "../../machine/owners/attribution.ts";
import { parseStat } from "../../machine/owners/proc.ts";
import type { OwnerResolver } from "../../machine/owners/resolver.ts";
import { readText } from "../../machine/sysfs/read.ts";
import type { Ancestor, GpuTask } from "../model/process.ts";

/** Refresh interval, because a program that calls exec changes its name. */
const LOOK_AGAIN_MS = 10_000;
const MOST_ANCESTORS = 8;

interface ProcessLookup {
  readonly owner: Owner;
  readonly startTicks: string | undefined;
  readonly ancestors: readonly Ancestor[];
  readonly atMs: number;
}

export class LocalTasks {
  readonly #resolver: OwnerResolver;
  readonly #procfs: string;
  readonly #nowMs: () => number;
  #looked = new Map<number, ProcessLookup>();
  #isLooking = false;

  constructor(resolver: OwnerResolver, procfs: string, nowMs: () => number) {
    this.#resolver = resolver;
    this.#procfs = procfs;
    this.#nowMs = nowMs;
  }

  /** Adds the facts known so far; missing ones follow with the next call. */
  describe(tasks: readonly GpuTask[]): readonly GpuTask[] {
    const pids = [...new Set(tasks.flatMap(({ pid }) => (pid === undefined ? [] : [pid])))];
    if (pids.length === 0) return tasks;
    this.#refresh(pids);
    return tasks.map((task) => {
      const looked = task.pid === undefined ? undefined : this.#looked.get(task.pid);
      if (looked === undefined) return task;
      const { owner, startTicks, ancestors } = looked;
      const container =
        task.container ?? valueOf(owner.containerName) ?? valueOf(owner.containerId)?.slice(0, 12);
      const user = valueOf(owner.user) ?? task.user;
      return {
        ...task,
        ...(container === undefined ? {} : { container }),
        ...(user === undefined ? {} : { user }),
        ...(startTicks === undefined ? {} : { startTicks }),
        ancestors,
      };
    });
  }

  #refresh(pids: readonly number[]): void {
    const nowMs = this.#nowMs();
    const due = pids.filter((pid) => nowMs - (this.#looked.get(pid)?.atMs ?? 0) >= LOOK_AGAIN_MS);
    if (this.#isLooking || due.length === 0) return;
    this.#isLooking = true;
    void Promise.all(due.map(async (pid) => [pid, await this.#look(pid, nowMs)] as const))
      .then((found) => {
        const all = new Set(pids);
        const kept = [...this.#looked].filter(([pid]) => all.has(pid));
        this.#looked = new Map([...kept, ...found]);
        return undefined;
      })
      .finally(() => {
        this.#isLooking = false;
      });
  }

  async #look(pid: number, atMs: number): Promise<ProcessLookup> {
    const owner = await this.#resolver.resolve(pid);
    const own = await this.#stat(pid);
    const ancestors: Ancestor[] = [];
    let parent = own?.parent;
    while (parent !== undefined && parent > 0 && ancestors.length < MOST_ANCESTORS) {
      const stat = await this.#stat(parent);
      if (stat === undefined) break;
      ancestors.push({ pid: parent, name: stat.name });
      parent = stat.parent;
    }
    return { owner, startTicks: own?.startTicks, ancestors, atMs };
  }

  async #stat(
    pid: number,
  ): Promise<{ name: string; startTicks: string; parent: number } | undefined> {
    const text = await readText(`${this.#procfs}/${pid}/stat`, 4_096);
    const stat = text.ok ? parseStat(text.value) : undefined;
    if (!text.ok || stat === undefined) return undefined;
    // `pid (name) state ppid …`, where the name may contain brackets.
    const parent = Number(text.value.slice(text.value.lastIndexOf(")") + 2).split(" ")[1]);
    return { ...stat, parent: Number.isInteger(parent) ? parent : 0 };
  }
}
