/**
 * The query engine: parses, selects from the store, evaluates, shapes the result. It holds no data and no state of a
 * query.
 */
import type { ClientKey } from "../base/fair/client-key.ts";
import { QueryAdmission } from "./admission.ts";
import { withoutParens, type Expr } from "./ast.ts";
import { typeOf } from "./check.ts";
import { QueryError } from "./errors.ts";
import { evaluate } from "./eval/evaluate.ts";
import { gridOf, timeAt } from "./eval/grid.ts";
import { prepare, type QueryTimes } from "./eval/prepare.ts";
import { QueryRun, type QueryRunOptions } from "./eval/run.ts";
import { selectAll } from "./eval/select.ts";
import { RecentQueries } from "./parse/recent.ts";
import { bytesOfPoints, QueryMemory, type Reservation } from "./memory.ts";
import { type ResponseFormat, responseParts } from "./response.ts";
import type { QueryData, QueryResult } from "./result.ts";
import { matrixOf, rangeData, vectorData } from "./shape.ts";
import type { SharedSelects } from "./shared-selects.ts";
import type { Queryable } from "../model/select.ts";

export interface EngineOptions {
  readonly lookbackMs?: number | undefined;
  readonly timeoutMs?: number | undefined;
  /** Limit for the samples that one query holds in memory. */
  readonly maxSamples?: number | undefined;
  /** The memory that queries share; by default 900 MB for one query and twice that for all. */
  readonly memory?: QueryMemory | undefined;
  /** Number of concurrent queries; more wait. */
  readonly maxConcurrent?: number | undefined;
  /** Limit for the samples that all running queries hold together. */
  readonly maxSamplesTogether?: number | undefined;
  /** Limit for the points of one series in a range query. */
  readonly maxPointsPerSeries?: number | undefined;
  readonly defaultSubqueryStepMs?: number | undefined;
  readonly maxSubqueryDepth?: number | undefined;
  /** Drops metric names at the end of the query instead of after each function. */
  readonly delayedNameRemoval?: boolean | undefined;
  readonly typeAndUnitLabels?: boolean | undefined;
  /** Also detects counter resets from start times: Prometheus's feature flag `use-start-timestamps`. */
  readonly usesStartTimes?: boolean | undefined;
  readonly nowMs?: (() => number) | undefined;
}

export interface QueryOptions {
  readonly lookbackMs?: number | undefined;
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly perStepStats?: boolean | undefined;
  /** The client. Absent for the hub's own queries, which have priority over those of clients. */
  readonly client?: ClientKey | undefined;
  /** Maximum wait for a slot; by default the query's timeout. */
  readonly patienceMs?: number | undefined;
  /** Memory for the query and its result, closed by the caller. By default the hub's own, closed at the end of the query. */
  readonly reservation?: Reservation | undefined;
  /** Selections shared with other queries at the same time. */
  readonly selects?: SharedSelects | undefined;
}

/** An expression and its time range; `stepMs` is 0 for an instant query. */
export interface QueryRequest extends QueryTimes {
  readonly query: string;
}

/** The body of a response, complete or in parts. */
export type ResponseBody = Buffer | Iterable<Buffer> | AsyncIterable<Buffer>;

/** An admitted query that may be evaluated in another thread. */
export interface OffloadTask {
  readonly request: QueryRequest;
  /** Prepared for the request's times. */
  readonly expr: Expr;
  readonly run: QueryRun;
  readonly format: ResponseFormat;
  /** Other queries that are running now. */
  readonly others: number;
}

/** Resolves with undefined if this thread has to evaluate the query. */
export type Offload = (task: OffloadTask) => Promise<ResponseBody | undefined>;

export interface Engine {
  /** Returns the result as a response body; `offload` may evaluate the query in another thread. */
  answer(
    request: QueryRequest,
    queryable: Queryable,
    options: QueryOptions,
    format: ResponseFormat,
    offload?: Offload,
  ): Promise<ResponseBody>;
  instant(
    query: string,
    timeMs: number,
    queryable: Queryable,
    options?: QueryOptions,
  ): Promise<QueryResult>;
  range(
    query: string,
    startMs: number,
    endMs: number,
    stepMs: number,
    queryable: Queryable,
    options?: QueryOptions,
  ): Promise<QueryResult>;
}

