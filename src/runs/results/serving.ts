/** Parses results of LLM server benchmarks: `vllm bench serve --save-result`, guidellm and llama-bench, as JSON. */
import * as v from "valibot";
import {
  type BenchmarkFigure,
  type BenchmarkResult,
  type BenchmarkWork,
  isAmount,
  type ParsedResult,
} from "./result.ts";

const count = v.optional(v.pipe(v.number(), v.finite(), v.minValue(0)));

const vllmBench = v.looseObject({
  duration: v.pipe(v.number(), v.finite(), v.gtValue(0)),
  completed: v.pipe(v.number(), v.integer(), v.minValue(0)),
  total_input_tokens: count,
  total_output_tokens: count,
});

const totals = v.optional(
  v.looseObject({ successful: v.optional(v.looseObject({ total_sum: count, count })) }),
);
const guidellm = v.looseObject({
  benchmarks: v.pipe(
    v.array(
      v.looseObject({
        scheduler_metrics: v.looseObject({
          measure_start_time: v.pipe(v.number(), v.finite()),
          measure_end_time: v.pipe(v.number(), v.finite()),
        }),
        config: v.optional(
          v.looseObject({ strategy: v.optional(v.looseObject({ type_: v.optional(v.string()) })) }),
        ),
        metrics: v.looseObject({
          request_totals: v.optional(v.looseObject({ successful: count, errored: count })),
          prompt_token_count: totals,
          output_token_count: totals,
        }),
      }),
    ),
    v.minLength(1),
    v.maxLength(1_000),
  ),
});

const llamaBench = v.pipe(
  v.array(
    v.looseObject({
      n_prompt: v.pipe(v.number(), v.integer(), v.minValue(0)),
      n_gen: v.pipe(v.number(), v.integer(), v.minValue(0)),
      test_time: v.string(),
      samples_ns: v.pipe(v.array(v.pipe(v.number(), v.finite(), v.gtValue(0))), v.minLength(1)),
    }),
  ),
  v.minLength(1),
  v.maxLength(10_000),
);

/** @param text the whole file. */
export function parseServingResult(text: string): ParsedResult {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { problem: "it is neither a log of LoadGen nor JSON, or it is truncated" };
  }
  for (const read of [readVllmBench, readGuidellm, readLlamaBench]) {
    const result = read(value);
    if (result !== undefined) return result;
  }
  return {
    problem:
      "it is not a result of MLPerf LoadGen, vllm bench serve, guidellm or llama-bench that is understood here",
  };
}

const figure = (name: string, value: unknown, unit: string): BenchmarkFigure[] =>
  typeof value === "number" && Number.isFinite(value) ? [{ name, value, unit }] : [];

const works = (...given: readonly BenchmarkWork[]): readonly BenchmarkWork[] =>
  given.filter(({ amount }) => isAmount(amount));

/** It reports only the duration of its measurement, and prints a line when it begins. */
function readVllmBench(value: unknown): ParsedResult | undefined {
  const checked = v.safeParse(vllmBench, value);
  if (!checked.success) return undefined;
  const { duration, completed, total_input_tokens = 0, total_output_tokens = 0 } = checked.output;
  if (completed === 0) return { problem: "no request of it was completed" };
  const own = checked.output as Readonly<Record<string, unknown>>;
  return {
    tool: "vllm bench serve",
    work: works(
      { amount: total_output_tokens, unit: "tokens" },
      { amount: total_input_tokens + total_output_tokens, unit: "prompt and generated tokens" },
      { amount: completed, unit: "requests" },
    ),
    seconds: duration,
    phases: [],
    figures: [
      ...figure("mean time to first token", own["mean_ttft_ms"], "ms"),
      ...figure("99th percentile time to first token", own["p99_ttft_ms"], "ms"),
      ...figure("mean time per output token", own["mean_tpot_ms"], "ms"),
      ...figure("mean inter-token latency", own["mean_itl_ms"], "ms"),
      ...figure("goodput", own["request_goodput"] ?? own["request_goodput:"], "requests/s"),
    ],
    notes: [],
  };
}

function readGuidellm(value: unknown): ParsedResult | undefined {
  const checked = v.safeParse(guidellm, value);
  if (!checked.success) return undefined;
  const { benchmarks } = checked.output;
  const phases = benchmarks.map(({ scheduler_metrics, config }, at) => ({
    name: `${config?.strategy?.type_ ?? "benchmark"} ${at + 1}`.slice(0, 100),
    startMs: scheduler_metrics.measure_start_time * 1_000,
    endMs: scheduler_metrics.measure_end_time * 1_000,
  }));
  if (phases.some(({ startMs, endMs }) => endMs <= startMs))
    return { problem: "one of its benchmarks does not end after its start" };
  const sum = (of: (one: (typeof benchmarks)[number]["metrics"]) => number | undefined): number =>
    benchmarks.reduce((total, { metrics }) => total + (of(metrics) ?? 0), 0);
  const output = sum(({ output_token_count }) => output_token_count?.successful?.total_sum);
  const prompt = sum(({ prompt_token_count }) => prompt_token_count?.successful?.total_sum);
  const requests = sum(({ request_totals }) => request_totals?.successful);
  const errored = sum(({ request_totals }) => request_totals?.errored);
  const work = works(
    { amount: output, unit: "tokens" },
    { amount: prompt + output, unit: "prompt and generated tokens" },
    { amount: requests, unit: "requests" },
  );
  if (work.length === 0) return { problem: "no request of it was completed" };
  const result: BenchmarkResult = {
    tool: "guidellm",
    work,
    window: [
      Math.min(...phases.map(({ startMs }) => startMs)),
      Math.max(...phases.map(({ endMs }) => endMs)),
    ],
    phases,
    figures: [],
    notes: [
      ...(errored > 0 ? [`${errored} requests of guidellm failed.`] : []),
      ...(phases.length > 1
        ? [`The window covers ${phases.length} benchmarks of guidellm and the pauses between them.`]
        : []),
    ],
  };
  return result;
}

/** Each test repeats its tokens; the time is that of the test's setup, not of the end of its warm-up. */
function readLlamaBench(value: unknown): ParsedResult | undefined {
  const checked = v.safeParse(llamaBench, value);
  if (!checked.success) return undefined;
  const tests = checked.output.map(({ n_prompt, n_gen, test_time, samples_ns }) => ({
    name: [n_prompt > 0 ? `pp${n_prompt}` : "", n_gen > 0 ? `tg${n_gen}` : ""]
      .filter((one) => one !== "")
      .join("+"),
    startMs: Date.parse(test_time),
    tokens: (n_prompt + n_gen) * samples_ns.length,
    seconds: samples_ns.reduce((sum, one) => sum + one, 0) / 1e9,
  }));
  if (tests.some(({ startMs }) => Number.isNaN(startMs)))
    return { problem: "the time of one of its tests is not understood" };
  const ordered = tests.toSorted((one, other) => one.startMs - other.startMs);
  return {
    tool: "llama-bench",
    work: works({ amount: ordered.reduce((sum, { tokens }) => sum + tokens, 0), unit: "tokens" }),
    phases: ordered.flatMap(({ name, startMs }, at) => {
      const endMs = ordered[at + 1]?.startMs;
      return endMs === undefined ? [] : [{ name, startMs, endMs }];
    }),
    figures: ordered.flatMap(({ name, tokens, seconds }) =>
      figure(name, tokens / seconds, "tokens/s"),
    ),
    notes: [
      "llama-bench does not say when its warm-ups end: energy and rates are of the whole command.",
    ],
  };
}
