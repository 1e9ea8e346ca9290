/** Queries answered from rollups against the same queries over raw samples, on random series. */
import { afterAll, expect, test } from "vitest";
import { Folders, named, openAt } from "../../../../test/store/folder.ts";
import type { LabelSet } from "../../../model/labels.ts";
import type { QueryResult } from "../../../query/result.ts";
import type { StoreOptions } from "../options.ts";
import type { Store } from "../store.ts";

const folders = new Folders();
afterAll(() => folders.remove());

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** On the edge of an hour. */
const startMs = Math.floor(1_750_000_000_000 / hourMs) * hourMs;

function random(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state ^ (state >>> 15), 0x2c1b3c6d) + 0x9e3779b9) >>> 0;
    return Math.floor(((state ^ (state >>> 13)) >>> 0) / (2 ** 32 / below));
  };
}

type Sample = readonly [labels: LabelSet, value: number | "stale"];

function append(store: Store, timeMs: number, samples: readonly Sample[]): void {
  const appender = store.appender();
  for (const [labels, value] of samples)
    if (value === "stale") appender.addStale(appender.ref(labels), timeMs);
    else appender.add(appender.ref(labels), timeMs, value);
  appender.commit();
}

class Generator {
  readonly #next: (below: number) => number;
  readonly #counters = new Map<number, number>();
  readonly labels: readonly LabelSet[] = Array.from({ length: 8 }, (_, i) =>
    named(i % 2 === 0 ? "load" : "work_total", { series: String(i) }),
  );

  constructor(seed: number) {
    this.#next = random(seed);
  }

  below(n: number): number {
    return this.#next(n);
  }

  /** A gauge, or a counter that is reset now and then; sometimes NaN or an infinity. */
  value(series: number): number {
    if (series % 2 === 0) {
      const kind = this.#next(400);
      if (kind === 0) return Number.NaN;
      if (kind === 1 && series === 6) return Infinity;
      return (this.#next(20_000) - (series === 4 ? 10_000 : 0)) / 100;
    }
    const before = this.#counters.get(series) ?? 0;
    const value = this.#next(200) === 0 ? this.#next(3) : before + this.#next(50) / 10;
    this.#counters.set(series, value);
    return value;
  }
}

const open = (options: Partial<StoreOptions>): Promise<Store> =>
  openAt(folders.make(), {
    memoryBytes: 10_000_000,
    rollEveryMs: hourMs,
    removalGraceMs: 0,
    nowMs: () => startMs + 100 * dayMs,
    retentionNowMs: () => startMs + 100 * dayMs,
    ...options,
  });

const rounds = async (store: Store, count = 12): Promise<void> => {
  for (let round = 0; round < count; round++) await store.maintain();
};

/** The same samples in all stores: gaps, jitter, ends, late ones, deletions. */
async function fill(stores: readonly Store[], generator: Generator, days: number): Promise<void> {
  const { labels } = generator;
  const late: [LabelSet, number, number][] = [];
  const down = new Set<number>();
  for (let timeMs = startMs + 7_000; timeMs < startMs + days * dayMs; timeMs += 30_000) {
    const samples: Sample[] = [];
    labels.forEach((one, series) => {
      if (generator.below(2_000) === 0) {
        if (!down.delete(series)) {
          down.add(series);
          samples.push([one, "stale"]);
        }
        return;
      }
      if (down.has(series)) return;
      const sample = generator.value(series);
      if (generator.below(300) === 0) late.push([one, timeMs, sample]);
      else samples.push([one, sample]);
    });
    const jitterMs = generator.below(900);
    for (const store of stores) append(store, timeMs + jitterMs, samples);
    if (generator.below(700) === 0)
      for (const store of stores) {
        await store.seal();
        await store.maintain();
      }
    if (generator.below(900) === 0)
      for (const [one, lateMs, sample] of late.splice(0))
        for (const store of stores) append(store, lateMs, [[one, sample]]);
  }
  for (const store of stores) {
    await store.seal();
    await rounds(store);
  }
}

const functions = [
  "min_over_time",
  "max_over_time",
  "sum_over_time",
  "avg_over_time",
  "count_over_time",
  "present_over_time",
  "first_over_time",
  "last_over_time",
  "ts_of_first_over_time",
  "ts_of_last_over_time",
  "rate",
  "increase",
  "delta",
] as const;
const isExact = (name: string): boolean => !/^(sum|avg|rate|increase|delta)/.test(name);

interface Point {
  readonly key: string;
  readonly value: number;
}

function pointsOf({ data }: QueryResult): Point[] {
  if (data.type !== "matrix") throw new Error(`a ${data.type}`);
  return data.series
    .flatMap(({ labels, times, values }) =>
      [...values].map((value, i) => ({
        key: `${labels.map(([, text]) => text).join(",")} ${times[i]}`,
        value,
      })),
    )
    .sort((a, b) => (a.key < b.key ? -1 : 1));
}

/** Exact results are the same number; sums agree but for the rounding of adding. */
function expectSame(got: QueryResult, want: QueryResult, exact: boolean, what: string): void {
  const [a, b] = [pointsOf(got), pointsOf(want)];
  expect(
    a.map(({ key }) => key),
    what,
  ).toEqual(b.map(({ key }) => key));
  const wrong = a.filter(({ value }, i) => {
    const other = b[i]?.value as number;
    if (Object.is(value, other) || value === other) return false;
    return exact || !(Math.abs(value - other) <= 1e-12 * Math.max(1, Math.abs(other)));
  });
  expect(wrong, what).toEqual([]);
}

const infoOf = ({ infos }: QueryResult): readonly string[] =>
  infos.filter((info) => info.includes("rollups answered"));

test.each([1, 2])(
  "random series, seed %i: every function gives from rollups what it gives from raw samples",
  async (seed) => {
    const generator = new Generator(seed);
    const [raw, rolled] = [await open({}), await open({ rollupRetentionMs: 400 * dayMs })];
    await fill([raw, rolled], generator, 2);
    const endMs = startMs + 2 * dayMs;
    let answered = 0;
    for (const name of functions)
      for (const [range, stepMs, offsetMs] of [
        ["1h", hourMs, 0],
        ["6h", hourMs, 0],
        ["5m", 300_000, 0],
        ["15m", hourMs, 600_000],
        ["1h", 420_000, 0],
        ["7m", 300_000, 0],
        ["30m", 3 * hourMs, 1_234],
      ] as const) {
        const query = `${name}({__name__=~"load|work_total"}[${range}])`;
        const ask = (store: Store): Promise<QueryResult> =>
          store.range(query, startMs + offsetMs, endMs, stepMs);
        const [got, want] = [await ask(rolled), await ask(raw)];
        const isRolled = infoOf(got).length > 0;
        expectSame(got, want, !isRolled || isExact(name), `${query} every ${stepMs} ms`);
        const isAligned = [range === "7m" ? 420_000 : 300_000, stepMs, offsetMs].every(
          (ms) => ms % 300_000 === 0,
        );
        expect(isRolled, query).toBe(isAligned);
        if (isRolled) answered++;
      }
    expect(answered).toBeGreaterThan(functions.length * 3);
    await Promise.all([raw.close(), rolled.close()]);
  },
  60_000,
);
