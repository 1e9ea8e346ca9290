/**
 * Work per second of a subject, from a PromQL query. If the query takes the rate of a counter, the rate is the counter's
 * increase over the time between its samples: never extrapolated to before the first of them, never averaged over the window of
 * `rate()`, and without the time in which the counter was reset or not sampled.
 */
import {
  GAP_DISTANCES,
  meanOf,
  usualDistance,
  weighReadings,
} from "../../runs/compare/distribution.ts";
import type { RunSeries } from "../../runs/compare/series.ts";
import type { WorkIn } from "../../runs/compare/windows.ts";
import { gpu } from "../../model/catalogue/index.ts";
import { labelValue, withLabels, type LabelSet } from "../../model/labels.ts";
import type { Expr, VectorSelector } from "../../query/ast.ts";
import { createEngine } from "../../query/engine.ts";
import { print } from "../../query/format.ts";
import { MemoryStore } from "../../query/memory-store.ts";
import { parse } from "../../query/parse/parse.ts";
import type { MatrixSeries } from "../../query/result.ts";
import type { Queryable } from "../../model/select.ts";
import { readSamples, stepMsFor, type SampleHistory, type SampleSeries } from "./samples.ts";

export interface WorkSubject {
  readonly kind: "gpu" | "host";
  readonly name: string;
  /** Host of a GPU, if ambiguous: two hosts may report one uuid. */
  readonly host?: string;
  readonly fromMs: number;
  readonly toMs: number;
}

/** True if a series may belong to the subject: its host matches or is missing. */
export function isOfHost({ host }: Pick<WorkSubject, "host">, labels: LabelSet): boolean {
  return host === undefined || (labelValue(labels, "host") ?? host) === host;
}

export interface WorkOptions {
  readonly history: SampleHistory;
  /** PromQL whose value is work per second; absent: the simulator's own counter, if present. */
  readonly workQuery?: string;
  readonly workUnit?: string;
  readonly signal?: AbortSignal;
}

export interface WorkSeries {
  readonly workIn: WorkIn;
  readonly workRate?: NonNullable<RunSeries["workRate"]>;
}

/** Reads a sample beyond each end of the range, so that a counter's increase covers it from end to end. */
const MARGIN_MS = 60_000;
/** Lookback for gauges of the query: a longer one would continue series that have ended. */
const LOOKBACK_MS = 15_000;
const engine = createEngine();

export async function readWork(subject: WorkSubject, options: WorkOptions): Promise<WorkSeries> {
  const { kind, name, fromMs, toMs } = subject;
  const given = options.workQuery?.trim() ?? "";
  const label = kind === "gpu" ? "uuid" : "host";
  const query = given === "" ? ownCounter(subject) : given;
  const unit = options.workUnit ?? (given === "" ? "H200-ms" : "units");
  const { series, readings } = await rates(query, subject, options);
  const own = series.filter(
    ({ labels }) => labelValue(labels, label) === name && isOfHost(subject, labels),
  );
  if (own.length === 0) {
    const why =
      given === ""
        ? "no work counter set"
        : series.length === 0
          ? "the work query has no result in this range"
          : series.some(({ labels }) => labelValue(labels, label) !== undefined)
            ? `the work query has no result for this ${kind === "gpu" ? "GPU" : "host"}`
            : `the work query's series have no ${label} label`;
    return { workIn: () => ({ why }) };
  }
  const stepMs = stepMsFor({ fromMs, toMs });
  return {
    workIn: (startMs, endMs) => {
      let rate = 0;
      for (const { times, values } of own) {
        const found = weighReadings(times, values, startMs, endMs, stepMs);
        if (found === undefined)
          return { why: "the work query has no result in a part of this range" };
        rate += meanOf(found);
      }
      return { amount: (rate * (endMs - startMs)) / 1_000, unit };
    },
    workRate: { ...sum(own), readings },
  };
}

/** Real GPUs expose no work counter; the simulator's loads `stress` and `work` do. */
function ownCounter({ kind, name, host }: WorkSubject): string {
  const label = kind === "gpu" ? "uuid" : "host";
  const matchers = [
    `${label}=${JSON.stringify(name)}`,
    ...(host === undefined ? [] : [`host=${JSON.stringify(host)}`]),
  ];
  return `sum by (${label}) (max by (host, uuid) (rate(${gpu.work.name}{${matchers.join()}}[1m])))`;
}

/** Evaluates the query in every cell of the range, at the middle of the cell. */
async function rates(
  query: string,
  { fromMs, toMs }: WorkSubject,
  { history, signal }: WorkOptions,
): Promise<{ readonly series: readonly MatrixSeries[]; readonly readings: number }> {
  const stepMs = stepMsFor({ fromMs, toMs });
  const counters: VectorSelector[] = [];
  const expr = withoutRates(parse(query), counters);
  const store = new MemoryStore();
  let readings = Number.POSITIVE_INFINITY;
  for (const [at, counter] of counters.entries()) {
    const range = { fromMs: fromMs - MARGIN_MS, toMs: toMs + MARGIN_MS };
    const found = await readSamples(history, counter.matchers, "counter", range, signal);
    for (const series of found) addRate(store, rateName(at), series, fromMs, toMs, stepMs);
    readings = Math.min(readings, ...found.map(({ timeMs }) => within(timeMs, fromMs, toMs)));
  }
  const limits = { lookbackMs: Math.max(LOOKBACK_MS, stepMs), ...(signal && { signal }) };
  const first = fromMs + stepMs;
  if (first > toMs) return { series: [], readings };
  const { data } =
    counters.length === 0
      ? await history.range(query, first, toMs, stepMs, limits)
      : await engine.range(print(expr), first, toMs, stepMs, beside(store, history), limits);
  const found = data.type === "matrix" ? data.series : [];
  const series = found.map((one) => ({ ...one, times: one.times.map((at) => at - stepMs / 2) }));
  return { series, readings };
}

