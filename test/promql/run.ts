/** Runs a script's commands on an engine and says, for each eval, whether it answered as expected. */
import { compact, type Histogram } from "../../src/model/histogram/histogram.ts";
import { labelKey, type LabelSet } from "../../src/model/labels.ts";
import type { Queryable } from "../../src/model/select.ts";
import { ParseError } from "../../src/query/errors.ts";
import type { Engine } from "../../src/query/engine.ts";
import { printLabels, metricName } from "../../src/query/labels.ts";
import { printHistogram } from "../../src/query/number.ts";
import { MemoryStore } from "../../src/query/memory-store.ts";
import type { MatrixSeries, QueryData, QueryResult } from "../../src/query/result.ts";
import type { BatchStart } from "../../src/formats/samples/batch.ts";
import { customBucketSeries } from "./custom-buckets.ts";
import { readScript, type Command, type EvalCommand, type Expectation } from "./script.ts";

export interface CaseResult {
  readonly line: number;
  readonly query: string;
  /** Touches native histograms, which the hub's store and other engines do not hold. */
  readonly native: boolean;
  readonly problem?: string | undefined;
}

export type ScriptEngine = Pick<Engine, "instant" | "range">;

/** What a script's samples are loaded into. */
export interface ScriptStore extends Queryable {
  append(labels: LabelSet, timeMs: number, value: number, stale?: boolean): void;
  appendHistogram(labels: LabelSet, timeMs: number, histogram: Histogram): void;
  /** The start time of a sample; a store without start times has no such method. */
  start?(labels: LabelSet, start: Omit<BatchStart, "series">): void;
  /** What was loaded can be read. */
  settle?(): Promise<void>;
  close?(): Promise<void>;
}

export interface RunSettings {
  /** A plain one in memory unless another is given. */
  readonly openStore?: () => Promise<ScriptStore>;
  /** Whether warnings and infos count; engines of another age have others. */
  readonly annotations?: boolean;
  /** The form in which expected histograms are compared, for engines that return the populated buckets only. */
  readonly formOf?: (histogram: Histogram) => Histogram;
}

export async function runScript(
  text: string,
  engine: ScriptEngine,
  settings: RunSettings = {},
): Promise<CaseResult[]> {
  const results: CaseResult[] = [];
  const openStore = settings.openStore ?? (async () => new MemoryStore());
  let store: ScriptStore = await openStore();
  let nativeNames = new Set<string>();
  for (const command of readScript(text)) {
    if (command.kind === "clear") {
      await store.close?.();
      store = await openStore();
      nativeNames = new Set();
    } else if (command.kind === "load") {
      load(command, store, nativeNames);
      await store.settle?.();
    } else {
      const native = touchesNative(command, nativeNames);
      results.push({
        line: command.line,
        query: command.query,
        native,
        problem: await runEval(adapted(command, settings), engine, store),
      });
    }
  }
  await store.close?.();
  return results;
}

function adapted(command: EvalCommand, { annotations, formOf }: RunSettings): EvalCommand {
  const expectations =
    annotations === false
      ? command.expectations.filter(({ type }) => !/warn|info/.test(type))
      : command.expectations;
  if (formOf === undefined) return { ...command, expectations };
  const series = command.series.map((line) => ({
    ...line,
    points: line.points.map(
      (point) => point && { ...point, histogram: point.histogram && formOf(point.histogram) },
    ),
  }));
  return { ...command, expectations, series };
}

function load(
  command: Extract<Command, { kind: "load" }>,
  store: ScriptStore,
  nativeNames: Set<string>,
): void {
  const native = command.alsoNative ? customBucketSeries(command.series) : [];
  for (const { labels, points, starts } of [...command.series, ...native]) {
    const name = metricName(labels);
    for (const [index, point] of points.entries()) {
      if (point === undefined) continue;
      const timeMs = index * command.gapMs;
      const { histogram } = point;
      if (histogram === undefined) store.append(labels, timeMs, point.value, point.stale);
      else {
        nativeNames.add(name);
        store.appendHistogram(labels, timeMs, histogram);
      }
      const start = starts?.[index];
      if (start !== undefined)
        store.start?.(labels, { startMs: timeMs + start, sampleMs: timeMs, histogram });
    }
  }
}

