/**
 * The worker threads that evaluate large queries. They start with the first query, run several concurrently, and end
 * when idle, which frees their heap. A lost worker fails its queries and is replaced with the next query.
 */
import { Worker } from "node:worker_threads";
import { formatError } from "../../../base/error.ts";
import { limitYoungGeneration } from "../../../base/heap.ts";
import type { Log } from "../../../base/log.ts";
import { executionError, QueryError, QueryShedError } from "../../../query/errors.ts";
import { findWorkerFile } from "../../../base/worker-thread.ts";
import type { QueryMemory } from "../../../query/memory.ts";
import type { StoreOptions, StoreStats } from "../options.ts";
import type { FailedQuery, FromWorker, QueryJob, ToWorker } from "./job.ts";

/** A dashboard refreshes every 5 to 30 s; starting a worker takes a tenth of a second. */
const idleMs = 30_000;
/** A worker checks the time every few milliseconds. One without a response this long after the deadline is stuck. */
const stuckMs = 10_000;

export interface QueryWorkerData {
  /** Memory for decompressed pages of blocks. */
  readonly cacheBytes: number;
  /** Resident memory of the process from which garbage is collected after each query. */
  readonly collectAboveBytes: number;
}

export interface QueryPoolOptions extends QueryWorkerData {
  readonly file: string;
  readonly size: number;
  readonly log: Log;
}

/** The outcome of a query: a response, complete or in parts, or an unreadable block. */
export type PoolResponse = Buffer | AsyncIterable<Buffer> | "unreadable";

interface PendingQuery {
  readonly isStreaming: boolean;
  receive(message: FromWorker): void;
  fail(error: Error): void;
}

interface PoolWorker {
  readonly thread: Worker;
  readonly queries: Map<number, PendingQuery>;
  idle: NodeJS.Timeout | undefined;
  isOnline: boolean;
}

/** The workers' share of the memory for decompressed columns. */
const cacheShare = 0.25;

/** Returns undefined if no workers are configured, or if the worker file is missing. */
export function openQueryPool({
  queryWorkers,
  memoryBytes,
  log,
}: Pick<StoreOptions, "queryWorkers" | "memoryBytes" | "log">): QueryPool | undefined {
  const { count: size, file = findWorkerFile("query-worker.js") } = queryWorkers ?? { count: 0 };
  if (size === 0 || file === undefined) return undefined;
  return new QueryPool({
    file,
    size,
    cacheBytes: (memoryBytes * cacheShare) / size,
    collectAboveBytes: queryWorkers?.collectAboveBytes ?? Infinity,
    log,
  });
}

export class QueryPool {
  readonly #options: QueryPoolOptions;
  readonly #workers = new Set<PoolWorker>();
  #nextId = 0;
  #lost = 0;

  constructor(options: QueryPoolOptions) {
    this.#options = options;
  }

