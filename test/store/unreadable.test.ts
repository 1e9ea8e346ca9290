/** Blocks that cannot be read for a while: nothing of them is dropped, merges wait, and what comes back is served again. */
import { readdirSync, rmSync } from "node:fs";
import type * as Fs from "node:fs";
import path from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { createEngine } from "../../src/query/engine.ts";
import { SharedSelects } from "../../src/query/shared-selects.ts";
import type { Store } from "../../src/storage/embedded/store.ts";
import { faults } from "./faults.ts";
import { dump, Folders, named, openAt, put } from "./folder.ts";

vi.mock("node:fs", async (original) =>
  (await import("./faults.ts")).faultyFs(() => original<typeof Fs>()),
);

const folders = new Folders();
afterEach(() => {
  faults.rule = undefined;
  folders.remove();
});

const minuteMs = 60_000;

/** Four blocks of 1,000 samples each, which the next maintenance merges. */
async function fill(store: Store): Promise<void> {
  for (let block = 0; block < 4; block++) {
    for (let i = 0; i < 100; i++)
      put(
        store,
        (block * 100 + i) * 1000,
        Array.from({ length: 10 }, (_, gpu) => [named("power", { gpu: String(gpu) }), i * gpu]),
      );
    await store.seal();
  }
}

const samplesOf = (lines: readonly string[]): number =>
  lines.reduce((sum, line) => sum + line.split(" ").length - 1, 0);

const blockFiles = (dir: string): string[] => readdirSync(path.join(dir, "blocks")).sort();

/** The first page of a block lies behind the header of 16 bytes. */
const onFirstPageOf =
  (name: string) =>
  (operation: string, file: string, offset: number): string | undefined =>
    operation === "read" && file.endsWith(name) && offset === 16 ? "EIO" : undefined;

test("an I/O error on one page during a merge loses none of 4,000 samples", async () => {
  const dir = folders.make();
  let monotonicMs = 0;
  const store = await openAt(dir, { monotonicMs: () => monotonicMs });
  await fill(store);
  faults.rule = onFirstPageOf("0000000002.block");
  await store.maintain();
  expect(faults.failed).toBeGreaterThan(0);
  expect(blockFiles(dir).length).toBe(4);
  expect(store.stats()).toMatchObject({ unreadable: 1, blocks: 4 });
  expect(store.problems()).toEqual([
    expect.stringMatching(/10 columns in page 0 of .*0000000002.block cannot be read: EIO/),
  ]);
  expect(samplesOf(await dump(store))).toBe(3000);
  // Still broken at the first retry, readable at the second.
  monotonicMs += minuteMs;
  await store.maintain();
  expect(store.stats()).toMatchObject({ unreadable: 1, blocks: 4 });
  faults.rule = undefined;
  monotonicMs += 2 * minuteMs;
  await store.maintain();
  expect(store.problems()).toEqual([]);
  expect(store.stats()).toMatchObject({ unreadable: 0, lost: [], blocks: 1 });
  expect(samplesOf(await dump(store))).toBe(4000);
  await store.close();
});

test("a merge that cannot be read back leaves its sources", async () => {
  const dir = folders.make();
  const store = await openAt(dir);
  await fill(store);
  faults.rule = onFirstPageOf("0000000005.block");
  await store.maintain();
  expect(blockFiles(dir)).toEqual([1, 2, 3, 4].map((id) => `000000000${id}.block`));
  faults.rule = undefined;
  await store.maintain();
  expect(blockFiles(dir).length).toBe(1);
  expect(samplesOf(await dump(store))).toBe(4000);
  await store.close();
});

test("a seal that cannot be read back leaves the log", async () => {
  const dir = folders.make();
  let store = await openAt(dir);
  put(store, 1000, [[named("a"), 1]]);
  faults.rule = onFirstPageOf("0000000001.block");
  await expect(store.seal()).rejects.toThrow("EIO");
  faults.rule = undefined;
  await store.close();
  store = await openAt(dir);
  expect(await dump(store)).toEqual(["__name__:a 1000=1"]);
  await store.close();
});