const minute = 60_000;

export function createEngine(options: EngineOptions = {}): Engine {
  const maxPoints = options.maxPointsPerSeries ?? 11_000;
  const maxSamples = options.maxSamples ?? 50_000_000;
  const memory =
    options.memory ??
    new QueryMemory({ totalBytes: 1.8e9, perClientBytes: 1.8e9, perQueryBytes: 0.9e9 });
  const mostMs = options.timeoutMs ?? 2 * minute;
  const queries = new RecentQueries();
  const admission = new QueryAdmission({
    maxConcurrent: options.maxConcurrent ?? 20,
    maxSamplesTogether: options.maxSamplesTogether ?? 2 * maxSamples,
  });
  const settings = (own: QueryOptions): QueryRunOptions => ({
    lookbackMs: own.lookbackMs ?? options.lookbackMs ?? 5 * minute,
    // A query may shorten the timeout, but not extend it.
    timeoutMs: Math.min(own.timeoutMs ?? mostMs, mostMs),
    maxSamples,
    memory: own.reservation ?? memory.open(own.client?.principal),
    samples: admission.samples,
    delayedNameRemoval: options.delayedNameRemoval ?? true,
    typeAndUnitLabels: options.typeAndUnitLabels ?? false,
    usesStartTimes: options.usesStartTimes ?? false,
    defaultSubqueryStepMs: options.defaultSubqueryStepMs ?? minute,
    maxSubqueryDepth: options.maxSubqueryDepth ?? 10,
    nowMs: options.nowMs ?? (() => performance.now()),
    signal: own.signal,
    client: own.client,
    patienceMs: own.patienceMs,
    selects: own.selects,
  });
  const begin = (request: QueryRequest, queryable: Queryable, own: QueryOptions): BegunQuery => {
    const { query, startMs, endMs, stepMs } = request;
    const parsed = queries.parse(query);
    if (stepMs !== 0) requireRangeType(parsed);
    const expr = prepare(parsed, request);
    const steps = stepMs === 0 ? 1 : gridOf(startMs, endMs, stepMs).count;
    const run = new QueryRun(query, queryable, settings(own), steps, own.perStepStats ?? false);
    return { request, expr, run };
  };
  const admitted = async <Result>(
    { run }: BegunQuery,
    { reservation }: QueryOptions,
    work: () => Promise<Result>,
  ): Promise<Result> => {
    const { timeoutMs, signal, client, patienceMs } = run.options;
    const waitMs = Math.min(timeoutMs, patienceMs ?? Infinity);
    const leave = await admission.enter(waitMs, signal, client);
    try {
      return await work();
    } catch (thrown) {
      run.options.memory.close();
      throw thrown;
    } finally {
      if (reservation === undefined) run.options.memory.close();
      leave();
    }
  };
  const evaluateHere = (begun: BegunQuery, own: QueryOptions): Promise<QueryResult> =>
    admitted(begun, own, () => executeQuery(begun));
  return {
    async instant(query, timeMs, queryable, own = {}) {
      const request = { query, startMs: timeMs, endMs: timeMs, stepMs: 0 };
      return evaluateHere(begin(request, queryable, own), own);
    },
    async range(query, startMs, endMs, stepMs, queryable, own = {}) {
      const request = { query, startMs, endMs, stepMs };
      requireRange(request, maxPoints);
      return evaluateHere(begin(request, queryable, own), own);
    },
    async answer(request, queryable, own, format, offload) {
      if (request.stepMs !== 0) requireRange(request, maxPoints);
      const begun = begin(request, queryable, own);
      return admitted(
        begun,
        own,
        async () =>
          (await offload?.({ ...begun, format, others: admission.runningQueries - 1 })) ??
          responseParts(await executeQuery(begun), format),
      );
    },
  };
}