  get stats(): StoreStats["queryWorkers"] {
    return { running: this.#workers.size, queries: this.#nextId, lost: this.#lost };
  }

  /** Starts a worker if there is none. Returns true if one is online. */
  prepare(): boolean {
    if (this.#workers.size === 0) this.#rest(this.#start());
    for (const { isOnline } of this.#workers) if (isOnline) return true;
    return false;
  }

  /** @param settled called once, when the worker has read and evaluated everything, or will not */
  run(
    job: QueryJob,
    signal: AbortSignal | undefined,
    settled: (refused?: QueryMemory["refused"]) => void,
  ): Promise<PoolResponse> {
    const worker = this.#pick();
    clearTimeout(worker.idle);
    const id = this.#nextId++;
    const post = (message: ToWorker): void => worker.thread.postMessage(message);
    return new Promise<PoolResponse>((resolve, reject) => {
      const stream = new PartStream(() => post({ id, taken: true }));
      let isEvaluated = false;
      const stuck = setTimeout(
        () => this.#lose(worker, new Error("it does not answer")),
        job.options.timeoutMs + stuckMs,
      ).unref();
      const onAbort = (): void => {
        post({ id, cancel: true });
        // The worker does not report that it has sent all parts.
        if (isEvaluated) end();
      };
      const settle = (refused?: QueryMemory["refused"]): void => {
        clearTimeout(stuck);
        isEvaluated = true;
        settled(refused);
      };
      const end = (): void => {
        signal?.removeEventListener("abort", onAbort);
        worker.queries.delete(id);
        this.#rest(worker);
      };
      worker.queries.set(id, {
        get isStreaming() {
          return isEvaluated;
        },
        receive: (message) => {
          if ("evaluated" in message) return settle();
          if ("failed" in message) {
            if (!isEvaluated) settle(message.refused);
            end();
            const error = errorOf(message.failed);
            stream.fail(error);
            return message.failed.isUnreadable ? resolve("unreadable") : reject(error);
          }
          const part = Buffer.from(
            message.part.buffer,
            message.part.byteOffset,
            message.part.length,
          );
          if (message.isLast) end();
          if (message.isLast && stream.isUnused) return resolve(part);
          stream.push(part, message.isLast);
          resolve(stream.parts(onAbort));
        },
        fail: (error) => {
          if (!isEvaluated) settle();
          end();
          stream.fail(error);
          reject(error);
        },
      });
      signal?.addEventListener("abort", onAbort);
      post({ id, job });
      if (signal?.aborted === true) onAbort();
    });
  }

  async close(): Promise<void> {
    await Promise.all(
      [...this.#workers].map(async (worker) => {
        this.#forget(worker, new QueryError("canceled", "query was canceled: the store closes"));
        await worker.thread.terminate();
      }),
    );
  }

  /** Returns the worker with the fewest queries; starts another one if all are busy and the pool has room. */
  #pick(): PoolWorker {
    const [least] = [...this.#workers].sort((a, b) => a.queries.size - b.queries.size);
    if (
      least !== undefined &&
      (least.queries.size === 0 || this.#workers.size >= this.#options.size)
    )
      return least;
    return this.#start();
  }

  #start(): PoolWorker {
    const { file, cacheBytes, collectAboveBytes } = this.#options;
    const workerData: QueryWorkerData = { cacheBytes, collectAboveBytes };
    const thread = new Worker(file, { name: "query", workerData });
    const worker: PoolWorker = { thread, queries: new Map(), idle: undefined, isOnline: false };
    this.#workers.add(worker);
    thread
      .on("online", () => {
        limitYoungGeneration();
        worker.isOnline = true;
      })
      .on("message", (message: FromWorker) => worker.queries.get(message.id)?.receive(message))
      .on("error", (error) => this.#lose(worker, error))
      .on("exit", () => this.#lose(worker, new Error("it has ended")))
      .unref();
    return worker;
  }

  #rest(worker: PoolWorker): void {
    if (worker.queries.size > 0 || !this.#workers.has(worker)) return;
    clearTimeout(worker.idle);
    worker.idle = setTimeout(() => {
      this.#workers.delete(worker);
      void worker.thread.terminate();
    }, idleMs).unref();
  }

  #lose(worker: PoolWorker, error: Error): void {
    if (!this.#workers.has(worker)) return;
    this.#lost++;
    this.#options.log.error("a query worker was lost and is replaced", {
      failedQueries: worker.queries.size,
      error: formatError(error),
    });
    this.#forget(
      worker,
      executionError(
        `the query worker was lost (${formatError(error)}): try again, or narrow the selector, shorten the range or enlarge the step`,
      ),
    );
    void worker.thread.terminate();
  }

  #forget(worker: PoolWorker, error: Error): void {
    this.#workers.delete(worker);
    clearTimeout(worker.idle);
    worker.queries.forEach((query) => query.fail(error));
  }
}

/** Received parts that the reader has not consumed. */
class PartStream {
  readonly #taken: () => void;
  readonly #parts: Buffer[] = [];
  #isUnused = true;
  #hasAll = false;
  #error: Error | undefined;
  #wake: (() => void) | undefined;

  constructor(taken: () => void) {
    this.#taken = taken;
  }

  get isUnused(): boolean {
    return this.#isUnused;
  }

  push(part: Buffer, isLast: boolean): void {
    this.#isUnused = false;
    this.#parts.push(part);
    this.#hasAll = isLast;
    this.#wake?.();
  }

  fail(error: Error): void {
    this.#error = error;
    this.#wake?.();
  }

  /** @param left called if the reader stops before the end */
  async *parts(left: () => void): AsyncGenerator<Buffer, void> {
    try {
      for (;;) {
        const part = this.#parts.shift();
        if (part !== undefined) {
          this.#taken();
          yield part;
        } else if (this.#hasAll) return;
        else if (this.#error !== undefined) throw this.#error;
        else await new Promise<void>((resolve) => (this.#wake = resolve));
      }
    } finally {
      if (!this.#hasAll) left();
    }
  }
}

function errorOf({ message, kind, shed }: FailedQuery): Error {
  if (shed !== undefined) return new QueryShedError(message, shed);
  return kind === undefined ? new Error(message) : new QueryError(kind, message);
}
