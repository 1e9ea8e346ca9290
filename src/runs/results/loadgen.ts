/**
 * Parses MLPerf LoadGen's `mlperf_log_detail.txt`: one line of JSON after `:::MLLOG` per event. `power_begin` and `power_end` are
 * the ends of the timed part, in UTC whatever the machine's time zone.
 */
import {
  type BenchmarkFigure,
  type BenchmarkResult,
  type BenchmarkWork,
  isAmount,
  type ParsedResult,
} from "./result.ts";

const marker = ":::MLLOG";
const mostErrors = 3;

/** The token rates of the offline and the server scenario. */
const tokenRates = ["result_tokens_per_second", "result_completed_tokens_per_second"];

const figureNames: Readonly<Record<string, readonly [name: string, unit: string]>> = {
  result_samples_per_second: ["samples per second", "samples/s"],
  result_completed_samples_per_sec: ["completed samples per second", "samples/s"],
  result_scheduled_samples_per_sec: ["scheduled samples per second", "samples/s"],
  result_qps_with_loadgen_overhead: ["queries per second", "queries/s"],
  result_tokens_per_second: ["tokens per second", "tokens/s"],
  result_completed_tokens_per_second: ["completed tokens per second", "tokens/s"],
  result_mean_latency_ns: ["mean latency", "ns"],
  "result_90.00_percentile_latency_ns": ["90th percentile latency", "ns"],
  "result_99.00_percentile_latency_ns": ["99th percentile latency", "ns"],
  result_first_token_mean_latency_ns: ["mean time to first token", "ns"],
  result_time_to_output_token_mean: ["mean time per output token", "ns"],
};

export function isLoadgenDetail(text: string): boolean {
  return text.trimStart().startsWith(marker);
}

/** @param text the whole file; its last line may be truncated. */
export function parseLoadgenDetail(text: string): ParsedResult {
  const events = new Map<string, unknown>();
  const errors: string[] = [];
  const lines = text.split("\n");
  for (const [at, line] of lines.entries()) {
    if (!line.startsWith(marker)) continue;
    const event = eventOf(line.slice(marker.length));
    if (event === undefined)
      return {
        problem:
          at >= lines.length - 2
            ? "it is truncated in its last line: LoadGen did not end"
            : `line ${at + 1} is not an event of LoadGen`,
      };
    if (event.isError && errors.length < mostErrors)
      errors.push(JSON.stringify(event.value).slice(0, 200));
    events.set(event.key, event.value);
  }
  return resultOf(events, errors);
}

interface LoadgenEvent {
  readonly key: string;
  readonly value: unknown;
  readonly isError: boolean;
}

function eventOf(json: string): LoadgenEvent | undefined {
  let parsed: unknown;
  try {
    parsed = JSON.parse(json);
  } catch {
    return undefined;
  }
  if (typeof parsed !== "object" || parsed === null) return undefined;
  const { key, value, metadata } = parsed as Readonly<Record<string, unknown>>;
  if (typeof key !== "string") return undefined;
  const isError =
    typeof metadata === "object" &&
    metadata !== null &&
    "is_error" in metadata &&
    metadata.is_error === true;
  return { key, value, isError };
}

function resultOf(events: ReadonlyMap<string, unknown>, errors: readonly string[]): ParsedResult {
  const mode = events.get("effective_test_mode") ?? events.get("requested_test_mode");
  if (mode === "AccuracyOnly")
    return { problem: "it is of an accuracy run, which measures no performance" };
  const [begin, end] = ["power_begin", "power_end"].map((key) => timeOf(events.get(key)));
  const queries = events.get("result_query_count");
  if (begin === undefined || end === undefined || queries === undefined)
    return { problem: "it is truncated: the end of the performance run is missing" };
  if (end <= begin) return { problem: "its power_end is not after its power_begin" };
  const perQuery = events.get("generated_samples_per_query");
  if (!isAmount(queries) || !isAmount(perQuery))
    return { problem: "it counts no completed queries" };
  const scenario = textOf(events.get("effective_scenario"), "unknown scenario");
  const result: BenchmarkResult = {
    tool: `MLPerf LoadGen (${scenario})`,
    work: workOf(events, queries * perQuery, (end - begin) / 1_000),
    window: [begin, end],
    phases: [{ name: "measured by LoadGen", startMs: begin, endMs: end }],
    figures: figuresOf(events),
    notes: [
      ...(events.get("result_validity") === "VALID"
        ? []
        : [
            `LoadGen calls this run ${textOf(events.get("result_validity"), "unfinished")}: it meets not all of MLPerf's conditions.`,
          ]),
      ...errors.map((message) => `LoadGen reported an error: ${message}`),
    ],
  };
  return result;
}

const textOf = (value: unknown, otherwise: string): string =>
  typeof value === "string" ? value.slice(0, 40) : otherwise;

/** Tokens come first if they are counted: LoadGen writes their rate over the window, not their number. */
function workOf(
  events: ReadonlyMap<string, unknown>,
  samples: number,
  seconds: number,
): readonly BenchmarkWork[] {
  const rate = tokenRates.map((key) => events.get(key)).find(isAmount);
  const counted = { amount: samples, unit: "samples" };
  return rate === undefined
    ? [counted]
    : [{ amount: Math.round(rate * seconds), unit: "tokens" }, counted];
}

const figuresOf = (events: ReadonlyMap<string, unknown>): readonly BenchmarkFigure[] =>
  Object.entries(figureNames).flatMap(([key, [name, unit]]) => {
    const value = events.get(key);
    return typeof value === "number" && Number.isFinite(value) ? [{ name, value, unit }] : [];
  });

/** `11-18-2026 08:48:54.916`, month first. */
function timeOf(value: unknown): number | undefined {
  const [, month, day, year, time] =
    /^(\d\d)-(\d\d)-(\d{4}) (\d\d:\d\d:\d\d(?:\.\d{1,9})?)$/.exec(String(value)) ?? [];
  const timeMs = Date.parse(`${year}-${month}-${day}T${time}Z`);
  return Number.isNaN(timeMs) ? undefined : timeMs;
}
