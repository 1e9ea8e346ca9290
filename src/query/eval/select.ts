/** Runs every selector of a query against the store, once, before evaluation starts. */
import {
  type Call,
  type Expr,
  type MatrixSelector,
  type TimeShift,
  type VectorSelector,
  withoutParens,
} from "../ast.ts";
import { QueryError } from "../errors.ts";
import {
  type Matcher,
  type RollupFunction,
  rollupFunctions,
  type SelectHint,
  type Selection,
} from "../../model/select.ts";
import type { QueryRun } from "./run.ts";
import { gridOf, subqueryStepMs } from "./grid.ts";
import { startTimeFunctions, startTimesBySeries } from "./start-times.ts";
import { onlyStartTimes } from "../../model/start-times.ts";
import type { QueryTimes } from "./prepare.ts";
import { selectorsOfTotals, withTotalsOnly } from "./totals-only.ts";

export interface SelectRequest {
  readonly selector: VectorSelector;
  readonly matchers: readonly Matcher[];
  readonly fromMs: number;
  readonly toMs: number;
  /** The selector's own range; 0 for an instant vector. */
  readonly rangeMs: number;
  /** Number of evaluation steps. */
  readonly steps: number;
  /** Absent if only raw samples can be used. */
  readonly hint?: SelectHint | undefined;
  /** True for the start times of the selected series. */
  readonly ofStartTimes?: boolean;
}

/** Equal for selectors that select the same samples. */
export const selectKey = (
  matchers: readonly Matcher[],
  fromMs: number,
  toMs: number,
  hint: SelectHint | undefined,
): string => JSON.stringify([matchers, fromMs, toMs, hint]);

/** The store requests of the query's selectors. */
export function selectRequests(run: QueryRun, expr: Expr, times: QueryTimes): SelectRequest[] {
  const requests: SelectRequest[] = [];
  collect(run, expr, times, 0, requests);
  return requests;
}

export async function selectAll(run: QueryRun, expr: Expr, times: QueryTimes): Promise<void> {
  const pending = new Map<string, Promise<Selection>>();
  const ofTotals = selectorsOfTotals(expr);
  const requests = selectRequests(run, expr, times);
  await Promise.all(
    requests.map(async (request) => {
      if (request.ofStartTimes !== true) return;
      const found = startTimesBySeries(await select(run, request));
      if (found.size > 0) run.startTimes.set(request.selector, found);
    }),
  );
  await Promise.all(
    requests.map(async (asked) => {
      if (asked.ofStartTimes === true) return;
      // Rollups contain no start times.
      const request = run.startTimes.has(asked.selector) ? { ...asked, hint: undefined } : asked;
      const { selector, matchers, fromMs, toMs, hint } = request;
      const key = selectKey(matchers, fromMs, toMs, hint);
      const found = pending.get(key) ?? select(run, request);
      pending.set(key, found);
      const selection = await found;
      run.selected.set(
        selector,
        ofTotals.has(selector) ? withTotalsOnly(selection, fromMs) : selection,
      );
      run.annotations.addFromStore(selection);
    }),
  );
}

function select(
  { queryable, options: { selects, signal, memory } }: QueryRun,
  { matchers, fromMs, toMs, hint }: SelectRequest,
): Promise<Selection> {
  return selects === undefined
    ? queryable.select(matchers, fromMs, toMs, signal, memory, hint)
    : selects.select(queryable, matchers, fromMs, toMs, signal, memory, hint);
}

function collect(
  run: QueryRun,
  expr: Expr,
  times: QueryTimes,
  depth: number,
  out: SelectRequest[],
): void {
  const { lookbackMs, maxSubqueryDepth } = run.options;
  const { startMs, endMs, stepMs } = times;
  const visit = (inner: Expr): void => collect(run, inner, times, depth, out);
  const steps = gridOf(startMs, endMs, stepMs).count;
  switch (expr.kind) {
    case "number":
    case "string":
      return;
    case "vector": {
      const [from, to] = shifted(expr, startMs, endMs);
      const after = expr.smoothed ? lookbackMs : 0;
      out.push({
        selector: expr,
        matchers: expr.matchers,
        fromMs: from - lookbackMs,
        toMs: to + after,
        rangeMs: 0,
        steps,
      });
      return;
    }
    case "matrix":
      out.push(matrixRequest(run, expr, times, undefined));
      return;
    case "subquery": {
      if (depth >= maxSubqueryDepth) {
        throw new QueryError("bad_data", `subqueries are nested deeper than ${maxSubqueryDepth}`);
      }
      const [from, to] = shifted(expr, startMs, endMs);
      const innerStepMs = subqueryStepMs(run, expr);
      const inner = {
        startMs: from - expr.rangeMs - innerStepMs,
        endMs: to,
        stepMs: innerStepMs,
      };
      collect(run, expr.expr, inner, depth + 1, out);
      return;
    }
    case "call":
      if (expr.name === "info") collectInfo(run, expr.args, times, depth, out);
      else
        for (const arg of expr.args) {
          const first = out.length;
          const range = withoutParens(arg);
          if (range.kind === "matrix") out.push(matrixRequest(run, range, times, expr));
          else visit(arg);
          const isSelector = range.kind === "matrix" || range.kind === "vector";
          if (isSelector && run.options.usesStartTimes && startTimeFunctions.has(expr.name))
            out.push(...out.slice(first).map(forStartTimes));
        }
      return;
    case "aggregate":
      if (expr.param !== undefined) visit(expr.param);
      visit(expr.expr);
      return;
    case "binary":
      visit(expr.lhs);
      visit(expr.rhs);
      return;
    case "unary":
    case "paren":
      visit(expr.expr);
  }
}

const forStartTimes = (request: SelectRequest): SelectRequest => ({
  ...request,
  matchers: [...request.matchers, onlyStartTimes],
  hint: undefined,
  ofStartTimes: true,
});

/** @param call the function of the range; undefined if the samples themselves are the result */
function matrixRequest(
  run: QueryRun,
  { selector, rangeMs }: MatrixSelector,
  { startMs, endMs, stepMs }: QueryTimes,
  call: Call | undefined,
): SelectRequest {
  const { lookbackMs } = run.options;
  const [from, to] = shifted(selector, startMs, endMs);
  const isExtended = selector.anchored || selector.smoothed;
  const steps = gridOf(startMs, endMs, stepMs).count;
  const request = {
    selector,
    matchers: selector.matchers,
    fromMs: from - rangeMs - (isExtended ? lookbackMs : 0),
    toMs: to + (selector.smoothed ? lookbackMs : 0),
    rangeMs,
    steps,
  };
  if (isExtended || call === undefined || !isRollupFunction(call.name)) return request;
  const hint = {
    function: call.name,
    firstEndMs: from,
    stepMs: steps === 1 || selector.atMs !== undefined ? 0 : stepMs,
    rangeMs,
  };
  const isHeeded = run.queryable.heeds?.(hint, request.fromMs, request.toMs) === true;
  return isHeeded ? { ...request, hint } : request;
}

const isRollupFunction = (name: string): name is RollupFunction =>
  (rollupFunctions as readonly string[]).includes(name);

function shifted(shift: TimeShift, startMs: number, endMs: number): [fromMs: number, toMs: number] {
  return [(shift.atMs ?? startMs) - shift.offsetMs, (shift.atMs ?? endMs) - shift.offsetMs];
}

function collectInfo(
  run: QueryRun,
  args: readonly Expr[],
  times: QueryTimes,
  depth: number,
  out: SelectRequest[],
): void {
  const [base] = args;
  if (base !== undefined) collect(run, withoutParens(base), times, depth, out);
}
