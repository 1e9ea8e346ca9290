/**
 * A worker thread for jobs too long for the main thread. It starts with the first job, runs one job at a time and is
 * terminated when idle, which frees its heap and the memory it shares with its last job.
 */
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import {
  parentPort,
  type ResourceLimits,
  type TransferListItem,
  Worker,
} from "node:worker_threads";
import { formatError, systemCode } from "./error.ts";
import { limitYoungGeneration } from "./heap.ts";

export interface WorkerThreadOptions {
  /** Found with `findWorkerFile`. */
  readonly file: string;
  readonly name: string;
  readonly idleMs: number;
  /** A job that takes longer fails and ends the thread; no limit if absent. */
  readonly jobTimeoutMs?: number;
  readonly resourceLimits?: ResourceLimits;
  /** `workerData` in the thread. */
  readonly data?: unknown;
}

/** The thread's reply to a job. */
interface JobReply<Result> {
  readonly done?: Result;
  readonly failed?: { readonly message: string; readonly code: string | undefined };
}

/** The job threw in the thread. Any other error means that the thread itself was lost. */
export class WorkerJobError extends Error {
  readonly code: string | undefined;

  constructor(message: string, code: string | undefined) {
    super(message);
    this.code = code;
  }
}

/** The worker file is beside the executable; this code may be in the executable itself or in a chunk one folder down. */
export function findWorkerFile(name: string): string | undefined {
  return [`./${name}`, `../${name}`]
    .map((place) => fileURLToPath(new URL(place, import.meta.url)))
    .find((file) => existsSync(file));
}

export class WorkerThread<Job, Result> {
  readonly #options: WorkerThreadOptions;
  #worker: Worker | undefined;
  #idle: NodeJS.Timeout | undefined;
  #last: Promise<unknown> = Promise.resolve();

  constructor(options: WorkerThreadOptions) {
    this.#options = options;
  }

  /** Jobs run in the order of the calls. */
  run(job: Job, transfer: readonly TransferListItem[] = []): Promise<Result> {
    const result = this.#last.then(() => this.#run(job, transfer));
    const ignore = (): void => {};
    this.#last = result.then(ignore, ignore);
    return result;
  }

  /** Starts the thread ahead of its first job. */
  prepare(): void {
    if (this.#worker !== undefined) return;
    this.#worker = this.#start();
    this.#worker.unref();
    this.#startIdleTimer();
  }

  /** Waits for the jobs that were passed to `run`. */
  async close(): Promise<void> {
    await this.#last;
    await this.terminate();
  }

  #run(job: Job, transfer: readonly TransferListItem[]): Promise<Result> {
    clearTimeout(this.#idle);
    const { name, jobTimeoutMs } = this.#options;
    const worker = (this.#worker ??= this.#start());
    worker.ref();
    return new Promise<Result>((resolve, reject) => {
      let timer: NodeJS.Timeout | undefined;
      // Not removeAllListeners: the worker has internal listeners, without which only one reply arrives.
      const end = (settle: () => void): void => {
        clearTimeout(timer);
        worker.off("message", onReply).off("error", onLost).off("exit", onExit);
        worker.unref();
        this.#startIdleTimer();
        settle();
      };
      const onReply = ({ done, failed }: JobReply<Result>): void =>
        end(() => {
          if (done !== undefined) resolve(done);
          else reject(new WorkerJobError(failed?.message ?? "no result", failed?.code));
        });
      const onLost = (error: Error): void =>
        end(() => {
          this.#worker = undefined;
          void worker.terminate();
          reject(error);
        });
      const onExit = (): void => onLost(new Error(`the ${name} worker has ended`));
      if (jobTimeoutMs !== undefined)
        timer = setTimeout(() => onLost(new Error(`the ${name} worker timed out`)), jobTimeoutMs);
      worker.on("message", onReply).on("error", onLost).on("exit", onExit);
      worker.postMessage(job, transfer);
    });
  }

  /**
   * Not inside `#run`: a timer retains its callback after it fired, and a callback created there would retain the job, up to a
   * whole head.
   */
  #startIdleTimer(): void {
    this.#idle = setTimeout(() => void this.terminate(), this.#options.idleMs).unref();
  }

  /** Ends the thread immediately: a running job fails. */
  async terminate(): Promise<void> {
    clearTimeout(this.#idle);
    const worker = this.#worker;
    this.#worker = undefined;
    await worker?.terminate();
  }

  /** A thread that dies between two jobs is replaced with the next job. */
  #start(): Worker {
    const { file, name, resourceLimits, data } = this.#options;
    const worker = new Worker(file, {
      name,
      workerData: data,
      ...(resourceLimits && { resourceLimits }),
    });
    const forget = (): void => {
      if (this.#worker === worker) this.#worker = undefined;
    };
    return worker.on("online", limitYoungGeneration).on("exit", forget).on("error", forget);
  }
}

/** Runs in the thread: replies to each job with its result, moving the buffers of `transfer`, or with its error. */
export function serveJobs<Result>(
  run: (job: never) => Result | Promise<Result>,
  transfer: (result: Result) => readonly TransferListItem[] = () => [],
): void {
  const port = parentPort;
  if (port === null) throw new Error("BUG: serveJobs outside of a worker thread");
  const answer = async (job: never): Promise<void> => {
    try {
      const done = await run(job);
      port.postMessage({ done } satisfies JobReply<Result>, transfer(done));
    } catch (thrown) {
      const failed = { message: formatError(thrown), code: systemCode(thrown) };
      port.postMessage({ failed } satisfies JobReply<Result>);
    }
  };
  port.on("message", (job: unknown) => void answer(job as never));
}
