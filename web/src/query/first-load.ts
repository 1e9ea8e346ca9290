/** The data in the HTML: the first view is drawn from it, every later one from fetched data. */
import { FIRST_LOAD_ID, type FirstLoad, type GpuWindow } from "../../../src/view/first-load.ts";
import { type DecodedFleet, decodeFleet } from "../../../src/view/live/fleet-columns.ts";
import { range } from "../view-state/time.ts";
import { alertSummary } from "./alert-summary.ts";
import { type Matrix, readNumber } from "./columns.ts";
import type { RangeResult } from "./use-range.ts";

/** The charts of the first view exist by then; a view opened later fetches newer data. */
const FORGET_AFTER_MS = 10_000;

let gpu: GpuWindow | undefined;

/** Reads the block once and removes it; undefined if the hub inlined none. */
export function readFirstLoad(): DecodedFleet | undefined {
  const element = document.querySelector(`#${FIRST_LOAD_ID}`);
  if (element === null) return undefined;
  const data = JSON.parse(element.textContent ?? "") as FirstLoad;
  element.remove();
  gpu = data.gpu;
  alertSummary.value = data.alerts;
  setTimeout(() => {
    gpu = undefined;
  }, FORGET_AFTER_MS);
  return decodeFleet(data.fleet);
}

/** Undefined unless the data covers the current range. */
function gpuInView(): GpuWindow | undefined {
  const { value: shown } = range;
  return shown.kind === "last" && shown.ms === gpu?.rangeMs ? gpu : undefined;
}

/** The metric names of the GPU with these matchers. */
export function firstMetrics(matchers: string): ReadonlySet<string> | undefined {
  const found = gpuInView();
  return found?.matchers === matchers
    ? new Set(found.series.map(({ labels }) => labels["__name__"] ?? ""))
    : undefined;
}

/** The result of these queries, if each of them is an unmodified metric of that GPU. */
export function firstAnswer(queries: readonly string[]): RangeResult | undefined {
  const found = gpuInView();
  if (found === undefined) return undefined;
  const matrices = queries.map((query) => matrixFor(query, found));
  if (!matrices.every((matrix) => matrix !== undefined)) return undefined;
  const { startMs, endMs, stepMs, nowMs, rangeMs } = found;
  return {
    matrices,
    grid: { startMs, endMs, stepMs },
    window: { fromMs: nowMs - rangeMs, toMs: nowMs },
  };
}

function matrixFor(query: string, found: GpuWindow): Matrix | undefined {
  const { matchers, startMs, endMs, stepMs } = found;
  if (!query.endsWith(`{${matchers}}`)) return undefined;
  const metric = query.slice(0, -matchers.length - 2);
  const own = found.series.filter(({ labels }) => labels["__name__"] === metric);
  if (own.length === 0) return undefined;
  const series = own.map(({ labels, values }) => ({
    labels,
    values: Float64Array.from(values, (value) =>
      typeof value === "string" ? readNumber(value) : (value ?? Number.NaN),
    ),
  }));
  return { startMs, endMs, stepMs, series, warnings: [] };
}
