/** The query engine: parses, selects from the store, evaluates, shapes the result. Holds no data and no query's state. */
import { performance } from "node:perf_hooks";
import type { ClientKey } from "../base/fair/client-key.ts";
import { QueryAdmission } from "./admission.ts";
import { withoutParens, type Expr } from "./ast.ts";
import { typeOf } from "./check.ts";
import { executionError, QueryError } from "./errors.ts";
import { evaluate } from "./eval/evaluate.ts";
import { gridOf, timeAt } from "./eval/grid.ts";
import { prepare } from "./eval/prepare.ts";
import { QueryRun, type QueryRunOptions } from "./eval/run.ts";
import { selectAll } from "./eval/select.ts";
import { parse } from "./parse/parse.ts";
import { bytesOfPoints, QueryMemory, type Reservation } from "./memory.ts";
import type { QueryData, QueryResult } from "./result.ts";
import { matrixOf, rangeData, vectorData } from "./shape.ts";
import type { SharedSelects } from "./shared-selects.ts";
import type { Queryable } from "../model/select.ts";

export interface EngineOptions {
  readonly lookbackMs?: number | undefined;
  readonly timeoutMs?: number | undefined;
  /** Samples one query may hold in memory. */
  readonly maxSamples?: number | undefined;
  /** The memory that queries share; by default 900 MB for one query and twice that for all. */
  readonly memory?: QueryMemory | undefined;
  /** Queries that run at once; more wait. */
  readonly maxConcurrent?: number | undefined;
  /** Samples all running queries may hold together. */
  readonly maxSamplesTogether?: number | undefined;
  /** Points one series of a range query may have. */
  readonly maxPointsPerSeries?: number | undefined;
  readonly defaultSubqueryStepMs?: number | undefined;
  readonly maxSubqueryDepth?: number | undefined;
  /** Names go when the whole query is done, not function by function. */
  readonly delayedNameRemoval?: boolean | undefined;
  readonly typeAndUnitLabels?: boolean | undefined;
  readonly nowMs?: (() => number) | undefined;
}

export interface QueryOptions {
  readonly lookbackMs?: number | undefined;
  readonly timeoutMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly perStepStats?: boolean | undefined;
  /** The client. Absent for the hub's own queries, which go before those of clients. */
  readonly client?: ClientKey | undefined;
  /** How long it may wait for a slot; as long as it may take where absent. */
  readonly patienceMs?: number | undefined;
  /** What the query and its result may hold. The caller closes it; absent: the hub's own, closed when the query is done. */
  readonly reservation?: Reservation | undefined;
  /** What queries at the same instant have selected already. */
  readonly selects?: SharedSelects | undefined;
}

export interface Engine {
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
  const admission = new QueryAdmission({
    maxConcurrent: options.maxConcurrent ?? 20,
    maxSamplesTogether: options.maxSamplesTogether ?? 2 * maxSamples,
  });
  const settings = (own: QueryOptions): QueryRunOptions => ({
    lookbackMs: own.lookbackMs ?? options.lookbackMs ?? 5 * minute,
    // A query may ask for less time, never for more.
    timeoutMs: Math.min(own.timeoutMs ?? mostMs, mostMs),
    maxSamples,
    memory: own.reservation ?? memory.open(own.client?.principal),
    admission,
    delayedNameRemoval: options.delayedNameRemoval ?? true,
    typeAndUnitLabels: options.typeAndUnitLabels ?? false,
    defaultSubqueryStepMs: options.defaultSubqueryStepMs ?? minute,
    maxSubqueryDepth: options.maxSubqueryDepth ?? 10,
    nowMs: options.nowMs ?? (() => performance.now()),
    signal: own.signal,
    client: own.client,
    patienceMs: own.patienceMs,
    selects: own.selects,
  });
  return {
    async instant(query, timeMs, queryable, own = {}) {
      const expr = prepare(parse(query), { startMs: timeMs, endMs: timeMs, stepMs: 0 });
      const run = new QueryRun(query, queryable, settings(own), 1, own.perStepStats ?? false);
      return admitted(run, own, () => execute(run, expr, timeMs, timeMs, 0));
    },
    async range(query, startMs, endMs, stepMs, queryable, own = {}) {
      if (!(stepMs > 0)) {
        const problem =
          "zero or negative query resolution step widths are not accepted. Try a positive integer";
        throw new QueryError("bad_data", problem);
      }
      if (endMs < startMs)
        throw new QueryError("bad_data", "end timestamp must not be before start time");
      if ((endMs - startMs) / stepMs > maxPoints) {
        const problem = `exceeded maximum resolution of ${maxPoints.toLocaleString("en-US")} points per timeseries.`;
        throw new QueryError(
          "bad_data",
          `${problem} Try decreasing the query resolution (?step=XX)`,
        );
      }
      const parsed = parse(query);
      const type = typeOf(parsed);
      if (type !== "vector" && type !== "scalar") {
        const got = type === "matrix" ? "range vector" : type;
        const problem = `invalid expression type "${got}" for range query, must be Scalar or instant Vector`;
        throw new QueryError("bad_data", problem);
      }
      const expr = prepare(parsed, { startMs, endMs, stepMs });
      const steps = gridOf(startMs, endMs, stepMs).count;
      const run = new QueryRun(query, queryable, settings(own), steps, own.perStepStats ?? false);
      return admitted(run, own, () => execute(run, expr, startMs, endMs, stepMs));
    },
  };
}

async function admitted(
  run: QueryRun,
  { reservation }: QueryOptions,
  work: () => Promise<QueryResult>,
): Promise<QueryResult> {
  const { admission, memory, timeoutMs, signal, client, patienceMs } = run.options;
  const leave = await admission.enter(Math.min(timeoutMs, patienceMs ?? Infinity), signal, client);
  try {
    const result = await work();
    // Of all that was made only the result is left.
    memory.shrinkTo(bytesOfResult(result.data));
    return result;
  } catch (thrown) {
    memory.close();
    throw thrown;
  } finally {
    if (reservation === undefined) memory.close();
    run.release(run.heldSamples);
    leave();
  }
}

function bytesOfResult(data: QueryData): number {
  if (data.type === "vector") return bytesOfPoints(data.samples.length, data.samples.length);
  if (data.type !== "matrix") return 0;
  // Values may be a part of a larger array.
  const points = data.series.reduce((sum, { values }) => sum + values.buffer.byteLength / 8, 0);
  return bytesOfPoints(data.series.length, points);
}

async function execute(
  run: QueryRun,
  expr: Expr,
  startMs: number,
  endMs: number,
  stepMs: number,
): Promise<QueryResult> {
  const { nowMs } = run.options;
  const began = nowMs();
  await run.breathe();
  await selectForQuery(run, expr, startMs, endMs);
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

/** A failure of the store fails the query, with the store's message. */
async function selectForQuery(
  run: QueryRun,
  expr: Expr,
  startMs: number,
  endMs: number,
): Promise<void> {
  try {
    await selectAll(run, expr, startMs, endMs);
  } catch (thrown) {
    if (thrown instanceof QueryError) throw thrown;
    if (run.options.signal?.aborted === true) {
      throw new QueryError("canceled", "query was canceled in expression evaluation", {
        cause: thrown,
      });
    }
    const why = thrown instanceof Error ? thrown.message : String(thrown);
    throw executionError(`expanding series: ${why}`);
  }
}
