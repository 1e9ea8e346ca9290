/**
 * The main thread's end of the NVML worker. Every request is a promise that may never settle: whoever awaits it has a
 * deadline. A worker stuck in a call is never joined, ended or doubled; the process can then only end by SIGKILL, and does.
 */
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import type { Answer, Answered, Asked, Request, WorkerSettings } from "./protocol.ts";

/** How long a call that is under way when the process ends is waited for; the longest that is well is 21 ms. */
const exitPatienceMs = 500;
const closePatienceMs = 1_000;

/** Beside the executable; this code may be in the executable itself or in a chunk one folder down. */
export function findWorkerFile(): string | undefined {
  return ["./nvidia-worker.js", "../nvidia-worker.js"]
    .map((place) => fileURLToPath(new URL(place, import.meta.url)))
    .find((file) => existsSync(file));
}

export class NvmlConnection {
  readonly #worker: Worker;
  readonly #busy = new Int32Array(new SharedArrayBuffer(4));
  readonly #waiting = new Map<
    number,
    { resolve: (answer: Answer) => void; reject: (error: Error) => void }
  >();
  readonly #atExit = (): void => {
    if (this.#alive && this.#isStuck(exitPatienceMs)) process.kill(process.pid, "SIGKILL");
  };
  #alive = true;
  #nextId = 1;

  constructor(workerFile: string, libraries: readonly string[], sysfs = "/sys") {
    const settings: WorkerSettings = { libraries, sysfs, busy: this.#busy.buffer };
    this.#worker = new Worker(workerFile, {
      workerData: settings,
      name: "nvml",
      // It holds a few kilobytes; without bounds V8 lets the young generation alone grow to 16 MB.
      resourceLimits: { maxYoungGenerationSizeMb: 2, maxOldGenerationSizeMb: 32 },
    });
    this.#worker.unref();
    this.#worker.on("message", ({ id, answer }: Answered) => {
      const waiting = this.#waiting.get(id);
      this.#waiting.delete(id);
      if (this.#waiting.size === 0) this.#worker.unref();
      waiting?.resolve(answer);
    });
    this.#worker.on("error", (error) => this.#end(error));
    this.#worker.on("exit", () => this.#end(new Error("the NVML worker has ended")));
    process.on("exit", this.#atExit);
  }

  get alive(): boolean {
    return this.#alive;
  }

  async ask(request: Request): Promise<Answer> {
    if (!this.#alive) throw new Error("the NVML worker has ended");
    const asked: Asked = { id: this.#nextId++, request };
    return new Promise<Answer>((resolve, reject) => {
      this.#waiting.set(asked.id, { resolve, reject });
      // Somebody waits for the answer, so the process must not end for want of anything else to do.
      this.#worker.ref();
      this.#worker.postMessage(asked, []);
    });
  }

  /** Ends the worker if it answers; one that is stuck is left behind. */
  async close(): Promise<void> {
    if (!this.#alive) return;
    const ended = new Promise<void>((resolve) => this.#worker.once("exit", () => resolve()));
    this.ask({ kind: "close" }).catch(() => undefined);
    let timer: NodeJS.Timeout | undefined;
    const deadline = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, closePatienceMs);
    });
    await Promise.race([ended, deadline]);
    clearTimeout(timer);
    this.#worker.unref();
  }

  /** Whether a call is under way that does not come back within the time. Blocks this thread for that long at most. */
  #isStuck(patienceMs: number): boolean {
    if (Atomics.load(this.#busy, 0) === 0) return false;
    Atomics.wait(this.#busy, 0, 1, patienceMs);
    return Atomics.load(this.#busy, 0) !== 0;
  }

  #end(error: Error): void {
    this.#alive = false;
    process.off("exit", this.#atExit);
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }
}

const shared = new Map<string, NvmlConnection>();

/**
 * One connection per library and process: `doctor` and the source it leads to use the same, so that a driver that hangs holds
 * one thread and not two.
 */
export function connect(
  libraries: readonly string[],
  workerFile: string,
  sysfs: string,
): NvmlConnection {
  const key = JSON.stringify([workerFile, libraries, sysfs]);
  const known = shared.get(key);
  if (known?.alive === true) return known;
  const made = new NvmlConnection(workerFile, libraries, sysfs);
  shared.set(key, made);
  return made;
}
