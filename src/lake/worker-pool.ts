/** Where files are encoded: a thread that starts with the first job, or this thread where there is no file for one. */
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import { type LakeJob, type LakeJobResult, runLakeJob } from "./job.ts";
import type { LakeWorkerReply } from "./thread.ts";

/** A thread without work for so long is let go. */
const idleMs = 5_000;

export interface LakeWorkerPool {
  run(job: LakeJob): Promise<LakeJobResult>;
  close(): Promise<void>;
}

/** Beside the executable; this code may be in the executable itself or in a chunk one folder down. */
function findWorkerFile(): string | undefined {
  return ["./lake-worker.js", "../lake-worker.js"]
    .map((place) => fileURLToPath(new URL(place, import.meta.url)))
    .find((file) => existsSync(file));
}

export function openLakeWorkerPool(file = findWorkerFile()): LakeWorkerPool {
  return file === undefined ? { run: runLakeJob, close: async () => {} } : new LakeThreadPool(file);
}

/** One job at a time, in the order they were asked for. */
class LakeThreadPool implements LakeWorkerPool {
  readonly #file: string;
  #worker: Worker | undefined;
  #idle: NodeJS.Timeout | undefined;
  #last: Promise<unknown> = Promise.resolve();

  constructor(file: string) {
    this.#file = file;
  }

  run(job: LakeJob): Promise<LakeJobResult> {
    const done = this.#last.then(() => this.#run(job));
    this.#last = done.catch(() => undefined);
    return done;
  }

  async close(): Promise<void> {
    await this.#last;
    await this.#dismiss();
  }

  #run(job: LakeJob): Promise<LakeJobResult> {
    clearTimeout(this.#idle);
    const worker = (this.#worker ??= new Worker(this.#file, { name: "lake" }));
    worker.ref();
    return new Promise((resolve, reject) => {
      const end = (settle: () => void): void => {
        worker.off("message", answered).off("error", lost).off("exit", ended);
        worker.unref();
        this.#idle = setTimeout(() => void this.#dismiss(), idleMs).unref();
        settle();
      };
      const answered = ({ bytes, rowCount = 0, failed }: LakeWorkerReply): void =>
        end(() => {
          if (bytes === undefined) reject(new Error(failed ?? "the lake's worker gave nothing"));
          else resolve({ bytes, rowCount });
        });
      const lost = (error: Error): void => {
        this.#worker = undefined;
        end(() => reject(error));
      };
      const ended = (): void => lost(new Error("the lake's worker has ended"));
      worker.on("message", answered).on("error", lost).on("exit", ended);
      worker.postMessage(job);
    });
  }

  async #dismiss(): Promise<void> {
    clearTimeout(this.#idle);
    const worker = this.#worker;
    this.#worker = undefined;
    await worker?.terminate();
  }
}
