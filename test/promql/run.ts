/** Runs a script's commands on an engine and says, for each eval, whether it answered as expected. */
import { labelKey } from "../../src/model/labels.ts";
import { ParseError } from "../../src/query/errors.ts";
import type { Engine } from "../../src/query/engine.ts";
import { printLabels, metricName } from "../../src/query/labels.ts";
import { MemoryStore } from "../../src/query/memory-store.ts";
import type { MatrixSeries, QueryData, QueryResult } from "../../src/query/result.ts";
import { readScript, type Command, type EvalCommand, type Expectation } from "./script.ts";

export interface CaseResult {
  readonly line: number;
  readonly query: string;
  /** Touches native histograms, which the store does not keep. */
  readonly native: boolean;
  readonly problem?: string | undefined;
}

export type ScriptEngine = Pick<Engine, "instant" | "range">;

export interface RunSettings {
  /** Whether warnings and infos count; engines of another age have others. */
  readonly annotations?: boolean;
}

export async function runScript(
  text: string,
  engine: ScriptEngine,
  settings: RunSettings = {},
): Promise<CaseResult[]> {
  const results: CaseResult[] = [];
  let store = new MemoryStore();
  let nativeNames = new Set<string>();
  for (const command of readScript(text)) {
    if (command.kind === "clear") {
      store = new MemoryStore();
      nativeNames = new Set();
    } else if (command.kind === "load") {
      load(command, store, nativeNames);
    } else {
      const native = touchesNative(command, nativeNames);
      results.push({
        line: command.line,
        query: command.query,
        native,
        problem: await runEval(
          settings.annotations === false ? withoutAnnotations(command) : command,
          engine,
          store,
        ),
      });
    }
  }
  return results;
}

function withoutAnnotations(command: EvalCommand): EvalCommand {
  const expectations = command.expectations.filter(({ type }) => !/warn|info/.test(type));
  return { ...command, expectations };
}

function load(
  command: Extract<Command, { kind: "load" }>,
  store: MemoryStore,
  nativeNames: Set<string>,
): void {
  for (const { labels, points } of command.series) {
    const name = metricName(labels);
    if (command.alsoNative) nativeNames.add(name.replace(/_(?:bucket|sum|count)$/, ""));
    for (const [index, point] of points.entries()) {
      if (point.native === true) nativeNames.add(name);
      else if (point.stale === true) store.append(labels, index * command.gapMs, 0, true);
      else if (point.value !== undefined) store.append(labels, index * command.gapMs, point.value);
    }
  }
}

function touchesNative(command: EvalCommand, names: ReadonlySet<string>): boolean {
  if (command.series.some(({ points }) => points.some((point) => point.native))) return true;
  if ([...names].some((name) => new RegExp(`(?<![\\w:])${name}(?![\\w:])`).test(command.query)))
    return true;
  return names.size > 0 && /(?:^|[(\s])\{/.test(command.query);
}

async function runEval(
  command: EvalCommand,
  engine: ScriptEngine,
  store: MemoryStore,
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

/** Scripts expect the sentence alone, without its place in the query and the details of its occurrences. */
function bare(annotation: string): string {
  return annotation.replace(/(?:, from buckets .*)? \(\d+:\d+\)$/, "");
}

function fits({ message, regex }: Expectation, text: string): boolean {
  if (message !== undefined) return message === text;
  return regex === undefined || regex.test(text);
}

function checkAnnotations(
  expectations: readonly Expectation[],
  result: QueryResult,
): string | undefined {
  for (const [type, shown] of [
    ["warn", result.warnings],
    ["info", result.infos],
  ] as const) {
    const got = shown.map(bare);
    const wanted = expectations.filter((one) => one.type === type);
    if (expectations.some((one) => one.type === `no_${type}`) && got.length > 0)
      return `unexpected ${type}: ${got[0]}`;
    for (const one of wanted)
      if (!got.some((text) => fits(one, text))) return `missing ${type}; got ${got.join(" | ")}`;
    if (wanted.length > 0) {
      const stray = got.find((text) => !wanted.some((one) => fits(one, text)));
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
    const wanted = points[0]?.value ?? Number.NaN;
    const sample = got.get(labelKey(labels));
    if (sample === undefined)
      return `missing ${printLabels(labels)}; got ${samples.map((s) => printLabels(s.labels)).join(" ")}`;
    if (!almostEqual(wanted, sample.value))
      return `${printLabels(labels)}: wanted ${wanted}, got ${sample.value}`;
    if (command.expectations.some(({ type }) => type === "ordered") && sample.index !== index) {
      return `${printLabels(labels)} is at place ${sample.index}, wanted ${index}`;
    }
  }
  if (samples.length === command.series.length) return undefined;
  return `wanted ${command.series.length} series, got ${samples.map((s) => `${printLabels(s.labels)} ${s.value}`).join(", ")}`;
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
      point.value === undefined ? [] : [[start + index * step, point.value] as const],
    );
    const shown = [...one.times]
      .map((time, index) => `${time / 1000}:${one.values[index]}`)
      .join(" ");
    if (wanted.length !== one.times.length)
      return `${printLabels(labels)}: wanted ${wanted.length} points, got ${shown}`;
    for (const [index, [time, value]] of wanted.entries()) {
      if (one.times[index] !== time)
        return `${printLabels(labels)}: wanted a point at ${time}, got ${shown}`;
      if (!almostEqual(value, one.values[index] ?? Number.NaN))
        return `${printLabels(labels)}: wanted ${value} at ${time}, got ${shown}`;
    }
  }
  return series.length === command.series.length
    ? undefined
    : `got ${series.length} series, wanted ${command.series.length}`;
}

/** An instant answer is also the middle of a range of three. */
async function asRange(
  command: EvalCommand,
  engine: ScriptEngine,
  store: MemoryStore,
): Promise<string | undefined> {
  const { startMs, stepMs, query } = command;
  if (stepMs !== 0 || command.rangeVector !== undefined || command.string !== undefined)
    return undefined;
  if (command.expectations.some(({ type }) => type === "ordered")) return undefined;
  if (/\b(?:start|end|range|step)\(\)/i.test(query)) return undefined;
  try {
    const { data } = await engine.range(query, startMs - 60_000, startMs + 60_000, 60_000, store);
    if (data.type !== "matrix") return "a range query gave no matrix";
    const middle = data.series.flatMap(({ labels, times, values }) => {
      const at = times.indexOf(startMs);
      return at < 0 ? [] : [{ labels, timeMs: startMs, value: values[at] ?? 0 }];
    });
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