test("a block that cannot be opened at the start is tried again, and its series keep their numbers", async () => {
  const dir = folders.make();
  let store = await openAt(dir);
  await fill(store);
  const before = await dump(store);
  await store.close();
  faults.rule = (operation, file) =>
    operation === "open" && /000000000[1-4].block$/.test(file) ? "EIO" : undefined;
  let monotonicMs = 0;
  store = await openAt(dir, { monotonicMs: () => monotonicMs });
  expect(store.stats().start.lost.length).toBe(4);
  expect(await dump(store)).toEqual([]);
  await store.maintain();
  await store.close();
  store = await openAt(dir, { monotonicMs: () => monotonicMs });
  put(store, 1_000_000, [[named("other"), 1]]);
  await store.delete([[{ name: "__name__", op: "=", value: "other" }]]);
  faults.rule = undefined;
  monotonicMs += minuteMs;
  await store.maintain();
  expect(store.problems()).toEqual([]);
  expect(await dump(store)).toEqual(before);
  await store.close();
});

test("queries over what cannot be read warn how many series may be incomplete", async () => {
  const dir = folders.make();
  let store = await openAt(dir);
  await fill(store);
  await store.close();
  store = await openAt(dir);
  const warningsOf = async (query: string, selects?: SharedSelects): Promise<readonly string[]> => {
    const { warnings } = await createEngine().instant(query, 399_000, store, { selects });
    return warnings;
  };
  const sum = "sum(count_over_time(power[10m]))";
  expect(await warningsOf(sum)).toEqual([]);
  await store.close();
  faults.rule = onFirstPageOf("0000000002.block");
  store = await openAt(dir);
  const page = (series: number) => [
    `page 0 of block 2 cannot be read: ${series} series may be incomplete`,
  ];
  expect(await warningsOf(sum)).toEqual(page(10));
  expect(await warningsOf(sum, new SharedSelects())).toEqual(page(10));
  expect(await warningsOf('power{gpu="3"}[10m]')).toEqual(page(1));
  expect(await warningsOf("power[1m]")).toEqual([]);
  await store.close();
  faults.rule = (operation, file) =>
    operation === "open" && file.endsWith("0000000003.block") ? "EIO" : undefined;
  store = await openAt(dir);
  expect(await warningsOf(sum)).toEqual(["block 3 cannot be opened: results may be incomplete"]);
  await store.close();
});

test("a merge carries columns along whose labels are not known", async () => {
  const dir = folders.make();
  const store = await openAt(dir);
  await fill(store);
  await store.close();
  rmSync(path.join(dir, "series-1.log"));
  const again = await openAt(dir);
  await again.maintain();
  expect(again.stats()).toMatchObject({ blocks: 1, blockSamples: 4000 });
  await again.close();
});

const hourMs = 3_600_000;
const rollingUp = { rollEveryMs: hourMs, rollupRetentionMs: 1e15, retentionNowMs: () => 1e12 };

/** A sample a minute of ten series for six hours, in blocks of two hours that are not merged. */
async function fillHours(store: Store): Promise<void> {
  for (let minute = 1; minute <= 400; minute++) {
    put(
      store,
      minute * minuteMs,
      Array.from({ length: 10 }, (_, gpu) => [named("power", { gpu: String(gpu) }), minute]),
    );
    if (minute % 120 === 0 || minute === 400) await store.seal();
  }
}

const hourly = "sum(count_over_time(power[1h]))";
async function countHours(store: Store) {
  const { data, infos } = await store.range(hourly, hourMs, 6 * hourMs, hourMs);
  const [found] = data.type === "matrix" ? data.series : [];
  return { counts: [...(found?.values ?? [])], isRolledUp: infos.join().includes("rollups") };
}
const allHours = [600, 600, 600, 600, 600, 600];

test("what was rolled up without a page that could not be read is rolled up again after a restart", async () => {
  const dir = folders.make();
  let store = await openAt(dir, rollingUp);
  await fillHours(store);
  faults.rule = onFirstPageOf("0000000002.block");
  for (let round = 0; round < 8; round++) await store.maintain();
  expect(faults.failed).toBeGreaterThan(0);
  await store.close();
  faults.rule = undefined;
  store = await openAt(dir, rollingUp);
  expect((await countHours(store)).counts).toEqual(allHours);
  for (let round = 0; round < 8; round++) await store.maintain();
  expect(await countHours(store)).toEqual({ counts: allHours, isRolledUp: true });
  await store.close();
});

