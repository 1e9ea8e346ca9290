/** One query in a query worker: the messages between the threads, and its evaluation. */
import { parentPort } from "node:worker_threads";
import type { ClientKey } from "../../../base/fair/client-key.ts";
import { formatError } from "../../../base/error.ts";
import { collectGarbage } from "../../../base/heap.ts";
import { residentBytes } from "../../../base/resident-bytes.ts";
import { HeldSamples } from "../../../query/admission.ts";
import type { Expr } from "../../../query/ast.ts";
import { executeQuery, type QueryRequest } from "../../../query/engine.ts";
import { QueryError, type QueryErrorKind, QueryShedError } from "../../../query/errors.ts";
import { gridOf } from "../../../query/eval/grid.ts";
import { QueryRun, type QueryRunOptions } from "../../../query/eval/run.ts";
import {
  type QueryMemory,
  Reservation,
  SharedCounter,
  type SharedReservation,
} from "../../../query/memory.ts";
import { type ResponseFormat, responseParts } from "../../../query/response.ts";
import type { SelectPlan } from "./plan.ts";
import type { QueryWorkerData } from "./pool.ts";
import { OpenBlocks, PlannedStore, UnreadableBlockError } from "./planned-store.ts";

/** Response parts that a worker prepares ahead of the reader, a quarter of a megabyte each. */
const partsAhead = 16;

export interface QueryJob {
  readonly request: QueryRequest;
  readonly expr: Expr;
  readonly format: ResponseFormat;
  readonly plans: readonly SelectPlan[];
  readonly options: Pick<
    QueryRunOptions,
    | "lookbackMs"
    | "maxSamples"
    | "timeoutMs"
    | "delayedNameRemoval"
    | "typeAndUnitLabels"
    | "usesStartTimes"
    | "defaultSubqueryStepMs"
    | "maxSubqueryDepth"
  >;
  readonly perStepStats: boolean;
  /** Time spent on planning in the main thread. */
  readonly plannedMs: number;
  readonly client: ClientKey | undefined;
  readonly memory: SharedReservation;
  readonly samples: {
    readonly max: number;
    readonly all: SharedArrayBuffer;
    readonly own: SharedArrayBuffer;
  };
}

/** Messages to a worker: a new query, its cancellation, or that the reader has consumed a part. */
export type ToWorker =
  | { readonly id: number; readonly job: QueryJob }
  | { readonly id: number; readonly cancel: true }
  | { readonly id: number; readonly taken: true };

export interface FailedQuery {
  readonly message: string;
  /** Absent if the failure is not a query error but a BUG. */
  readonly kind?: QueryErrorKind;
  readonly shed?: QueryShedError["reason"];
  readonly isUnreadable: boolean;
}

/** Messages from a worker: the query is evaluated, or has failed; then the parts of its response, the last one marked. */
export type FromWorker =
  | { readonly id: number; readonly evaluated: true }
  | {
      readonly id: number;
      readonly failed: FailedQuery;
      readonly refused: QueryMemory["refused"];
    }
  | { readonly id: number; readonly part: Uint8Array; readonly isLast: boolean };

interface RunningQuery {
  readonly abort: AbortController;
  /** Parts that may be sent before the reader consumes one. */
  credit: number;
  wake: (() => void) | undefined;
}

/** Serves the main thread. Queries run concurrently, in turns. */
export function serveQueries({ cacheBytes, collectAboveBytes }: QueryWorkerData): void {
  const port = parentPort;
  if (port === null) throw new Error("BUG: serveQueries outside of a worker thread");
  const running = new Map<number, RunningQuery>();
  const blocks = new OpenBlocks(cacheBytes);
  const send = (message: FromWorker): void => {
    if ("part" in message) port.postMessage(message, [message.part.buffer as ArrayBuffer]);
    else port.postMessage(message);
  };
  const serve = async (id: number, job: QueryJob): Promise<void> => {
    const query: RunningQuery = {
      abort: new AbortController(),
      credit: partsAhead,
      wake: undefined,
    };
    running.set(id, query);
    const memory = Reservation.openShared(job.memory);
    try {
      const result = await evaluate(job, memory, blocks, query.abort.signal);
      send({ id, evaluated: true });
      await sendParts(id, responseParts(result, job.format), query, send);
    } catch (thrown) {
      send({ id, failed: describeFailure(thrown), refused: memory.refused });
    } finally {
      running.delete(id);
      blocks.closeUnused();
      if ((residentBytes() ?? 0) > collectAboveBytes) setImmediate(collectGarbage);
    }
  };
  port.on("message", (message: ToWorker) => {
    if ("job" in message) return void serve(message.id, message.job);
    const query = running.get(message.id);
    if (query === undefined) return;
    if ("cancel" in message) query.abort.abort();
    else query.credit++;
    query.wake?.();
  });
}

async function evaluate(
  job: QueryJob,
  memory: Reservation,
  blocks: OpenBlocks,
  signal: AbortSignal,
): ReturnType<typeof executeQuery> {
  const { request, expr, samples, client, plannedMs } = job;
  const { query, startMs, endMs, stepMs } = request;
  const options: QueryRunOptions = {
    ...job.options,
    samples: new HeldSamples(
      samples.max,
      new SharedCounter(samples.all),
      new SharedCounter(samples.own),
    ),
    memory,
    nowMs: () => performance.now(),
    signal,
    client,
  };
  const steps = stepMs === 0 ? 1 : gridOf(startMs, endMs, stepMs).count;
  const store = new PlannedStore(job.plans, blocks, client);
  const run = new QueryRun(query, store, options, steps, job.perStepStats);
  const result = await executeQuery({ run, expr, request });
  const { selectMs } = result.stats;
  return { ...result, stats: { ...result.stats, selectMs: selectMs + plannedMs } };
}

/** Generates one part ahead, to mark the last one when it is sent. Waits for the reader if it has no credit left. */
async function sendParts(
  id: number,
  parts: Generator<Buffer, void>,
  query: RunningQuery,
  send: (message: FromWorker) => void,
): Promise<void> {
  const { signal } = query.abort;
  let next = parts.next();
  while (next.done !== true && !signal.aborted) {
    const part = next.value;
    next = parts.next();
    while (query.credit === 0 && !signal.aborted)
      await new Promise<void>((resolve) => (query.wake = resolve));
    query.credit--;
    send({ id, part, isLast: next.done === true });
    // Yields to other queries, and to a cancellation.
    if (next.done !== true) await new Promise((resolve) => setImmediate(resolve));
  }
}

function describeFailure(thrown: unknown): FailedQuery {
  const isUnreadable = isCausedByBlock(thrown);
  if (!(thrown instanceof QueryError)) return { message: formatError(thrown), isUnreadable };
  const shed = thrown instanceof QueryShedError ? { shed: thrown.reason } : {};
  return { message: thrown.message, kind: thrown.kind, ...shed, isUnreadable };
}

const isCausedByBlock = (thrown: unknown): boolean =>
  thrown instanceof UnreadableBlockError ||
  (thrown instanceof Error && thrown.cause instanceof UnreadableBlockError);
