import { mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, expect, test } from "vitest";
import { parseLoadgenDetail } from "./loadgen.ts";
import { readBenchmarkResult } from "./read.ts";
import type { BenchmarkResult, ParsedResult } from "./result.ts";
import { parseServingResult } from "./serving.ts";

const folder = mkdtempSync(path.join(tmpdir(), "gpulse-results-"));
afterAll(() => rmSync(folder, { recursive: true }));

const fixture = (name: string): string =>
  readFileSync(new URL(`../../../test/fixtures/results/${name}`, import.meta.url), "utf8");
const offline = fixture("loadgen-offline.txt");

function good(parsed: ParsedResult): BenchmarkResult {
  if ("problem" in parsed) throw new Error(parsed.problem);
  return parsed;
}

test("LoadGen's offline run: samples of its one query, in the window of its power marks", () => {
  const { tool, work, window, notes } = good(parseLoadgenDetail(offline));
  expect(tool).toBe("MLPerf LoadGen (Offline)");
  expect(work).toEqual([{ amount: 990, unit: "samples" }]);
  expect(window).toEqual([
    Date.parse("2026-11-18T09:01:28.912Z"),
    Date.parse("2026-11-18T09:01:37.635Z"),
  ]);
  expect(notes).toEqual([]);
});

test("tokens come first where LoadGen counts them", () => {
  const tokens = good(parseLoadgenDetail(fixture("loadgen-offline-tokens.txt")));
  expect(tokens.work).toEqual([
    { amount: 19_800, unit: "tokens" },
    { amount: 990, unit: "samples" },
  ]);
  const server = good(parseLoadgenDetail(fixture("loadgen-server-tokens.txt")));
  expect(server.work).toEqual([
    { amount: 2_880, unit: "tokens" },
    { amount: 144, unit: "samples" },
  ]);
  expect(server.notes).toEqual([expect.stringContaining("INVALID")]);
  expect(server.figures).toContainEqual({
    name: "mean time to first token",
    value: 25_881_356,
    unit: "ns",
  });
});

test.each([
  ["cut in a line", offline.slice(0, offline.indexOf("power_end") + 4), /truncated in its last/],
  [
    "cut between lines",
    offline.slice(0, offline.lastIndexOf("\n", offline.indexOf("power_end"))),
    /truncated/,
  ],
  ["with a line that is no event", offline.replace(":::MLLOG {", ":::MLLOG ["), /line 1 is not/],
  ["of an accuracy run", offline.replaceAll("PerformanceOnly", "AccuracyOnly"), /accuracy run/],
  ["that ends before it begins", offline.replace("09:01:37.635", "09:01:20.000"), /not after/],
])("a LoadGen log %s is refused with the reason", (_what, text, says) => {
  expect(parseLoadgenDetail(text)).toEqual({ problem: expect.stringMatching(says) as unknown });
});

test("guidellm: tokens of successful requests, in the time it measured", () => {
  const { work, window, phases } = good(parseServingResult(fixture("guidellm.json")));
  expect(work).toEqual([
    { amount: 160, unit: "tokens" },
    { amount: 360, unit: "prompt and generated tokens" },
    { amount: 10, unit: "requests" },
  ]);
  expect(window?.map((timeMs) => Math.round(timeMs))).toEqual([
    1_794_993_081_244, 1_794_993_082_798,
  ]);
  expect(phases.map(({ name }) => name)).toEqual(["synchronous 1"]);
});

const vllm = { duration: 4, completed: 8, total_input_tokens: 80, total_output_tokens: 160 };

test("vllm bench says how long it measured, and its output when that began", async () => {
  const file = path.join(folder, "vllm.json");
  writeFileSync(file, JSON.stringify({ ...vllm, mean_ttft_ms: 12.5 }));
  const now = Date.now();
  const span = [now - 10_000, now + 1_000] as const;
  const placed = good(await readBenchmarkResult(file, span, now - 6_000));
  expect(placed.window).toEqual([now - 6_000, now - 2_000]);
  expect(placed.work[0]).toEqual({ amount: 160, unit: "tokens" });
  const unplaced = good(await readBenchmarkResult(file, span, undefined));
  expect(unplaced.window).toBeUndefined();
  expect(unplaced.notes).toEqual([expect.stringContaining("not when")]);
});

test("llama-bench: tokens of all repeats, and a phase from one test to the next", () => {
  const entry = {
    n_prompt: 512,
    n_gen: 0,
    test_time: "2026-01-01T00:00:00Z",
    samples_ns: [5e8, 5e8],
  };
  const text = JSON.stringify([
    entry,
    { ...entry, n_prompt: 0, n_gen: 128, test_time: "2026-01-01T00:00:05Z" },
  ]);
  const { work, phases, figures, window } = good(parseServingResult(text));
  expect(work).toEqual([{ amount: 1_280, unit: "tokens" }]);
  expect(phases).toMatchObject([{ name: "pp512" }]);
  expect(figures).toEqual([
    { name: "pp512", value: 1_024, unit: "tokens/s" },
    { name: "tg128", value: 256, unit: "tokens/s" },
  ]);
  expect(window).toBeUndefined();
});

test.each([
  ["nothing", "", /neither a log/],
  ["JSON of something else", `{"a":1}`, /not a result/],
  ["no completed request", JSON.stringify({ ...vllm, completed: 0 }), /no request/],
])("%s is no result", (_what, text, says) => {
  expect(parseServingResult(text)).toEqual({ problem: expect.stringMatching(says) as unknown });
});

test("a result of another clock or another run is not used", async () => {
  const file = path.join(folder, "mlperf_log_detail.txt");
  writeFileSync(file, offline);
  const now = Date.now();
  const later = await readBenchmarkResult(folder, [now - 1_000, now], undefined);
  expect(later).toEqual({ problem: expect.stringContaining("the clocks disagree") as unknown });
  utimesSync(file, 1, 1);
  const old = await readBenchmarkResult(folder, [now - 1_000, now], undefined);
  expect(old).toEqual({ problem: expect.stringContaining("older than this run") as unknown });
  const summary = path.join(folder, "mlperf_log_summary.txt");
  writeFileSync(summary, "MLPerf Results Summary");
  const beside = await readBenchmarkResult(summary, [0, 2e15], undefined);
  expect(beside).toMatchObject({ tool: "MLPerf LoadGen (Offline)" });
  const nothing = await readBenchmarkResult(path.join(folder, "no"), [0, 1], undefined);
  expect(nothing).toEqual({ problem: expect.stringContaining("cannot be read") as unknown });
});