test("what was rolled up without a block that could not be opened is rolled up again after a restart", async () => {
  const dir = folders.make();
  let store = await openAt(dir);
  await fillHours(store);
  await store.close();
  faults.rule = (operation, file) =>
    operation === "open" && file.endsWith("0000000002.block") ? "EIO" : undefined;
  store = await openAt(dir, rollingUp);
  for (let round = 0; round < 8; round++) await store.maintain();
  await store.close();
  faults.rule = undefined;
  store = await openAt(dir, rollingUp);
  expect((await countHours(store)).counts).toEqual(allHours);
  for (let round = 0; round < 8; round++) await store.maintain();
  expect(await countHours(store)).toEqual({ counts: allHours, isRolledUp: true });
  await store.close();
});

test("raw samples answer while a rollup cannot be opened", async () => {
  const dir = folders.make();
  let store = await openAt(dir, rollingUp);
  await fillHours(store);
  for (let round = 0; round < 8; round++) await store.maintain();
  expect(await countHours(store)).toEqual({ counts: allHours, isRolledUp: true });
  await store.close();
  faults.rule = (operation, file) =>
    operation === "open" && file.endsWith("-1h.block") ? "EIO" : undefined;
  let monotonicMs = 0;
  store = await openAt(dir, { ...rollingUp, monotonicMs: () => monotonicMs });
  expect((await countHours(store)).counts).toEqual(allHours);
  // A late sample makes a part outdated; nothing is made twice when the file can be opened again.
  put(store, 90.5 * minuteMs, [[named("power", { gpu: "0" }), 1]]);
  await store.seal();
  await store.maintain();
  const withLate = [600, 601, 600, 600, 600, 600];
  expect((await countHours(store)).counts).toEqual(withLate);
  faults.rule = undefined;
  monotonicMs += minuteMs;
  for (let round = 0; round < 4; round++) await store.maintain();
  expect(await countHours(store)).toEqual({ counts: withLate, isRolledUp: true });
  await store.close();
});

test("a rollup that could not be opened and is then lost is made again, and nothing is wrong meanwhile", async () => {
  const dir = folders.make();
  let store = await openAt(dir, rollingUp);
  await fillHours(store);
  for (let round = 0; round < 8; round++) await store.maintain();
  await store.close();
  faults.rule = (operation, file) =>
    operation === "open" && file.endsWith("-1h.block") ? "EIO" : undefined;
  let monotonicMs = 0;
  store = await openAt(dir, { ...rollingUp, monotonicMs: () => monotonicMs });
  for (const file of readdirSync(path.join(dir, "rollups")))
    if (file.endsWith("-1h.block")) rmSync(path.join(dir, "rollups", file));
  faults.rule = undefined;
  monotonicMs += minuteMs;
  for (let round = 0; round < 4; round++) {
    expect((await countHours(store)).counts).toEqual(allHours);
    await store.maintain();
  }
  expect(await countHours(store)).toEqual({ counts: allHours, isRolledUp: true });
  expect([store.stats().lost, store.problems()]).toEqual([[], []]);
  await store.close();
});

test("samples deleted while their block cannot be opened stay deleted when it can be", async () => {
  const dir = folders.make();
  let store = await openAt(dir);
  await fill(store);
  await store.close();
  faults.rule = (operation, file) =>
    operation === "open" && file.endsWith("0000000002.block") ? "EIO" : undefined;
  let monotonicMs = 0;
  store = await openAt(dir, { monotonicMs: () => monotonicMs });
  await store.delete([[{ name: "gpu", op: "=", value: "3" }]]);
  await store.maintain();
  faults.rule = undefined;
  monotonicMs += minuteMs;
  await store.maintain();
  expect(store.problems()).toEqual([]);
  const lines = await dump(store);
  expect(lines.filter((line) => line.includes("gpu:3"))).toEqual([]);
  expect(samplesOf(lines)).toBe(3600);
  await store.close();
});
