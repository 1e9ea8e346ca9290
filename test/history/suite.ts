// What every kind of history must do, run by the embedded store and by engines elsewhere. A case that an engine cannot
// pass is skipped with the reason: the reasons are the list of what is lost by keeping the history there.

import { afterAll, beforeAll, expect, test } from "vitest";

import type { SampleBatch } from "../../src/formats/samples/batch.ts";
import { BatchBuilder } from "../../src/formats/samples/builder.ts";
import type { History } from "../../src/storage/history.ts";
import { gpu } from "../../src/model/catalogue/index.ts";
import { FrameWriter } from "../../src/model/frame.ts";
import { compact, equalHistograms, type Histogram } from "../../src/model/histogram/histogram.ts";
import { readHistogram } from "../../src/model/histogram/notation.ts";
import { labelSet } from "../../src/model/labels.ts";
import { type Layout, LayoutBuilder } from "../../src/model/layout.ts";
import { QueryError } from "../../src/query/errors.ts";
import { printHistogram } from "../../src/query/number.ts";
import type { AppendResult } from "../../src/storage/embedded/options.ts";
import type { Matcher } from "../../src/model/select.ts";

export interface OpenedHistory {
  readonly history: History;
  /** What was written can be read. */
  settle(): Promise<void>;
  close(): Promise<void>;
}

type Samples = readonly (readonly [timeMs: number, value: number | Histogram | "end"])[];
type Labels = Readonly<Record<string, string>>;

function batchOf(...series: readonly (readonly [Labels, Samples])[]): SampleBatch {
  const builder = new BatchBuilder();
  for (const [labels, samples] of series) {
    const index = builder.series(labelSet(labels));
    for (const [timeMs, value] of samples)
      if (value === "end") builder.addStale(index, timeMs);
      else if (typeof value !== "number") builder.addHistogram(index, timeMs, value);
      else builder.add(index, timeMs, value);
  }
  return builder.finish();
}

const is = (name: string, value: string): Matcher => ({ name, op: "=", value });
const refusedBy = (result: AppendResult): number =>
  result.refusedConflicts + result.refusedTooOld + result.refusedByLimit;

export interface SuiteOptions {
  readonly open: () => Promise<OpenedHistory>;
  /** By the name of a case: why this kind of history cannot pass it. */
  readonly cannot?: Readonly<Record<string, string>>;
}

