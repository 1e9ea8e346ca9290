/** Retention by matcher: what rules remove from raw samples and rollups, and that nothing else changes. */
import { readFileSync } from "node:fs";
import path from "node:path";
import { afterEach, expect, test } from "vitest";
import { Folders, dump, named, openAt } from "../../../test/store/folder.ts";
import type { Matcher } from "../../model/select.ts";
import type { StoreOptions } from "./options.ts";
import type { RetentionRule } from "./rules.ts";
import type { Store } from "./store.ts";

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** A multiple of a day. */
const startMs = Math.floor(1_750_000_000_000 / dayMs) * dayMs;
const stepMs = 600_000;

const folders = new Folders();
const stores: Store[] = [];
afterEach(async () => {
  for (const store of stores.splice(0)) await store.close();
  folders.remove();
});

const ownMatchers: readonly Matcher[] = [{ name: "__name__", op: "=~", value: "gpulse_.*" }];
const rule = (retentionDays: number, rollupDays = retentionDays): RetentionRule => ({
  match: '{__name__=~"gpulse_.*"}',
  matchers: ownMatchers,
  retentionMs: retentionDays * dayMs,
  rollupRetentionMs: rollupDays * dayMs,
});

const labels = [
  named("gpulse_up", { host: "a" }),
  named("gpulse_reads_total", { host: "a" }),
  named("gpu_power_watts", { host: "a" }),
  named("gpu_power_watts", { host: "b" }),
];

class Clock {
  ms = startMs;
}

async function open(
  dir: string,
  clock: Clock,
  options: Partial<StoreOptions> = {},
): Promise<Store> {
  const store = await openAt(dir, {
    retentionMs: 30 * dayMs,
    rollEveryMs: hourMs,
    removalGraceMs: 0,
    nowMs: () => clock.ms,
    retentionNowMs: () => clock.ms,
    ...options,
  });
  stores.push(store);
  return store;
}

async function close(store: Store): Promise<void> {
  stores.splice(stores.indexOf(store), 1);
  await store.close();
}

/** The value of a series at a time, computed without the store. */
const valueAt = (series: number, timeMs: number): number =>
  ((timeMs - startMs) / stepMs + series * 7) % 1_000;

/** Appends a sample every ten minutes of these days; seals every six hours. */
async function fill(store: Store, clock: Clock, fromDay: number, toDay: number): Promise<void> {
  for (let day = fromDay * 4; day < toDay * 4; day++) {
    const fromMs = startMs + (day * dayMs) / 4;
    const appender = store.appender();
    for (let timeMs = fromMs + stepMs; timeMs <= fromMs + dayMs / 4; timeMs += stepMs)
      for (const [series, one] of labels.entries())
        appender.add(appender.ref(one), timeMs, valueAt(series, timeMs));
    appender.commit();
    clock.ms = fromMs + dayMs / 4;
    await store.seal();
    await rounds(store, 2);
  }
}

async function rounds(store: Store, count = 10): Promise<void> {
  for (let round = 0; round < count; round++) await store.maintain();
}

/** Per series: the first and last sample as days, and the number of wrong values. */
async function raw(
  store: Store,
): Promise<Record<string, { from: number; to: number; wrong: number }>> {
  const all = await store.select([{ name: "__name__", op: "=~", value: ".+" }], 0, Infinity);
  return Object.fromEntries(
    all.map(({ labels: found, column }) => {
      const series = labels.findIndex((one) => JSON.stringify(one) === JSON.stringify(found));
      const { times, values } = column;
      let wrong = 0;
      times.forEach((timeMs, i) => {
        if (values[i] !== valueAt(series, timeMs)) wrong++;
        if (i > 0 && timeMs !== (times[i - 1] as number) + stepMs) wrong++;
      });
      const dayOf = (at: number): number => ((times.at(at) ?? Number.NaN) - startMs) / dayMs;
      return [String(series), { from: dayOf(0), to: dayOf(-1), wrong }];
    }),
  );
}

/** Samples per hour, over all series of a name, from the hour that ends at day `from`. */
async function counted(store: Store, name: string, from: number, to: number) {
  const { data, infos } = await store.range(
    `sum(count_over_time({__name__="${name}"}[1h]))`,
    startMs + from * dayMs + hourMs,
    startMs + to * dayMs,
    hourMs,
  );
  const [found] = data.type === "matrix" ? data.series : [];
  return { counts: [...(found?.values ?? [])], infos };
}

