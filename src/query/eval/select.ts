/** Runs every selector of a query against the store, once, before evaluation starts. */
import { type Expr, type TimeShift, type VectorSelector, withoutParens } from "../ast.ts";
import { QueryError } from "../errors.ts";
import type { Matcher, Selection } from "../../model/select.ts";
import type { QueryRun } from "./run.ts";
import { subqueryStepMs } from "./grid.ts";

interface SelectRequest {
  readonly selector: VectorSelector;
  readonly matchers: readonly Matcher[];
  readonly fromMs: number;
  readonly toMs: number;
}

export async function selectAll(
  run: QueryRun,
  expr: Expr,
  startMs: number,
  endMs: number,
): Promise<void> {
  const wanted: SelectRequest[] = [];
  collect(run, expr, startMs, endMs, 0, wanted);
  const pending = new Map<string, Promise<Selection>>();
  await Promise.all(
    wanted.map(async ({ selector, matchers, fromMs, toMs }) => {
      const key = JSON.stringify([matchers, fromMs, toMs]);
      const found = pending.get(key) ?? select(run, matchers, fromMs, toMs);
      pending.set(key, found);
      const selection = await found;
      run.selected.set(selector, selection);
      run.annotations.addFromStore(selection.warnings);
    }),
  );
}

function select(
  { queryable, options: { selects, signal, memory } }: QueryRun,
  matchers: readonly Matcher[],
  fromMs: number,
  toMs: number,
): Promise<Selection> {
  return selects === undefined
    ? queryable.select(matchers, fromMs, toMs, signal, memory)
    : selects.select(queryable, matchers, fromMs, toMs, signal, memory);
}

function collect(
  run: QueryRun,
  expr: Expr,
  startMs: number,
  endMs: number,
  depth: number,
  out: SelectRequest[],
): void {
  const { lookbackMs, maxSubqueryDepth } = run.options;
  const visit = (inner: Expr): void => collect(run, inner, startMs, endMs, depth, out);
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
      });
      return;
    }
    case "matrix": {
      const { selector } = expr;
      const [from, to] = shifted(selector, startMs, endMs);
      const before = expr.rangeMs + (selector.anchored || selector.smoothed ? lookbackMs : 0);
      const after = selector.smoothed ? lookbackMs : 0;
      out.push({ selector, matchers: selector.matchers, fromMs: from - before, toMs: to + after });
      return;
    }
    case "subquery": {
      if (depth >= maxSubqueryDepth) {
        throw new QueryError("bad_data", `subqueries are nested deeper than ${maxSubqueryDepth}`);
      }
      const [from, to] = shifted(expr, startMs, endMs);
      const stepMs = subqueryStepMs(run, expr);
      collect(run, expr.expr, from - expr.rangeMs - stepMs, to, depth + 1, out);
      return;
    }
    case "call":
      if (expr.name === "info") collectInfo(run, expr.args, startMs, endMs, depth, out);
      else expr.args.forEach(visit);
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

function shifted(shift: TimeShift, startMs: number, endMs: number): [fromMs: number, toMs: number] {
  return [(shift.atMs ?? startMs) - shift.offsetMs, (shift.atMs ?? endMs) - shift.offsetMs];
}

function collectInfo(
  run: QueryRun,
  args: readonly Expr[],
  startMs: number,
  endMs: number,
  depth: number,
  out: SelectRequest[],
): void {
  const [base] = args;
  if (base !== undefined) collect(run, withoutParens(base), startMs, endMs, depth, out);
}