export function historySuite({ open, cannot = {} }: SuiteOptions): void {
  let kept: OpenedHistory;
  let history: History;
  // Near enough that every engine takes it, whole minutes so that grids are plain.
  const t0 = Math.floor(Date.now() / 60_000) * 60_000 - 20 * 60_000;

  beforeAll(async () => {
    kept = await open();
    history = kept.history;
  });
  afterAll(async () => kept?.close());

  const cases: [name: string, run: () => Promise<void>][] = [];
  const it = (name: string, run: () => Promise<void>): void => {
    cases.push([name, run]);
  };
  const keep = async (
    ...series: readonly (readonly [Labels, Samples])[]
  ): Promise<AppendResult> => {
    const result = await history.write(batchOf(...series));
    await kept.settle();
    return result;
  };
  /** `[time since t0, value]` of each series, by the label `s`. */
  const raw = async (
    matchers: readonly Matcher[],
    fromMs = t0 - 60_000,
    toMs = t0 + 3_600_000,
  ): Promise<Record<string, unknown>> =>
    Object.fromEntries(
      (await history.select(matchers, fromMs, toMs))
        .map(({ labels, column: { times, values, stale } }) => [
          Object.fromEntries(labels)["s"] ?? "",
          Array.from(times, (timeMs, at) => [timeMs - t0, stale?.[at] === 1 ? "end" : values[at]]),
        ])
        .sort(([a], [b]) => (String(a) < String(b) ? -1 : 1)) as [string, unknown][],
    );
  const vector = async (query: string, timeMs: number): Promise<unknown> => {
    const { data } = await history.instant(query, timeMs);
    if (data.type !== "vector") return data;
    return data.samples
      .map(({ labels, value }) => [Object.fromEntries(labels), value])
      .sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
  };

  it("values come back as they were written", async () => {
    const values = [0, 1.5, 0.1, -3, 1e6, 123_456.789, 4_096, Infinity, -Infinity, 0.001];
    const samples = values.map((value, at): [number, number] => [t0 + at * 1_000, value]);
    expect(await keep([{ __name__: "s_values", s: "a" }, samples])).toMatchObject({ stored: 10 });
    expect(await raw([is("__name__", "s_values")])).toEqual({
      a: samples.map(([timeMs, value]) => [timeMs - t0, value]),
    });
  });

  it("every double comes back bit for bit", async () => {
    const values = [0.1 + 0.2, Math.PI, Number.MAX_VALUE, Number.MIN_VALUE, 2 ** 53 - 1, 1 / 3];
    await keep([
      { __name__: "s_doubles", s: "a" },
      values.map((value, at): [number, number] => [t0 + at, value]),
    ]);
    const [series] = await history.select([is("__name__", "s_doubles")], t0, t0 + 100);
    expect([...(series?.column.values ?? [])]).toEqual(values);
  });

  it("a NaN that is a value is no end", async () => {
    await keep([
      { __name__: "s_nan", s: "a" },
      [
        [t0, Number.NaN],
        [t0 + 1_000, 2],
      ],
    ]);
    expect(await raw([is("__name__", "s_nan")])).toEqual({
      a: [
        [0, Number.NaN],
        [1_000, 2],
      ],
    });
  });

  const histogramCase = async (name: string, isMixed: boolean): Promise<void> => {
    const grows = (count: number) =>
      readHistogram(
        `{{schema:2 count:${count} sum:${count / 8} z_bucket:1 z_bucket_w:0.001 offset:-3 buckets:[1 0 ${count - 4} 1] n_buckets:[1]}}`,
      );
    const written = [grows(10), grows(14), ...(isMixed ? ([3, "end"] as const) : []), grows(20)];
    const lastMs = t0 + (written.length - 1) * 15_000;
    // One after another: in a request of remote-write the histograms of a series follow its floats, whatever their times.
    for (const [at, value] of written.entries())
      await keep([{ __name__: name, s: "a" }, [[t0 + at * 15_000, value]]]);
    const [series] = await history.select([is("__name__", name)], t0, t0 + 100_000);
    const { times, values, stale, histograms } = series?.column ?? {};
    expect([...(times ?? [])]).toEqual(written.map((_, at) => t0 + at * 15_000));
    written.forEach((value, at) => {
      const histogram = histograms?.[at];
      if (value === "end") expect(stale?.[at]).toBe(1);
      else if (typeof value === "number") expect(values?.[at]).toBe(value);
      else
        expect(histogram && equalHistograms(compact(histogram), compact(value)), `at ${at}`).toBe(
          true,
        );
    });
    const { data } = await history.instant(name, lastMs);
    const shown = data.type === "vector" ? data.samples.map(({ histogram }) => histogram) : [];
    expect(shown.map((one) => one && printHistogram(one))).toEqual([printHistogram(grows(20))]);
    expect(await vector(`histogram_count(${name})`, t0 + 15_000)).toEqual([[{ s: "a" }, 14]]);
  };

  it("native histograms come back as they were written", () =>
    histogramCase("s_histograms", false));

  it("native histograms come back among floats and ends", () => histogramCase("s_mixed", true));

  it("all four matchers, a missing label as an empty one, and patterns anchored", async () => {
    const name = is("__name__", "s_match");
    await keep(
      [{ __name__: "s_match", s: "a", dc: "east" }, [[t0, 1]]],
      [{ __name__: "s_match", s: "b", dc: "west" }, [[t0, 2]]],
      [{ __name__: "s_match", s: "c" }, [[t0, 3]]],
    );
    const found = async (op: Matcher["op"], value: string): Promise<string[]> =>
      Object.keys(await raw([name, { name: "dc", op, value }]));
    expect(await found("=", "east")).toEqual(["a"]);
    expect(await found("=", "")).toEqual(["c"]);
    expect(await found("!=", "east")).toEqual(["b", "c"]);
    expect(await found("=~", "ea.*|we.*")).toEqual(["a", "b"]);
    expect(await found("=~", "ea")).toEqual([]);
    expect(await found("!~", "ea.*")).toEqual(["b", "c"]);
    expect(Object.keys(await raw([name, { name: "dc", op: "=~", value: ".*" }]))).toEqual([
      "a",
      "b",
      "c",
    ]);
    expect(await raw([is("__name__", "s_match_none")])).toEqual({});
  });

  it("labels of any text come back", async () => {
    const odd = 'a "quote", a \\ and ünïcödé 🌡 \n new line';
    await keep([{ __name__: "s_text", s: odd }, [[t0, 1]]]);
    expect(await raw([is("__name__", "s_text"), is("s", odd)])).toEqual({ [odd]: [[0, 1]] });
    expect(await history.labelValues("s", [[is("__name__", "s_text")]], t0, t0)).toEqual([odd]);
  });

  it("both ends of a range belong to it, to the millisecond", async () => {
    const samples: Samples = [
      [t0, 1],
      [t0 + 1, 2],
      [t0 + 999, 3],
      [t0 + 1_000, 4],
    ];
    await keep([{ __name__: "s_bounds", s: "a" }, samples]);
    const within = (from: number, to: number): Promise<unknown> =>
      raw([is("__name__", "s_bounds")], t0 + from, t0 + to);
    expect(await within(1, 999)).toEqual({
      a: [
        [1, 2],
        [999, 3],
      ],
    });
    expect(await within(0, 1_000)).toEqual({
      a: [
        [0, 1],
        [1, 2],
        [999, 3],
        [1_000, 4],
      ],
    });
    expect(await within(2, 998)).toEqual({});
    expect(await raw([is("__name__", "s_bounds")], -8e15, 8e15)).toMatchObject({
      a: { length: 4 },
    });
  });

  it("a series that ended is not there until it comes back", async () => {
    const samples: Samples = [
      [t0, 1],
      [t0 + 10_000, "end"],
      [t0 + 30_000, 2],
    ];
    await keep([{ __name__: "s_end", s: "a" }, samples]);
    expect(await vector("s_end", t0 + 5_000)).toEqual([[{ __name__: "s_end", s: "a" }, 1]]);
    expect(await vector("s_end", t0 + 15_000)).toEqual([]);
    expect(await vector("s_end", t0 + 35_000)).toEqual([[{ __name__: "s_end", s: "a" }, 2]]);
  });

  it("where a series ended is reported with its samples", async () => {
    await keep([
      { __name__: "s_told", s: "a" },
      [
        [t0, 1],
        [t0 + 1_000, "end"],
      ],
    ]);
    expect(await raw([is("__name__", "s_told")])).toEqual({
      a: [
        [0, 1],
        [1_000, "end"],
      ],
    });
  });

  it("frames are kept under their labels, and what is gone from them ends", async () => {
    const layoutOf = (...gpus: string[]): Layout => {
      const builder = new LayoutBuilder();
      for (const s of gpus) builder.add(gpu.power, labelSet({ s, host: "own" }));
      return builder.build();
    };
    const both = layoutOf("f1", "f2");
    const put = async (
      layout: Layout,
      timeMs: number,
      values: (number | undefined)[],
    ): Promise<void> => {
      const writer = new FrameWriter(layout, timeMs);
      values.forEach((value, slot) =>
        value === undefined ? writer.absent(slot, "asleep") : writer.set(slot, value),
      );
      const origin = { frame: writer.finish(), source: "suite", tier: "fast" };
      await history.writeFrame(origin, labelSet({ job: "suite", host: "other" }));
    };
    const [first, second] = ["f1", "f2"].map((s) => ({
      __name__: "gpu_power_watts",
      s,
      host: "own",
      job: "suite",
    }));
    await put(both, t0, [100, 200]);
    await put(both, t0 + 10_000, [101, undefined]);
    await put(layoutOf("f2"), t0 + 20_000, [202]);
    await kept.settle();
    const at = (seconds: number): Promise<unknown> =>
      vector('gpu_power_watts{job="suite"}', t0 + seconds * 1_000);
    expect(await at(5)).toEqual(
      [
        [first, 100],
        [second, 200],
      ].map(([labels, value]) => [labels, value]),
    );
    expect(await at(15)).toEqual([[first, 101]]);
    expect(await at(25)).toEqual([[second, 202]]);
    await history.endSource("suite", t0 + 30_000);
    await kept.settle();
    expect(await at(35)).toEqual([]);
  });

  it("the same sample twice is kept once", async () => {
    const series: readonly [Labels, Samples] = [{ __name__: "s_twice", s: "a" }, [[t0, 1]]];
    expect(refusedBy(await keep(series))).toBe(0);
    expect(refusedBy(await keep(series))).toBe(0);
    expect(await raw([is("__name__", "s_twice")])).toEqual({ a: [[0, 1]] });
  });

  it("another value for the same time is refused, and the first stays", async () => {
    await keep([{ __name__: "s_conflict", s: "a" }, [[t0, 1]]]);
    const result = await keep([{ __name__: "s_conflict", s: "a" }, [[t0, 2]]]);
    expect(result).toMatchObject({ stored: 0, refusedConflicts: 1 });
    expect(await raw([is("__name__", "s_conflict")])).toEqual({ a: [[0, 1]] });
  });

  it("what is refused takes nothing else of its batch with it", async () => {
    await keep([{ __name__: "s_among", s: "bad" }, [[t0 + 1_000, 1]]]);
    const good = Array.from({ length: 20 }, (_, at): [Labels, Samples] => [
      { __name__: "s_among", s: `good${at}` },
      [[t0 + 1_000, at]],
    ]);
    const bad: [Labels, Samples] = [{ __name__: "s_among", s: "bad" }, [[t0 + 1_000, 9]]];
    const result = await keep(...good.slice(0, 7), bad, ...good.slice(7));
    expect(result.stored).toBe(20);
    expect(refusedBy(result)).toBe(1);
    expect(await vector("count(s_among)", t0 + 1_000)).toEqual([[{}, 21]]);
  });

  it("a sample older than the newest of its series is kept", async () => {
    await keep([{ __name__: "s_late", s: "a" }, [[t0 + 60_000, 2]]]);
    expect(refusedBy(await keep([{ __name__: "s_late", s: "a" }, [[t0, 1]]]))).toBe(0);
    expect(await raw([is("__name__", "s_late")])).toEqual({
      a: [
        [0, 1],
        [60_000, 2],
      ],
    });
  });

  it("writes that come at once are all kept, each answered for itself", async () => {
    const results = await Promise.all(
      Array.from({ length: 50 }, (_, at) =>
        history.write(batchOf([{ __name__: "s_once", s: `w${at}` }, [[t0, at]]])),
      ),
    );
    await kept.settle();
    expect(results.every(({ stored }) => stored === 1)).toBe(true);
    expect(await vector("sum(s_once)", t0)).toEqual([[{}, 1_225]]);
  });

  it("label names, values and series are those of the series that match any of the sets", async () => {
    await keep(
      [{ __name__: "s_meta_one", s: "a", room: "r1" }, [[t0, 1]]],
      [{ __name__: "s_meta_two", s: "b", rack: "k1" }, [[t0, 1]]],
      [{ __name__: "s_meta_two", s: "c", rack: "k2" }, [[t0, 1]]],
    );
    const one = [is("__name__", "s_meta_one")];
    const two = [is("__name__", "s_meta_two")];
    const [from, to] = [t0 - 60_000, t0 + 60_000];
    expect(await history.labelNames([one], from, to)).toEqual(["__name__", "room", "s"]);
    expect(await history.labelNames([one, two], from, to)).toEqual([
      "__name__",
      "rack",
      "room",
      "s",
    ]);
    expect(await history.labelNames([], from, to)).toEqual(
      expect.arrayContaining(["rack", "room"]),
    );
    expect(await history.labelValues("s", [one, two], from, to)).toEqual(["a", "b", "c"]);
    expect(await history.labelValues("rack", [one], from, to)).toEqual([]);
    expect(await history.labelValues("__name__", [], from, to)).toEqual(
      expect.arrayContaining(["s_meta_one", "s_meta_two"]),
    );
    const series = await history.series([one, [...two, is("rack", "k2")]], from, to);
    expect(series.map((labels) => Object.fromEntries(labels)["s"] ?? "").sort()).toEqual([
      "a",
      "c",
    ]);
    expect((await history.series([], from, to)).length).toBeGreaterThan(2);
    expect(await history.series([[is("__name__", "s_meta_none")]], from, to)).toEqual([]);
    expect(await history.series([two], -8e15, 8e15)).toHaveLength(2);
    expect(await history.labelValues("s", [one], -8e15, 8e15)).toEqual(["a"]);
  });

  it("labels of series without samples in the range are not reported", async () => {
    await keep([{ __name__: "s_when", s: "a" }, [[t0, 1]]]);
    const asked = [[is("__name__", "s_when")]];
    expect(await history.labelValues("s", asked, t0 + 120_000, t0 + 180_000)).toEqual([]);
    expect(await history.series(asked, t0 + 120_000, t0 + 180_000)).toEqual([]);
  });

  it("instant queries: vectors, arithmetic, aggregation, a scalar, nothing", async () => {
    await keep(
      [
        { __name__: "s_q", s: "a", g: "x" },
        [
          [t0, 1],
          [t0 + 60_000, 2],
        ],
      ],
      [
        { __name__: "s_q", s: "b", g: "x" },
        [
          [t0, 10],
          [t0 + 60_000, 20],
        ],
      ],
    );
    const at = t0 + 60_000;
    expect(await vector("sum by (g) (s_q)", at)).toEqual([[{ g: "x" }, 22]]);
    expect(await vector('s_q{s="a"} * 3', at)).toEqual([[{ s: "a", g: "x" }, 6]]);
    expect(await vector("s_q > 15", at)).toEqual([[{ __name__: "s_q", s: "b", g: "x" }, 20]]);
    expect(await vector("sum(max_over_time(s_q[90s]))", at)).toEqual([[{}, 22]]);
    expect(await vector("s_q offset 1m", at)).toEqual([
      [{ __name__: "s_q", s: "a", g: "x" }, 1],
      [{ __name__: "s_q", s: "b", g: "x" }, 10],
    ]);
    expect(await vector("s_q_none", at)).toEqual([]);
    expect(await vector("s_q", t0 - 3_600_000)).toEqual([]);
  });

  it("a scalar is a scalar and a text a text", async () => {
    expect(await vector("1 + 1", t0)).toEqual({ type: "scalar", timeMs: t0, value: 2 });
    expect(await vector('"text"', t0)).toEqual({ type: "string", timeMs: t0, value: "text" });
  });

  it("a range query has its own grid and leaves gaps where there is nothing", async () => {
    const samples: Samples = [
      [t0, 1],
      [t0 + 60_000, 2],
      [t0 + 61_000, "end"],
      [t0 + 180_000, 4],
    ];
    await keep([{ __name__: "s_range", s: "a" }, samples]);
    const { data } = await history.range("s_range * 10", t0, t0 + 240_000, 60_000);
    if (data.type !== "matrix") throw new Error(`got a ${data.type}`);
    expect(
      data.series.map(({ labels, times, values }) => [
        Object.fromEntries(labels),
        [...times].map((time) => time - t0),
        [...values],
      ]),
    ).toEqual([[{ s: "a" }, [0, 60_000, 180_000, 240_000], [10, 20, 40, 40]]]);
  });

  it("a query that cannot be understood is told so", async () => {
    const failure = await history.instant("sum(", t0).catch((thrown: unknown) => thrown);
    expect(failure).toBeInstanceOf(QueryError);
    expect((failure as QueryError).message).not.toBe("");
  });

  it("a query that cannot be answered is told so", async () => {
    await keep(
      [{ __name__: "s_many", s: "a", g: "x" }, [[t0, 1]]],
      [{ __name__: "s_many", s: "b", g: "x" }, [[t0, 1]]],
    );
    const failure = await history
      .instant("s_many * on (g) s_many", t0)
      .catch((thrown: unknown) => thrown);
    expect(failure).toBeInstanceOf(QueryError);
    expect((failure as QueryError).kind).toBe("execution");
  });

  it("a query nobody wants any more is given up", async () => {
    const signal = AbortSignal.abort();
    const failure = await history
      .instant("vector(1)", t0, { signal })
      .catch((thrown: unknown) => thrown);
    expect(failure).toMatchObject({ kind: "canceled" });
  });

  test.for(cases)("%s", async ([name, run], context) => {
    const reason = cannot[name];
    if (reason !== undefined) context.skip(reason);
    await run();
  });

  test("every reason to skip belongs to a case", () => {
    const names = new Set(cases.map(([name]) => name));
    expect(Object.keys(cannot).filter((name) => !names.has(name))).toEqual([]);
  });
}
