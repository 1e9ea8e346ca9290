/** Reads PromQL test scripts: load, clear, and eval commands in Prometheus's published format. Runs nothing. */
import { labelKey, labelSet, type LabelSet } from "../../src/model/labels.ts";
import type { Expr } from "../../src/query/ast.ts";
import { readDurationMs } from "../../src/query/number.ts";
import { parse } from "../../src/query/parse/parse.ts";
import { unquote } from "../../src/query/quote.ts";
import { type InputPoint, readPoints } from "../../src/alerting/unit-tests/points.ts";

export interface SeriesLine {
  readonly labels: LabelSet;
  /** A gap is undefined. */
  readonly points: readonly (InputPoint | undefined)[];
  /** How many milliseconds after each sample its start time is, mostly less than 0. */
  readonly starts?: readonly (number | undefined)[] | undefined;
}

export interface Expectation {
  readonly type: "fail" | "warn" | "info" | "no_warn" | "no_info" | "ordered";
  readonly message?: string | undefined;
  readonly regex?: RegExp | undefined;
}

export interface EvalCommand {
  readonly kind: "eval";
  readonly line: number;
  readonly query: string;
  readonly startMs: number;
  readonly endMs: number;
  /** 0: an instant query. */
  readonly stepMs: number;
  readonly expectations: readonly Expectation[];
  readonly series: readonly SeriesLine[];
  readonly scalar?: number | undefined;
  readonly string?: string | undefined;
  /** The times of an expected range vector. */
  readonly rangeVector?: { startMs: number; stepMs: number } | undefined;
}

export type Command =
  | { readonly kind: "clear"; readonly line: number }
  | {
      readonly kind: "load";
      readonly line: number;
      readonly gapMs: number;
      readonly series: readonly SeriesLine[];
      /** The classic histograms are also wanted as native ones. */
      readonly alsoNative: boolean;
    }
  | EvalCommand;

export function readScript(text: string): Command[] {
  const lines = text.split("\n").map((line) => (line.trim().startsWith("#") ? "" : line.trim()));
  const commands: Command[] = [];
  for (let index = 0; index < lines.length; index++) {
    const first = lines[index] ?? "";
    if (first === "") continue;
    const block: string[] = [];
    const line = index + 1;
    if (first.startsWith("clear")) {
      commands.push({ kind: "clear", line });
      continue;
    }
    while ((lines[index + 1] ?? "") !== "") block.push(lines[++index] ?? "");
    try {
      commands.push(
        first.startsWith("load") ? readLoad(first, block, line) : readEval(first, block, line),
      );
    } catch (cause) {
      throw new Error(`line ${line}: ${cause instanceof Error ? cause.message : String(cause)}`, {
        cause,
      });
    }
  }
  return commands;
}

function readLoad(first: string, block: readonly string[], line: number): Command {
  const gap = /^load(?:_with_nhcb)?\s+(\S+)/.exec(first)?.[1] ?? "";
  // Of two lines for one series the second counts.
  const series = new Map<string, SeriesLine>();
  let starts: SeriesLine["starts"];
  for (const entry of block) {
    const found = /^\S*@st\s+(.+)$/.exec(entry);
    if (found === null) {
      const read = readSeries(entry);
      series.set(labelKey(read.labels), { ...read, starts });
    }
    starts = found === null ? undefined : readStarts(found[1] ?? "");
  }
  return {
    kind: "load",
    line,
    gapMs: durationMs(gap),
    series: [...series.values()],
    alsoNative: first.startsWith("load_with_nhcb"),
  };
}

/** `-1m` one start, `-1mx2` three of them, `-30s-1mx2` -30s -90s -150s, `_` none, `_x3` three times none. */
function readStarts(text: string): (number | undefined)[] {
  return text.split(/\s+/).flatMap((item) => {
    const gaps = /^_(?:x(\d+))?$/.exec(item);
    if (gaps !== null) return Array.from({ length: Number(gaps[1] ?? 1) }, () => undefined);
    const [, first, step = "0", repeats = "0"] =
      /^([+-]?\w+?)([+-]\w+?)?(?:x(\d+))?$/.exec(item) ?? [];
    if (first === undefined) throw new Error(`not a start time: ${item}`);
    return Array.from(
      { length: Number(repeats) + 1 },
      (_, index) => durationMs(first) + index * durationMs(step),
    );
  });
}