test("a rule removes the samples of its series, and of no other", async () => {
  const clock = new Clock();
  const store = await open(folders.make(), clock, { retentionRules: [rule(3)] });
  await fill(store, clock, 0, 10);
  const { 0: first, 1: second, ...others } = await raw(store);
  for (const one of [first, second]) {
    expect(one).toMatchObject({ to: 10, wrong: 0 });
    // A tenth of the retention, or half of a block, may remain beyond the retention; nothing within it is removed.
    expect(one?.from).toBeGreaterThan(5);
    expect(one?.from).toBeLessThanOrEqual(7 + stepMs / dayMs);
  }
  const whole = { from: stepMs / dayMs, to: 10, wrong: 0 };
  expect(others).toEqual({ 2: whole, 3: whole });
});

test("the shortest of several rules counts, whatever their order", async () => {
  const both = [rule(2), { ...rule(6), match: "up", matchers: ownMatchers.slice() }];
  const found: unknown[] = [];
  for (const retentionRules of [both, both.slice().reverse()]) {
    const clock = new Clock();
    const store = await open(folders.make(), clock, { retentionRules });
    await fill(store, clock, 0, 8);
    const { 0: one, 2: other } = await raw(store);
    expect(one?.from).toBeGreaterThan(5);
    expect(other?.from).toBe(stepMs / dayMs);
    found.push(one);
  }
  expect(found[0]).toEqual(found[1]);
});

test("rollups of a rule's series outlive their samples for as long as it says, and answer in their place", async () => {
  const clock = new Clock();
  const dir = folders.make();
  const options = { retentionRules: [rule(2, 20)], rollupRetentionMs: 100 * dayMs };
  const store = await open(dir, clock, options);
  await fill(store, clock, 0, 8);
  const { 0: own } = await raw(store);
  expect(own?.wrong).toBeGreaterThan(0);
  for (const name of ["gpulse_up", "gpu_power_watts"]) {
    const { counts } = await counted(store, name, 0, 8);
    expect(counts).toEqual(Array.from({ length: 8 * 24 }, () => (name === "gpulse_up" ? 6 : 12)));
  }
  // Without a range window rollups are not exact, so only the rule's series, whose raw samples are gone, are read from
  // them.
  const { infos } = await store.instant(`gpulse_up offset 5d`, clock.ms);
  expect(infos.join()).toContain("rollups answered: raw samples before");
  expect((await store.instant(`gpu_power_watts offset 5d`, clock.ms)).infos).toEqual([]);
  await close(store);
  const again = await open(dir, clock, options);
  expect((await counted(again, "gpulse_up", 0, 8)).counts).toHaveLength(8 * 24);
  expect((await again.instant(`gpulse_up offset 5d`, clock.ms)).infos).toEqual(infos);
});

test("rollups past the rule's retention are removed, those of other series stay", async () => {
  const clock = new Clock();
  const store = await open(folders.make(), clock, {
    retentionRules: [rule(2, 4)],
    rollupRetentionMs: 100 * dayMs,
    retentionMs: 5 * dayMs,
  });
  await fill(store, clock, 0, 12);
  const own = await counted(store, "gpulse_up", 0, 12);
  expect(own.counts.length).toBeGreaterThanOrEqual(4 * 24);
  expect(own.counts.length).toBeLessThan(6.5 * 24);
  expect(new Set(own.counts)).toEqual(new Set([6]));
  const other = await counted(store, "gpu_power_watts", 0, 12);
  expect(other.counts).toEqual(Array.from({ length: 12 * 24 }, () => 12));
});

test("late samples are rolled up again without losing rollups whose samples a rule removed", async () => {
  const clock = new Clock();
  const store = await open(folders.make(), clock, {
    retentionRules: [rule(2, 20)],
    rollupRetentionMs: 100 * dayMs,
  });
  await fill(store, clock, 0, 8);
  const appender = store.appender();
  for (const one of labels) appender.add(appender.ref(one), startMs + dayMs + 1_000, 1);
  appender.commit();
  await store.seal();
  await rounds(store);
  // The late sample of the rule's series is past its retention; those of the other series count.
  const own = await counted(store, "gpulse_up", 0, 8);
  expect(own.counts).toEqual(Array.from({ length: 8 * 24 }, () => 6));
  const other = await counted(store, "gpu_power_watts", 0, 8);
  expect(other.counts.reduce((sum, count) => sum + count)).toBe(8 * 24 * 12 + 2);
});

