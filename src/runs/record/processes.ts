/** Tracks the processes on the GPUs of a run, and whether each belongs to the command. */
import { gpu } from "../../model/catalogue/index.ts";
import type { Frame } from "../../model/frame.ts";
import { labelValue } from "../../model/labels.ts";
import { presence } from "../../model/presence.ts";
import type { ForeignProcess, RunSpan } from "../run.ts";

interface SeenProcess {
  readonly uuid: string;
  readonly pid: number;
  name: string;
  readonly fromMs: number;
  toMs: number;
  memoryBytes: number | undefined;
  own: boolean;
}

export class ProcessWatch {
  readonly #isOwn: (pid: number) => boolean;
  readonly #uuids: ReadonlySet<string>;
  readonly #seen = new Map<string, SeenProcess>();
  /** True if any source reports processes: only then an empty list proves that there were none. */
  hasReports = false;

  constructor(uuids: Iterable<string>, isOwn: (pid: number) => boolean) {
    this.#uuids = new Set(uuids);
    this.#isOwn = isOwn;
  }

  see(frame: Frame): void {
    frame.layout.series.forEach(({ metric, labels }, slot) => {
      if (metric === gpu.processes && frame.presence[slot] === presence.present)
        this.hasReports = true;
      if (metric !== gpu.processMemory || frame.presence[slot] === presence.ended) return;
      const uuid = labelValue(labels, "uuid") ?? "";
      const pid = Number(labelValue(labels, "pid"));
      if (!this.#uuids.has(uuid) || !Number.isInteger(pid)) return;
      this.hasReports = true;
      const known = frame.presence[slot] === presence.present;
      const memoryBytes = known ? frame.values[slot] : undefined;
      this.#note(uuid, pid, labelValue(labels, "process"), frame.timeMs, memoryBytes);
    });
  }

  #note(
    uuid: string,
    pid: number,
    name: string | undefined,
    timeMs: number,
    memoryBytes: number | undefined,
  ): void {
    const key = `${uuid} ${pid}`;
    const seen = this.#seen.get(key);
    if (seen === undefined) {
      this.#seen.set(key, {
        uuid,
        pid,
        name: name ?? "unknown",
        fromMs: timeMs,
        toMs: timeMs,
        memoryBytes,
        own: this.#isOwn(pid),
      });
      return;
    }
    seen.toMs = timeMs;
    // Before exec a child still has its parent's name.
    if (name !== undefined) seen.name = name;
    seen.own ||= this.#isOwn(pid);
    if (memoryBytes !== undefined) seen.memoryBytes = Math.max(seen.memoryBytes ?? 0, memoryBytes);
  }

  /** Processes that were on a GPU while the command ran and do not belong to it. */
  foreign([startMs, endMs]: RunSpan): ForeignProcess[] {
    return [...this.#seen.values()]
      .filter(({ own, fromMs, toMs }) => !own && toMs >= startMs && fromMs <= endMs)
      .map(({ uuid, pid, name, fromMs, toMs, memoryBytes }) => ({
        uuid,
        pid,
        name,
        fromMs,
        toMs,
        before: fromMs < startMs,
        ...(memoryBytes === undefined ? {} : { memoryBytes }),
      }));
  }
}