function readEval(first: string, block: readonly string[], line: number): EvalCommand {
  const instant = /^eval(?:_(fail|warn|ordered|info))?\s+instant\s+at\s+(\S+)\s+(.+)$/.exec(first);
  const range =
    /^eval(?:_(fail|warn|info))?\s+range\s+from\s+(\S+)\s+to\s+(\S+)\s+step\s+(\S+)\s+(.+)$/.exec(
      first,
    );
  if (instant === null && range === null) throw new Error(`cannot read ${first}`);
  const flag = instant?.[1] ?? range?.[1];
  const times =
    instant === null
      ? {
          startMs: durationMs(range?.[2] ?? ""),
          endMs: durationMs(range?.[3] ?? ""),
          stepMs: durationMs(range?.[4] ?? ""),
        }
      : { startMs: durationMs(instant[2] ?? ""), endMs: durationMs(instant[2] ?? ""), stepMs: 0 };
  const expectations: Expectation[] =
    flag === undefined ? [] : [{ type: flag as Expectation["type"] }];
  const series: SeriesLine[] = [];
  let scalar: number | undefined;
  let text: string | undefined;
  let rangeVector: EvalCommand["rangeVector"];
  for (const entry of block) {
    const vector = /^expect range vector from (\S+) to \S+ step (\S+)/.exec(entry);
    const string = /^expect string (.+)$/.exec(entry);
    const failure = /^expected_fail_(message|regexp)\s+(.+)$/.exec(entry);
    if (vector !== null)
      rangeVector = { startMs: durationMs(vector[1] ?? ""), stepMs: durationMs(vector[2] ?? "") };
    else if (string !== null) text = unquote(string[1] ?? '""');
    else if (failure !== null) expectations.push(failureOf(failure[1] ?? "", failure[2] ?? ""));
    else if (entry.startsWith("expect ")) expectations.push(readExpectation(entry));
    else if (/^[-+]?(?:[\d.]|inf|nan)\S*$/i.test(entry)) scalar = scalarOf(entry);
    else series.push(readSeries(entry));
  }
  const query = instant?.[3] ?? range?.[5] ?? "";
  return {
    kind: "eval",
    line,
    query,
    ...times,
    expectations,
    series,
    scalar,
    string: text,
    rangeVector,
  };
}

function failureOf(kind: string, text: string): Expectation {
  return kind === "message"
    ? { type: "fail", message: text }
    : { type: "fail", regex: new RegExp(text) };
}

function readExpectation(entry: string): Expectation {
  const match =
    /^expect\s+(fail|warn|info|no_warn|no_info|ordered)(?:\s+(msg|regex):\s*(.+))?$/.exec(entry);
  if (match === null) throw new Error(`cannot read ${entry}`);
  const type = match[1] as Expectation["type"];
  if (match[2] === "msg") return { type, message: match[3] };
  return match[2] === "regex" ? { type, regex: new RegExp(match[3] ?? "") } : { type };
}

function scalarOf(entry: string): number | undefined {
  const [point] = readPoints(entry);
  return point?.value;
}

export function readSeries(entry: string): SeriesLine {
  const end = seriesEnd(entry);
  return { labels: labelsOf(entry.slice(0, end).trim()), points: readPoints(entry.slice(end)) };
}

/** Where the labels stop and the points begin. */
function seriesEnd(entry: string): number {
  let at = /^[A-Za-z0-9_:]*/.exec(entry)?.[0].length ?? 0;
  const brace = /^\s*\{(?!\{)/.exec(entry.slice(at));
  if (brace === null) return at;
  let mark = "";
  for (at += brace[0].length; at < entry.length; at++) {
    const char = entry[at] ?? "";
    if (mark !== "" && char === "\\") at++;
    else if (mark !== "") mark = char === mark ? "" : mark;
    else if (char === '"' || char === "'" || char === "`") mark = char;
    else if (char === "}") return at + 1;
  }
  throw new Error(`open brace in ${entry}`);
}

function labelsOf(text: string): LabelSet {
  if (/^\{\s*\}$/.test(text)) return [];
  const expr: Expr = parse(text);
  if (expr.kind !== "vector") throw new Error(`not a series: ${text}`);
  return labelSet(Object.fromEntries(expr.matchers.map(({ name, value }) => [name, value])));
}

function durationMs(text: string): number {
  const negative = text.startsWith("-");
  const body = text.replace(/^[+-]/, "");
  const ms = body === "0" ? 0 : (readDurationMs(body) ?? Number(body) * 1000);
  if (Number.isNaN(ms)) throw new Error(`not a duration: ${text}`);
  return negative ? -ms : ms;
}
