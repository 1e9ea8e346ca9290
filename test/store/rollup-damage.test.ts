/**
 * Damaged, cut and missing rollups in a store with native histograms: while raw samples are there nothing is lost, reported
 * lost or wrong; beyond their retention every value served is right and what is missing is reported.
 */
import { cpSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import type { StoreOptions } from "../../src/storage/embedded/options.ts";
import type { Store } from "../../src/storage/embedded/store.ts";
import { batchHistogram, batchValue } from "./batches.ts";
import { dayMs, Folders, named, openAt, put } from "./folder.ts";

const folders = new Folders();
const masters = new Folders();
const hourMs = 3_600_000;
const minuteMs = 60_000;
const startMs = 20_000 * dayMs;
const hours = 8;
const floats = 6;
const endMs = startMs + hours * hourMs;

interface Master {
  readonly dir: string;
  readonly options: Partial<StoreOptions>;
  readonly answers: ReadonlyMap<string, string>;
}
const masterOf = new Map<string, Master>();

const optionsAt = (now: number, retentionMs: number): Partial<StoreOptions> => ({
  rollEveryMs: hourMs,
  removalGraceMs: 0,
  retentionMs,
  rollupRetentionMs: 400 * dayMs,
  nowMs: () => now,
  retentionNowMs: () => now,
});

/** Floats and native histograms, sealed every two hours and rolled up. */
async function write(dir: string): Promise<void> {
  const store = await openAt(dir, optionsAt(endMs + hourMs, 100 * dayMs));
  for (let minute = 1; minute <= (hours + 1) * 60; minute++) {
    const timeMs = startMs + minute * minuteMs;
    const appender = store.appender();
    for (let one = 0; one < floats; one++)
      appender.add(
        appender.ref(named("load", { series: String(one) })),
        timeMs,
        batchValue(minute, one),
      );
    for (let one = 0; one < 3; one++)
      appender.addHistogram(
        appender.ref(named("latency_seconds", { series: String(one) })),
        timeMs,
        batchHistogram(minute, one),
      );
    appender.commit();
    if (minute % 120 !== 0 && minute !== (hours + 1) * 60) continue;
    await store.seal();
    await rounds(store, 3);
  }
  await rounds(store, 6);
  await store.close();
}

async function rounds(store: Store, count: number): Promise<void> {
  for (let round = 0; round < count; round++) await store.maintain();
}

const queries = [
  "max_over_time(load[1h])",
  "count_over_time(load[5m])",
  "increase(load[1h])",
  "histogram_count(sum_over_time(latency_seconds[1h]))",
];

/** Every value by query, series and instant, and whether a rollup answered or a warning came with it. */
async function answersOf(store: Store) {
  const values = new Map<string, string>();
  let [fromRollups, warnings] = [0, 0];
  for (const query of queries) {
    const stepMs = query.includes("[5m]") ? 5 * minuteMs : hourMs;
    const result = await store.range(query, startMs + hourMs, endMs, stepMs);
    if (result.infos.join().includes("rollups answered")) fromRollups++;
    // The histograms have counter resets, of which PromQL itself warns.
    warnings += result.warnings.filter((text) => !text.startsWith("PromQL")).length;
    if (result.data.type !== "matrix") throw new Error(`a ${result.data.type}`);
    for (const { labels, times, values: found } of result.data.series)
      times.forEach((timeMs, i) => {
        const series = labels.find(([name]) => name === "series")?.[1];
        // Sums of buckets may differ from sums of samples in the last digits.
        values.set(`${query} ${series} ${timeMs}`, Number(found[i]).toPrecision(12));
      });
  }
  return { values, fromRollups, warnings };
}

beforeAll(async () => {
  const dir = masters.make();
  await write(dir);
  const recent = optionsAt(endMs + hourMs, 100 * dayMs);
  const store = await openAt(dir, recent);
  const { values, fromRollups } = await answersOf(store);
  // Histograms are answered by raw samples.
  if (fromRollups !== queries.length - 1) throw new Error("rollups answered too few queries");
  await store.close();
  masterOf.set("raw", { dir, options: recent, answers: values });
  const old = masters.make();
  cpSync(dir, old, { recursive: true });
  const later = optionsAt(endMs + 20 * dayMs, 10 * dayMs);
  const aged = await openAt(old, later);
  put(aged, endMs + 20 * dayMs, [[named("load", { series: "new" }), 1]]);
  await aged.seal();
  await rounds(aged, 4);
  const floatsOnly = [...values].filter(([key]) => !key.startsWith("histogram"));
  const { values: left } = await answersOf(aged);
  if (JSON.stringify([...left]) !== JSON.stringify(floatsOnly))
    throw new Error("rollups alone answer otherwise");
  await aged.close();
  masterOf.set("gone", { dir: old, options: later, answers: left });
}, 60_000);
afterEach(() => folders.remove());
afterAll(() => masters.remove());

const rollupFiles = (dir: string): string[] =>
  readdirSync(path.join(dir, "rollups"))
    .filter((file) => file.endsWith(".block"))
    .sort()
    .map((file) => path.join(dir, "rollups", file));

const flipAt = (share: number) => (file: string) => {
  const bytes = readFileSync(file);
  const at = Math.floor(bytes.length * share);
  bytes[at] = (bytes[at] ?? 0) ^ 0x10;
  writeFileSync(file, bytes);
};

const harms: readonly (readonly [string, (file: string) => void])[] = [
  ["missing", (file) => rmSync(file)],
  ["cut", (file) => truncateSync(file, Math.floor(readFileSync(file).length / 2))],
  ["empty", (file) => truncateSync(file, 0)],
  ...[0.02, 0.3, 0.6, 0.9, 0.99].map((share) => [`flipped at ${share}`, flipAt(share)] as const),
];

async function harmed(kind: "raw" | "gone", which: "one" | "all", harm: (file: string) => void) {
  const master = masterOf.get(kind);
  if (master === undefined) throw new Error("BUG: no master");
  const dir = folders.make();
  cpSync(master.dir, dir, { recursive: true });
  const files = rollupFiles(dir);
  expect(files.length).toBeGreaterThan(1);
  for (const file of which === "all" ? files : files.slice(0, 1)) harm(file);
  return { ...master, dir, store: await openAt(dir, master.options) };
}

test.each(harms)(
  "a rollup that is %s costs nothing while raw samples are there",
  async (_, harm) => {
    for (const which of ["one", "all"] as const) {
      const { dir, options, answers, store } = await harmed("raw", which, harm);
      let fromRollups = 0;
      // A page is found damaged when it is read, which is not before the rollups around it are whole.
      for (let pass = 0; pass < 3; pass++) {
        const found = await answersOf(store);
        expect([...found.values]).toEqual([...answers]);
        expect([found.warnings, store.stats().lost, store.problems()]).toEqual([0, [], []]);
        ({ fromRollups } = found);
        await rounds(store, 8);
      }
      expect(fromRollups).toBe(queries.length - 1);
      await store.close();
      const again = await openAt(dir, options);
      expect([...(await answersOf(again)).values]).toEqual([...answers]);
      expect(again.stats().lost).toEqual([]);
      await again.close();
    }
  },
);

test.each(harms)(
  "without raw samples, a rollup that is %s is reported, and no value is wrong",
  async (_, harm) => {
    for (const which of ["one", "all"] as const) {
      const { answers, store } = await harmed("gone", which, harm);
      for (let round = 0; round < 2; round++) {
        const { values } = await answersOf(store);
        for (const [key, value] of values) expect([key, value]).toEqual([key, answers.get(key)]);
        if (values.size < answers.size) {
          expect(store.stats().lost.length).toBeGreaterThan(0);
          expect(store.problems().length).toBeGreaterThan(0);
        }
        await rounds(store, 4);
      }
      await store.close();
    }
  },
);