function requireRange({ startMs, endMs, stepMs }: QueryTimes, maxPoints: number): void {
  if (!(stepMs > 0)) {
    const problem =
      "zero or negative query resolution step widths are not accepted. Try a positive integer";
    throw new QueryError("bad_data", problem);
  }
  if (endMs < startMs)
    throw new QueryError("bad_data", "end timestamp must not be before start time");
  if ((endMs - startMs) / stepMs > maxPoints) {
    const problem = `exceeded maximum resolution of ${maxPoints.toLocaleString("en-US")} points per timeseries.`;
    throw new QueryError("bad_data", `${problem} Try decreasing the query resolution (?step=XX)`);
  }
}

function requireRangeType(parsed: Expr): void {
  const type = typeOf(parsed);
  if (type === "vector" || type === "scalar") return;
  const got = type === "matrix" ? "range vector" : type;
  const problem = `invalid expression type "${got}" for range query, must be Scalar or instant Vector`;
  throw new QueryError("bad_data", problem);
}

interface BegunQuery {
  readonly request: QueryRequest;
  readonly expr: Expr;
  readonly run: QueryRun;
}

/** Selects, evaluates and shapes the result; afterwards only the result counts against the query's memory. */
export async function executeQuery({ run, expr, request }: BegunQuery): Promise<QueryResult> {
  try {
    const result = await execute(run, expr, request);
    run.options.memory.shrinkTo(bytesOfResult(result.data));
    return result;
  } finally {
    run.release(run.heldSamples);
  }
}

function bytesOfResult(data: QueryData): number {
  if (data.type === "vector") return bytesOfPoints(data.samples.length, data.samples.length);
  if (data.type !== "matrix") return 0;
  // The values may be a part of a larger array.
  const points = data.series.reduce((sum, { values }) => sum + values.buffer.byteLength / 8, 0);
  return bytesOfPoints(data.series.length, points);
}

async function execute(run: QueryRun, expr: Expr, times: QueryTimes): Promise<QueryResult> {
  const { startMs, endMs, stepMs } = times;
  const { nowMs } = run.options;
  const began = nowMs();
  await run.breathe();
  await selectForQuery(run, expr, times);
  const selectedAt = nowMs();
  const grid = gridOf(startMs, endMs, stepMs);
  const tally = (step: number, samples: number): void => run.tally(step, samples);
  const scope = { run, grid, tally, evaluate };
  const inner = withoutParens(expr);
  const data =
    inner.kind === "matrix" || inner.kind === "subquery"
      ? await matrixOf(inner, scope)
      : stepMs === 0
        ? vectorData(await evaluate(expr, scope), startMs, scope)
        : await rangeData(await evaluate(expr, scope), scope);
  const perStep = run.samplesPerStep;
  return {
    data,
    ...run.annotations.asStrings(run.query),
    stats: {
      totalSamples: run.totalSamples,
      peakSamples: run.peakSamples,
      samplesPerStep:
        perStep && Array.from(perStep, (count, step) => [timeAt(grid, step), count] as const),
      selectMs: selectedAt - began,
      evalMs: nowMs() - selectedAt,
    },
  };
}

/** A store failure fails the query with the store's message. */
async function selectForQuery(run: QueryRun, expr: Expr, times: QueryTimes): Promise<void> {
  try {
    await selectAll(run, expr, times);
  } catch (thrown) {
    throw thrown instanceof QueryError ? thrown : selectError(run, thrown);
  }
}

/** Maps a store error to the query's error. */
export function selectError({ options }: QueryRun, thrown: unknown): QueryError {
  if (options.signal?.aborted === true) {
    return new QueryError("canceled", "query was canceled in expression evaluation", {
      cause: thrown,
    });
  }
  const why = thrown instanceof Error ? thrown.message : String(thrown);
  return new QueryError("execution", `expanding series: ${why}`, { cause: thrown });
}