const within = (timeMs: Float64Array, fromMs: number, toMs: number): number =>
  timeMs.filter((at) => at >= fromMs && at <= toMs).length;

const rateName = (at: number): string => `gpulse_compare_rate_${at}`;

/** Replaces rates in the expression by precomputed series; their counters are appended to `counters`. */
function withoutRates(expr: Expr, counters: VectorSelector[]): Expr {
  const inside = (one: Expr): Expr => withoutRates(one, counters);
  switch (expr.kind) {
    case "call": {
      const [ranged] = expr.args;
      if (!isRate(expr.name) || ranged?.kind !== "matrix" || isShifted(ranged.selector))
        return { ...expr, args: expr.args.map(inside) };
      const name = rateName(counters.push(ranged.selector) - 1);
      const matchers = [{ name: "__name__", op: "=" as const, value: name }];
      const rate: Expr = { ...ranged.selector, name, matchers };
      if (expr.name !== "increase") return rate;
      const seconds = { kind: "number", value: ranged.rangeMs / 1_000, duration: false } as const;
      const { span } = expr;
      return {
        kind: "paren",
        span,
        expr: { kind: "binary", op: "*", lhs: rate, rhs: { ...seconds, span }, bool: false, span },
      };
    }
    case "aggregate":
      return {
        ...expr,
        expr: inside(expr.expr),
        ...(expr.param === undefined ? {} : { param: inside(expr.param) }),
      };
    case "binary":
      return { ...expr, lhs: inside(expr.lhs), rhs: inside(expr.rhs) };
    case "unary":
    case "paren":
      return { ...expr, expr: inside(expr.expr) };
    // Subqueries stay as they are: only the engine knows their steps. The other kinds contain no calls.
    case "subquery":
    case "matrix":
    case "vector":
    case "number":
    case "string":
      return expr;
  }
}

const isRate = (name: string): boolean => ["rate", "irate", "increase"].includes(name);

const isShifted = ({ offsetMs, offsetExpr, atMs, atEdge, anchored, smoothed }: VectorSelector) =>
  offsetMs !== 0 ||
  offsetExpr !== undefined ||
  atMs !== undefined ||
  atEdge !== undefined ||
  anchored ||
  smoothed;

/** Adds the rates per cell of the range: the counter's increase in the covered part of a cell, divided by that part. */
function addRate(
  store: MemoryStore,
  name: string,
  { labels, timeMs, values }: SampleSeries,
  fromMs: number,
  toMs: number,
  stepMs: number,
): void {
  const own = withLabels(labels, { __name__: name });
  const cells = Math.floor((toMs - fromMs) / stepMs);
  const rise = new Float64Array(cells);
  const covered = new Float64Array(cells);
  const farMs = GAP_DISTANCES * Math.max(stepMs, usualDistance(timeMs));
  for (let row = 1; row < timeMs.length; row += 1) {
    const [startMs, endMs] = [timeMs[row - 1] ?? 0, timeMs[row] ?? 0];
    const change = (values[row] ?? Number.NaN) - (values[row - 1] ?? Number.NaN);
    if (!(change >= 0) || endMs - startMs > farMs) continue;
    const last = Math.min(cells - 1, Math.floor((endMs - fromMs) / stepMs));
    for (let cell = Math.max(0, Math.floor((startMs - fromMs) / stepMs)); cell <= last; cell += 1) {
      const cellMs = fromMs + cell * stepMs;
      const ms = Math.min(endMs, cellMs + stepMs) - Math.max(startMs, cellMs);
      if (ms <= 0) continue;
      rise[cell] = (rise[cell] ?? 0) + (change * ms) / (endMs - startMs);
      covered[cell] = (covered[cell] ?? 0) + ms;
    }
  }
  covered.forEach((ms, cell) => {
    const at = fromMs + (cell + 1) * stepMs;
    if (ms > 0) store.append(own, at, (1_000 * (rise[cell] ?? 0)) / ms);
    else if ((covered[cell - 1] ?? 0) > 0) store.append(own, at, 0, true);
  });
}

const beside = (rateStore: MemoryStore, history: SampleHistory): Queryable => ({
  select: async (matchers, ...range) => {
    const found = await rateStore.select(matchers, range[0], range[1]);
    return found.length > 0 ? found : history.select(matchers, ...range);
  },
  labelNames: (...asked) => history.labelNames(...asked),
  labelValues: (...asked) => history.labelValues(...asked),
  series: (...asked) => history.series(...asked),
});

function sum(
  all: readonly MatrixSeries[],
): Pick<NonNullable<RunSeries["workRate"]>, "timeMs" | "values"> {
  const [first, ...others] = all;
  if (first === undefined) throw new Error("BUG: a sum of no series");
  const rest = others.map(
    ({ times, values }) => new Map(Array.from(times, (at, row) => [at, values[row] ?? 0])),
  );
  return {
    timeMs: first.times,
    values: first.values.map((value, row) =>
      rest.reduce((total, one) => total + (one.get(first.times[row] ?? 0) ?? Number.NaN), value),
    ),
  };
}