test("a rule waits for the grace period before it removes anything, also across restarts", async () => {
  const clock = new Clock();
  const dir = folders.make();
  const filled = await open(dir, clock);
  await fill(filled, clock, 0, 6);
  const before = await dump(filled);
  await close(filled);
  const options = { retentionRules: [rule(1)], removalGraceMs: 2 * hourMs };
  const first = await open(dir, clock, options);
  await rounds(first);
  expect(await dump(first)).toEqual(before);
  await close(first);
  clock.ms += hourMs;
  const second = await open(dir, clock, options);
  await rounds(second);
  expect(await dump(second)).toEqual(before);
  clock.ms += hourMs + 1;
  await rounds(second);
  const { 0: own, 2: other } = await raw(second);
  expect(own?.from).toBeGreaterThan(4);
  expect(other?.from).toBe(stepMs / dayMs);
});

test("a rule that is no longer configured removes nothing more, and its rollups still answer", async () => {
  const clock = new Clock();
  const dir = folders.make();
  const options = { rollupRetentionMs: 100 * dayMs };
  const ruled = await open(dir, clock, { ...options, retentionRules: [rule(2, 20)] });
  await fill(ruled, clock, 0, 6);
  const before = await raw(ruled);
  await close(ruled);
  const freed = await open(dir, clock, { ...options, retentionRules: [] });
  expect(freed.stats().rules()).toHaveLength(1);
  await fill(freed, clock, 6, 9);
  expect(freed.stats().rules()).toEqual([]);
  expect((await raw(freed))[0]?.from).toBe(before[0]?.from);
  const { counts } = await counted(freed, "gpulse_up", 0, 9);
  expect(counts).toEqual(Array.from({ length: 9 * 24 }, () => 6));
});

test("a program that opens the folder without rules leaves them as they are", async () => {
  const clock = new Clock();
  const dir = folders.make();
  const ruled = await open(dir, clock, { retentionRules: [rule(2)] });
  await fill(ruled, clock, 0, 4);
  await close(ruled);
  const manifest = (): unknown =>
    (
      JSON.parse(readFileSync(path.join(dir, "manifest.json"), "utf8").split("\n")[0] ?? "") as {
        rules: unknown;
      }
    ).rules;
  const before = manifest();
  const other = await open(dir, clock);
  await rounds(other);
  await close(other);
  expect(manifest()).toEqual(before);
});

test("a store that receives nothing removes nothing by a rule", async () => {
  const clock = new Clock();
  const store = await open(folders.make(), clock, { retentionRules: [rule(3)] });
  await fill(store, clock, 0, 2);
  const before = await dump(store);
  clock.ms += 50 * dayMs;
  await rounds(store);
  expect(await dump(store)).toEqual(before);
});

test("statistics list each rule with its series and how far it has removed", async () => {
  const clock = new Clock();
  const store = await open(folders.make(), clock, { retentionRules: [rule(3)] });
  await fill(store, clock, 0, 6);
  const [found] = store.stats().rules();
  expect(found).toMatchObject({
    match: '{__name__=~"gpulse_.*"}',
    retentionMs: 3 * dayMs,
    rollupRetentionMs: 3 * dayMs,
    series: 2,
  });
  expect(found?.removedBeforeMs).toBeGreaterThan(startMs);
  expect(found?.removedBeforeMs).toBeLessThanOrEqual(startMs + 3 * dayMs);
});

test("a snapshot carries what rules have removed", async () => {
  const clock = new Clock();
  const options = { retentionRules: [rule(2, 20)], rollupRetentionMs: 100 * dayMs };
  const store = await open(folders.make(), clock, options);
  await fill(store, clock, 0, 6);
  const copy = path.join(folders.make(), "copy");
  await store.snapshot(copy);
  const restored = await open(copy, clock, options);
  expect((await counted(restored, "gpulse_up", 0, 6)).counts).toHaveLength(6 * 24);
  expect(restored.stats().rules()).toEqual(store.stats().rules());
});
