/** Compares queries over rollups with the same queries over raw samples, on random series. */
import { readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import path from "node:path";
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
/** A multiple of an hour. */
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

  /** A gauge, or a counter with occasional resets; sometimes NaN or an infinity. */
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

/** Writes the same samples to all stores: gaps, jitter, ends, late samples, deletions. */
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

/** Exact results are equal; sums are equal except for rounding. */
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

const aligned = [
  ["1h", hourMs],
  ["5m", 300_000],
  ["15m", 1_800_000],
] as const;

async function expectAllSame(
  rolled: Store,
  raw: Store,
  [fromMs, toMs]: readonly [number, number],
  because: RegExp,
): Promise<void> {
  for (const name of functions)
    for (const [range, stepMs] of aligned) {
      const query = `${name}({__name__=~"load|work_total"}[${range}])`;
      const [got, want] = await Promise.all(
        [rolled, raw].map((store) => store.range(query, fromMs, toMs, stepMs)),
      );
      if (got === undefined || want === undefined) throw new Error("BUG: two stores");
      expectSame(got, want, isExact(name), query);
      expect(infoOf(got).join(), query).toMatch(because);
    }
}

test("past raw retention, rollups give what the raw samples gave, and their series stay", async () => {
  let now = startMs + 3 * dayMs;
  const raw = await open({});
  const options = {
    retentionMs: 10 * dayMs,
    rollupRetentionMs: 400 * dayMs,
    retentionNowMs: () => now,
    nowMs: () => now,
  };
  const dir = folders.make();
  let rolled = await openAt(dir, { rollEveryMs: hourMs, removalGraceMs: 0, ...options });
  await fill([raw, rolled], new Generator(7), 1);
  now = startMs + 20 * dayMs;
  append(rolled, now, [[named("load", { series: "new" }), 1]]);
  await rolled.seal();
  await rounds(rolled);
  expect(rolled.stats().blocks).toBe(1);
  const range = [startMs + hourMs, startMs + 23 * hourMs] as const;
  await expectAllSame(rolled, raw, range, /rollups answered/);
  const plain = await rolled.range('load{series="0"}', range[0], range[1], hourMs);
  expect(infoOf(plain).join()).toMatch(/5m rollups answered: raw samples before .* past retention/);
  const all = [[{ name: "__name__", op: "=~", value: ".+" }]] as const;
  expect(await rolled.labelValues("series", all, startMs, startMs + dayMs)).toEqual([
    "0",
    "1",
    "2",
    "3",
    "4",
    "5",
    "6",
    "7",
  ]);
  await rolled.close();
  rolled = await openAt(dir, { rollEveryMs: hourMs, removalGraceMs: 0, ...options });
  expect(rolled.stats().lost).toEqual([]);
  await expectAllSame(rolled, raw, range, /rollups answered/);
  await Promise.all([raw.close(), rolled.close()]);
}, 60_000);

test("deletions and late samples show at once, and in the rollups once they are made again", async () => {
  const [raw, rolled] = [await open({}), await open({ rollupRetentionMs: 400 * dayMs })];
  await fill([raw, rolled], new Generator(11), 1);
  const range = [startMs + hourMs, startMs + 23 * hourMs] as const;
  for (const store of [raw, rolled]) {
    await store.delete(
      [[{ name: "series", op: "=~", value: "0|1" }]],
      startMs + 5.3 * hourMs,
      startMs + 9.1 * hourMs,
    );
    append(store, startMs + 3.4 * hourMs + 11, [[named("load", { series: "2" }), 99_999]]);
  }
  const ask = (store: Store): Promise<QueryResult> =>
    store.range("max_over_time(load[1h])", ...range, hourMs);
  expectSame(await ask(rolled), await ask(raw), true, "before it is rolled up again");
  for (const store of [raw, rolled]) {
    await store.seal();
    await rounds(store);
  }
  await expectAllSame(rolled, raw, range, /the result is the same as from raw samples/);
  await Promise.all([raw.close(), rolled.close()]);
}, 60_000);

test("a damaged or missing rollup is made again from raw samples; without them it is reported lost", async () => {
  const dir = folders.make();
  let now = startMs + 3 * dayMs;
  const options = {
    rollEveryMs: hourMs,
    removalGraceMs: 0,
    rollupRetentionMs: 400 * dayMs,
    retentionNowMs: () => now,
    nowMs: () => now,
  };
  const raw = await open({});
  let rolled = await openAt(dir, options);
  await fill([raw, rolled], new Generator(13), 1);
  const range = [startMs + hourMs, startMs + 22 * hourMs] as const;
  const files = (): string[] =>
    readdirSync(path.join(dir, "rollups"))
      .filter((name) => name.endsWith(".block"))
      .map((name) => path.join(dir, "rollups", name));
  const damages: ((file: string) => void)[] = [
    (file) => rmSync(file),
    (file) => truncateSync(file, 100),
    (file) => {
      const bytes = readFileSync(file);
      bytes.writeUInt8(bytes.readUInt8(40) ^ 0xff, 40);
      writeFileSync(file, bytes);
    },
  ];
  for (const damage of damages) {
    await rolled.close();
    files().forEach(damage);
    rolled = await openAt(dir, options);
    // The damaged page is detected when it is read.
    await rolled.range("max_over_time(load[1h])", ...range, hourMs);
    expect(rolled.stats().lost).toEqual([]);
    await rounds(rolled, 6);
    await expectAllSame(rolled, raw, range, /the result is the same as from raw samples/);
  }
  now = startMs + 20 * dayMs;
  const short = { ...options, retentionMs: 10 * dayMs };
  await rolled.close();
  rolled = await openAt(dir, short);
  append(rolled, now, [[named("load", { series: "new" }), 1]]);
  await rolled.seal();
  await rounds(rolled, 3);
  await rolled.close();
  for (const file of files()) rmSync(file);
  rolled = await openAt(dir, short);
  expect(rolled.stats().lost.join()).toMatch(/the rollup .* is missing: its entries are lost/);
  await Promise.all([raw.close(), rolled.close()]);
}, 60_000);

test("a folder without rollups gets them in the background, four days at a time", async () => {
  const dir = folders.make();
  const now = startMs + 11 * dayMs;
  const options = { nowMs: () => now, retentionNowMs: () => now };
  const before = await openAt(dir, options);
  await fill([before], new Generator(17), 9);
  await before.close();
  const store = await openAt(dir, {
    ...options,
    rollEveryMs: hourMs,
    rollupRetentionMs: 400 * dayMs,
  });
  const behind: number[] = [store.stats().rollups.behindMs];
  for (let round = 0; round < 4; round++) {
    await store.maintain();
    behind.push(store.stats().rollups.behindMs);
  }
  expect(behind.map((ms) => Math.ceil(ms / dayMs))).toEqual([9, 5, 1, 0, 0]);
  await store.close();
}, 60_000);

test("rollups are made of four days, of one while raw samples fill the size limit", async () => {
  let now = startMs;
  const options = {
    nowMs: () => now,
    retentionNowMs: () => now,
    retentionMs: 400 * dayMs,
    rollupRetentionMs: 400 * dayMs,
  };
  const roomy = await openAt(folders.make(), options);
  const crowded = await openAt(folders.make(), { ...options, retentionBytes: 400_000 });
  const rolledTo: (number | undefined)[][] = [];
  for (let day = 0; day < 5; day++) {
    for (; now < startMs + (day + 1) * dayMs; now += 30_000)
      for (const store of [roomy, crowded])
        append(
          store,
          now,
          Array.from({ length: 8 }, (_, i) => [
            named("load", { series: String(i) }),
            Math.sin(now / 1e5 + i),
          ]),
        );
    for (const store of [roomy, crowded]) {
      await store.seal();
      await rounds(store, 3);
    }
    rolledTo.push(
      [roomy, crowded].map((store) => {
        const { rolledToMs } = store.stats().rollups;
        return rolledToMs === undefined ? undefined : Math.round((rolledToMs - startMs) / dayMs);
      }),
    );
  }
  expect(rolledTo).toEqual([
    [undefined, 1],
    [undefined, 2],
    [undefined, 3],
    [4, 4],
    [4, 5],
  ]);
  await Promise.all([roomy.close(), crowded.close()]);
}, 60_000);

test("rollups are made while the time that retention trusts is behind, since the clock once was", async () => {
  const dir = folders.make();
  let now = startMs - 40 * dayMs;
  const options = {
    nowMs: () => now,
    monotonicMs: () => 0,
    rollEveryMs: hourMs,
    rollupRetentionMs: 400 * dayMs,
  };
  const behind = await openAt(dir, options);
  await fill([behind], new Generator(19), 1);
  await behind.seal();
  await behind.close();
  now = startMs + 2 * dayMs;
  const store = await openAt(dir, options);
  expect(store.trustedNowMs).toBeLessThan(startMs);
  await rounds(store, 3);
  expect(store.stats().rollups).toMatchObject({ rolledToMs: startMs + 23 * hourMs, behindMs: 0 });
  await store.close();
}, 60_000);

test("samples from before a jump of the clock to the future are rolled up once it is set right", async () => {
  const dir = folders.make();
  let now = startMs + 40 * dayMs;
  const options = { nowMs: () => now, rollEveryMs: hourMs, rollupRetentionMs: 400 * dayMs };
  const [raw, rolled] = [
    await openAt(folders.make(), { nowMs: () => now }),
    await openAt(dir, options),
  ];
  for (const store of [raw, rolled]) {
    append(store, now - dayMs, [[named("load", { series: "0" }), 1]]);
    append(store, now, [[named("load", { series: "0" }), 2]]);
    await store.seal();
    await rounds(store, 2);
  }
  expect(rolled.stats().rollups.rolledToMs).toBeGreaterThan(startMs + 39 * dayMs);
  now = startMs + 2 * dayMs;
  await fill([raw, rolled], new Generator(23), 1);
  for (const store of [raw, rolled]) {
    await store.seal();
    await rounds(store, 2);
  }
  const range = [startMs + hourMs, startMs + 23 * hourMs] as const;
  await expectAllSame(rolled, raw, range, /the result is the same as from raw samples/);
  await Promise.all([raw.close(), rolled.close()]);
}, 60_000);
