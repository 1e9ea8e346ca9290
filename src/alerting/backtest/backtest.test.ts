import { beforeEach, expect, test } from "vitest";
import { createEngine } from "../../query/engine.ts";
import { samplesOf } from "../rules/context.ts";
import type { AlertingRule } from "../rules/types.ts";
import { MemoryHistory } from "../unit-tests/history.ts";
import { readMetric } from "../unit-tests/metric.ts";
import { readPoints } from "../unit-tests/points.ts";
import { backtest, type BacktestResult, type RangeQuerySource } from "./backtest.ts";

const minute = 60_000;
const hour = 60 * minute;
const startMs = 1_700_000_040_000;

let history: MemoryHistory;
let ranges: number;
beforeEach(() => {
  history = new MemoryHistory(createEngine());
  ranges = 0;
});

const past: RangeQuerySource = {
  range: async (query, fromMs, toMs, stepMs) => {
    ranges++;
    const { data } = await history.range(query, fromMs, toMs, stepMs);
    return data.type === "matrix" ? data.series : [];
  },
  ask: async (query, timeMs) =>
    samplesOf(await history.instant(query, timeMs)).map(({ labels, value }) => ({
      labels: new Map(labels),
      value,
    })),
};

/** Appends one value per minute from `fromMs` on. */
function given(series: string, values: string, fromMs = startMs): void {
  for (const [at, point] of readPoints(values).entries())
    if (point !== undefined) history.append(readMetric(series), fromMs + at * minute, point.value);
}

const hot = (more: Partial<AlertingRule> = {}): AlertingRule => ({
  kind: "alert",
  name: "Hot",
  expr: "temp > 80",
  forMs: 0,
  keepFiringForMs: 0,
  labels: {},
  annotations: {},
  ...more,
});

const run = (rule: AlertingRule, fromMs = startMs, forMs = hour): Promise<BacktestResult> =>
  backtest(rule, past, {
    startMs: fromMs,
    endMs: fromMs + forMs,
    stepMs: minute,
    externalLabels: new Map(),
    externalUrl: "",
  });

const reported = ({ firings }: BacktestResult): string[] =>
  firings.map(
    ({ labels, startMs: from, endMs, durationMs, peak }) =>
      `${new Map(labels).get("gpu") ?? ""} ${(from - startMs) / minute}..${endMs === undefined ? "" : (endMs - startMs) / minute} ${durationMs / minute}m ${peak}`,
  );

test("a rule's firings are reported with start, end, how long and the worst value", async () => {
  given('temp{gpu="0"}', "70x4 90 95 85 70x10 99x3 70x30");
  const result = await run(hot());
  expect(reported(result)).toEqual(["0 5..8 3m 95", "0 19..23 4m 99"]);
  expect(result.totals).toEqual({
    firings: 2,
    labelSets: 1,
    firingMs: 7 * minute,
    longestMs: 4 * minute,
    pendingOnly: 0,
  });
});

test("for and keep_firing_for are walked as a running rule walks them", async () => {
  given('temp{gpu="0"}', "70x4 90x9 70x10 90 70x40");
  given('temp{gpu="1"}', "70x60");
  const result = await run(hot({ forMs: 5 * minute, keepFiringForMs: 3 * minute }));
  expect(reported(result)).toEqual(["0 10..18 8m 90"]);
  expect(result.totals.pendingOnly).toBe(1);
});

test("what still fires at the end has no end, and what fired before the start fires at the start", async () => {
  given('temp{gpu="0"}', "90x90", startMs - 30 * minute);
  expect(reported(await run(hot({ forMs: 10 * minute })))).toEqual(["0 0.. 60m 90"]);
});

test("what ended before the range is not in it; what keeps firing into it is", async () => {
  given('temp{gpu="0"}', "90x10 70x90", startMs - 20 * minute);
  expect((await run(hot({ forMs: 3 * minute }))).totals.firings).toBe(0);
  const kept = await run(hot({ forMs: 3 * minute, keepFiringForMs: 20 * minute }));
  expect(reported(kept)).toEqual(["0 -17..11 28m 90"]);
});

test("where a rule asks for too little, the worst value is the smallest", async () => {
  given('temp{gpu="0"}', "70 20 10 15 70x9");
  expect(reported(await run(hot({ expr: "(temp < 30) and temp" })))).toEqual(["0 1..4 3m 10"]);
});

test("labels and annotations are those an alert would have had", async () => {
  given('temp{gpu="0"}', "70 90 70x9");
  const { firings } = await run(
    hot({
      labels: { severity: "{{ if gt $value 80.0 }}page{{ end }}" },
      annotations: { text: '{{ $labels.gpu }}: {{ query "count(temp)" | first | value }}' },
    }),
  );
  expect(Object.fromEntries(firings[0]?.labels ?? [])).toEqual({
    alertname: "Hot",
    gpu: "0",
    severity: "page",
  });
  expect(firings[0]?.annotations).toEqual({ text: "0: 1" });
});

test("a long time is asked for piece by piece, and nothing is lost between pieces", async () => {
  given('temp{gpu="0"}', "90x2500");
  const result = await run(hot({ forMs: minute }), startMs, 2_400 * minute);
  expect(ranges).toBe(3);
  expect(reported(result)).toEqual(["0 1.. 2399m 90"]);
});

test("it ends when it is aborted", async () => {
  await expect(
    backtest(hot(), past, {
      startMs,
      endMs: startMs + hour,
      stepMs: minute,
      externalLabels: new Map(),
      externalUrl: "",
      signal: AbortSignal.abort(),
    }),
  ).rejects.toThrow("aborted");
});
