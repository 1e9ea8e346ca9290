/** Estimates the cost of a query before it runs, to choose its thread. Nanoseconds, measured on one core of 2.4 GHz. */
import { childrenOf, type Expr } from "../ast.ts";
import type { SelectRequest } from "./select.ts";

/** Decoding one sample. */
const sampleNs = 6;
/** Selecting or computing one value of one series at one step. */
const stepNs = 25;
/** Processing one sample of one window. */
const windowNs = 8;
/** Writing one value of the result as JSON. */
const pointNs = 300;
/** Finding one series. */
const seriesNs = 2_000;

/** The expected size of a selection, without reading samples. */
export interface SelectionSize {
  readonly series: number;
  /** Samples of one series, on average. */
  readonly samples: number;
}

/** Approximate milliseconds. */
export function estimateMs(
  expr: Expr,
  requests: readonly SelectRequest[],
  sizeOf: (request: SelectRequest) => SelectionSize,
): number {
  const perPointNs = isAggregated(expr) ? 0 : pointNs;
  let ns = 0;
  for (const request of requests) {
    const { series, samples } = sizeOf(request);
    const { steps, rangeMs, fromMs, toMs } = request;
    const perWindow = rangeMs === 0 ? 0 : (samples * rangeMs) / Math.max(1, toMs - fromMs);
    const perSeries = samples * sampleNs + steps * (stepNs + perPointNs + perWindow * windowNs);
    ns += series * (seriesNs + perSeries);
  }
  return ns / 1e6;
}

/** True if the expression calls `info`, which selects from the store during evaluation. */
export function selectsLater(expr: Expr): boolean {
  return (expr.kind === "call" && expr.name === "info") || childrenOf(expr).some(selectsLater);
}

/** True if the result has few series, however many are selected. */
function isAggregated(expr: Expr): boolean {
  return expr.kind === "aggregate" || childrenOf(expr).some(isAggregated);
}