function touchesNative(command: EvalCommand, names: ReadonlySet<string>): boolean {
  if (command.series.some(({ points }) => points.some((point) => point?.histogram !== undefined)))
    return true;
  if ([...names].some((name) => new RegExp(`(?<![\\w:])${name}(?![\\w:])`).test(command.query)))
    return true;
  return names.size > 0 && /(?:^|[(\s])\{/.test(command.query);
}

async function runEval(
  command: EvalCommand,
  engine: ScriptEngine,
  store: ScriptStore,
): Promise<string | undefined> {
  const { query, startMs, endMs, stepMs, expectations } = command;
  const failures = expectations.filter(({ type }) => type === "fail");
  let result: QueryResult;
  try {
    result =
      stepMs === 0
        ? await engine.instant(query, startMs, store)
        : await engine.range(query, startMs, endMs, stepMs, store);
  } catch (thrown) {
    const message = thrown instanceof Error ? thrown.message : String(thrown);
    if (failures.length === 0) return `failed: ${message}`;
    if (thrown instanceof Error && thrown.message.startsWith("BUG")) return message;
    return failures.every((failure) => fits(failure, message))
      ? undefined
      : `failed otherwise: ${message}`;
  }
  if (failures.length > 0) return "did not fail";
  return (
    checkAnnotations(expectations, result) ??
    compare(command, result.data) ??
    (await asRange(command, engine, store))
  );
}

/** The sentence alone, without its place in the query and the details of its occurrences. */
function bare(annotation: string): string {
  return annotation.replace(/(?:, from buckets .*)? \(\d+:\d+\)$/, "");
}

/** Our scripts expect the sentence alone, Prometheus's also its place. */
const fitsAnnotation = (expected: Expectation, text: string): boolean =>
  fits(expected, text) || fits(expected, bare(text));

function fits({ message, regex }: Expectation, text: string): boolean {
  if (message !== undefined) return message === text;
  return regex === undefined || regex.test(text);
}

function checkAnnotations(
  expectations: readonly Expectation[],
  result: QueryResult,
): string | undefined {
  for (const [type, got] of [
    ["warn", result.warnings],
    ["info", result.infos],
  ] as const) {
    const wanted = expectations.filter((one) => one.type === type);
    if (expectations.some((one) => one.type === `no_${type}`) && got.length > 0)
      return `unexpected ${type}: ${got[0]}`;
    for (const one of wanted)
      if (!got.some((text) => fitsAnnotation(one, text)))
        return `missing ${type}; got ${got.join(" | ")}`;
    if (wanted.length > 0) {
      const stray = got.find((text) => !wanted.some((one) => fitsAnnotation(one, text)));
      if (stray !== undefined) return `unexpected ${type}: ${stray}`;
    }
  }
  return undefined;
}

function compare(command: EvalCommand, data: QueryData): string | undefined {
  if (data.type === "string")
    return data.value === command.string ? undefined : `got string ${data.value}`;
  if (data.type === "scalar") {
    return command.scalar !== undefined && almostEqual(data.value, command.scalar)
      ? undefined
      : `got scalar ${data.value}`;
  }
  if (data.type === "matrix") return compareMatrix(command, data.series);
  if (command.scalar !== undefined) return "got a vector";
  const samples = data.samples;
  const got = new Map(
    samples.map((sample, index) => [labelKey(sample.labels), { ...sample, index }]),
  );
  for (const [index, { labels, points }] of command.series.entries()) {
    const sample = got.get(labelKey(labels));
    if (sample === undefined)
      return `missing ${printLabels(labels)}; got ${samples.map((s) => printLabels(s.labels)).join(" ")}`;
    const difference = differenceOf(points[0], sample);
    if (difference !== undefined) return `${printLabels(labels)}: ${difference}`;
    if (command.expectations.some(({ type }) => type === "ordered") && sample.index !== index) {
      return `${printLabels(labels)} is at place ${sample.index}, wanted ${index}`;
    }
  }
  if (samples.length === command.series.length) return undefined;
  return `wanted ${command.series.length} series, got ${samples.map((s) => `${printLabels(s.labels)} ${s.value}`).join(", ")}`;
}

/** What a point is, of either kind. */
interface AnyPoint {
  readonly value: number;
  readonly histogram?: Histogram | undefined;
}

const shown = ({ value, histogram }: AnyPoint): string =>
  histogram === undefined ? String(value) : `${printHistogram(histogram)} ${histogram.resetHint}`;

function differenceOf(wanted: AnyPoint | undefined, got: AnyPoint): string | undefined {
  const point = wanted ?? { value: Number.NaN };
  const isSame =
    point.histogram === undefined || got.histogram === undefined
      ? point.histogram === got.histogram && almostEqual(point.value, got.value)
      : almostEqualHistograms(compact(point.histogram), compact(got.histogram));
  return isSame ? undefined : `wanted ${shown(point)}, got ${shown(got)}`;
}

/** A script that says nothing of a reset takes any hint, as Prometheus's own runner does. */
function almostEqualHistograms(a: Histogram, b: Histogram): boolean {
  const same = (x: ArrayLike<number>, y: ArrayLike<number>): boolean =>
    x.length === y.length &&
    Array.from(x).every((value, at) => almostEqual(value, y[at] ?? Number.NaN));
  return (
    (a.resetHint === "unknown" || a.resetHint === b.resetHint) &&
    a.schema === b.schema &&
    same(
      [a.count, a.sum, a.zeroCount, a.zeroThreshold],
      [b.count, b.sum, b.zeroCount, b.zeroThreshold],
    ) &&
    same(a.bounds, b.bounds) &&
    same(a.positive.indexes, b.positive.indexes) &&
    same(a.positive.counts, b.positive.counts) &&
    same(a.negative.indexes, b.negative.indexes) &&
    same(a.negative.counts, b.negative.counts)
  );
}

function compareMatrix(command: EvalCommand, series: readonly MatrixSeries[]): string | undefined {
  const start = command.rangeVector?.startMs ?? command.startMs;
  const step = command.rangeVector?.stepMs ?? command.stepMs;
  const got = new Map(series.map((one) => [labelKey(one.labels), one]));
  for (const { labels, points } of command.series) {
    const one = got.get(labelKey(labels));
    if (one === undefined)
      return `missing ${printLabels(labels)}; got ${series.map((s) => printLabels(s.labels)).join(" ")}`;
    const wanted = points.flatMap((point, index) =>
      point === undefined || point.stale ? [] : [{ ...point, timeMs: start + index * step }],
    );
    const all = pointsOf(one);
    const text = all.map((point) => `${point.timeMs / 1000}:${shown(point)}`).join(" ");
    if (wanted.length !== all.length)
      return `${printLabels(labels)}: wanted ${wanted.length} points, got ${text}`;
    for (const [index, point] of wanted.entries()) {
      const found = all[index];
      if (found?.timeMs !== point.timeMs)
        return `${printLabels(labels)}: wanted a point at ${point.timeMs}, got ${text}`;
      const difference = differenceOf(point, found);
      if (difference !== undefined)
        return `${printLabels(labels)} at ${point.timeMs}: ${difference}`;
    }
  }
  return series.length === command.series.length
    ? undefined
    : `got ${series.length} series, wanted ${command.series.length}`;
}

/** Floats and histograms in order of time. */
function pointsOf({ times, values, histograms = [] }: MatrixSeries): (AnyPoint & {
  readonly timeMs: number;
})[] {
  const floats = Array.from(times, (timeMs, at) => ({ timeMs, value: values[at] ?? Number.NaN }));
  const native = histograms.map((point) => ({ ...point, value: Number.NaN }));
  return [...floats, ...native].sort((a, b) => a.timeMs - b.timeMs);
}

/** An instant answer is also the middle of a range of three. */
async function asRange(
  command: EvalCommand,
  engine: ScriptEngine,
  store: ScriptStore,
): Promise<string | undefined> {
  const { startMs, stepMs, query } = command;
  if (stepMs !== 0 || command.rangeVector !== undefined || command.string !== undefined)
    return undefined;
  if (command.expectations.some(({ type }) => type === "ordered")) return undefined;
  if (/\b(?:start|end|range|step)\(\)/i.test(query)) return undefined;
  try {
    const { data } = await engine.range(query, startMs - 60_000, startMs + 60_000, 60_000, store);
    if (data.type !== "matrix") return "a range query gave no matrix";
    const middle = data.series.flatMap((one) =>
      pointsOf(one)
        .filter(({ timeMs }) => timeMs === startMs)
        .map((point) => ({ ...point, labels: one.labels })),
    );
    const only = middle[0];
    const seen: QueryData =
      command.scalar !== undefined && only !== undefined
        ? { type: "scalar", timeMs: startMs, value: only.value }
        : { type: "vector", samples: middle };
    const problem = compare(command, seen);
    return problem === undefined ? undefined : `as a range: ${problem}`;
  } catch (thrown) {
    if (thrown instanceof ParseError || /invalid expression type/.test(String(thrown)))
      return undefined;
    return `as a range: ${thrown instanceof Error ? thrown.message : String(thrown)}`;
  }
}

/** Prometheus's own tolerance: a millionth. */
function almostEqual(a: number, b: number): boolean {
  if (Number.isNaN(a) && Number.isNaN(b)) return true;
  if (a === b) return true;
  const smallest = 2.2250738585072014e-308;
  const sum = Math.abs(a) + Math.abs(b);
  const difference = Math.abs(a - b);
  if (a === 0 || b === 0 || sum < smallest) return difference < 1e-6 * smallest;
  return difference / Math.min(sum, Number.MAX_VALUE) < 1e-6;
}
