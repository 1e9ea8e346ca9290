/** Where blocks are made: a worker thread that starts with the first job, or slices of this thread where there is no worker file. */
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Worker } from "node:worker_threads";
import { limitYoungGeneration } from "../../../base/heap.ts";
import { type BlockJob, type BlockJobResult, runBlockJob } from "./job.ts";
import type { BlockWorkerReply } from "./worker.ts";

/** The longest this thread works on a block without giving way. */
const sliceMs = 5;
/** A worker without a job for so long is let go, and with it the memory it shared with its last job. */
const idleMs = 2_000;

export interface BlockWorkerPool {
  run(job: BlockJob): Promise<BlockJobResult>;
  close(): Promise<void>;
}

/** Beside the executable; this code may be in the executable itself or in a chunk one folder down. */
function findWorkerFile(): string | undefined {
  return ["./store-worker.js", "../store-worker.js"]
    .map((place) => fileURLToPath(new URL(place, import.meta.url)))
    .find((file) => existsSync(file));
}

/** `workerFile` false keeps the work in this thread. */
export function openBlockWorkerPool(workerFile: string | false | undefined): BlockWorkerPool {
  const file = workerFile === false ? undefined : (workerFile ?? findWorkerFile());
  return file === undefined ? new LocalBlockPool() : new BlockThreadPool(file);
}

class LocalBlockPool implements BlockWorkerPool {
  run(job: BlockJob): Promise<BlockJobResult> {
    return runBlockJob({ ...job, order: { ...job.order, sliceMs } });
  }

  async close(): Promise<void> {}
}

/** One job at a time: whoever asks waits for the answer first. */
class BlockThreadPool implements BlockWorkerPool {
  readonly #file: string;
  #worker: Worker | undefined;
  #idle: NodeJS.Timeout | undefined;

  constructor(file: string) {
    this.#file = file;
  }

  run(job: BlockJob): Promise<BlockJobResult> {
    clearTimeout(this.#idle);
    const worker = (this.#worker ??= this.#hire());
    worker.ref();
    return new Promise<BlockJobResult>((resolve, reject) => {
      // Not removeAllListeners: the worker has listeners of its own, without which it hears only one answer.
      const end = (settle: () => void): void => {
        worker.off("message", answered).off("error", lost).off("exit", ended);
        worker.unref();
        this.#startIdleTimer();
        settle();
      };
      const answered = ({ done, failed }: BlockWorkerReply): void =>
        end(() => {
          if (done !== undefined) resolve(done);
          else reject(Object.assign(new Error(failed?.message), { code: failed?.code }));
        });
      const lost = (error: Error): void => {
        this.#worker = undefined;
        end(() => reject(error));
      };
      const ended = (): void => lost(new Error("the store's worker has ended"));
      worker.on("message", answered).on("error", lost).on("exit", ended);
      worker.postMessage(job);
    });
  }

  async close(): Promise<void> {
    clearTimeout(this.#idle);
    await this.#dismiss();
  }

  /** Not inside `run`: a timer keeps its callback after it fired, and a callback made there keeps the job, a whole head. */
  #startIdleTimer(): void {
    this.#idle = setTimeout(() => void this.#dismiss(), idleMs).unref();
  }

  async #dismiss(): Promise<void> {
    const worker = this.#worker;
    this.#worker = undefined;
    await worker?.terminate();
  }

  /** One that dies between two jobs is forgotten: the next job gets another. */
  #hire(): Worker {
    const worker = new Worker(this.#file, { name: "store" });
    const forget = (): void => {
      if (this.#worker === worker) this.#worker = undefined;
    };
    return worker.on("online", limitYoungGeneration).on("exit", forget).on("error", forget);
  }
}
