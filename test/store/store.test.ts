import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterEach, expect, test } from "vitest";
import { readHistogram } from "../../src/model/histogram/notation.ts";
import { restoreSnapshot } from "../../src/storage/embedded/files/snapshot.ts";
import { buildStoreWorker } from "./worker-file.ts";
import { dayMs, dump, Folders, named, nowMs, openAt, put } from "./folder.ts";

const folders = new Folders();
afterEach(() => folders.remove());

test("an identical duplicate is accepted, a conflicting one refused, a late one kept, each distinguished", async () => {
  const dir = folders.make();
  const store = await openAt(dir);
  const [a, b] = [named("a"), named("b")];
  expect(
    put(store, 2000, [
      [a, 1],
      [b, 1],
    ]),
  ).toMatchObject({ stored: 2, late: 0 });
  expect(
    put(store, 2000, [
      [a, 1],
      [b, 2],
    ]),
  ).toMatchObject({
    stored: 0,
    duplicates: 1,
    refusedConflicts: 1,
    refusals: [{ timeMs: 2000, why: "conflict" }],
  });
  expect(put(store, 1000, [[a, 5]])).toMatchObject({ stored: 1, late: 1 });
  expect(put(store, 1000, [[a, 5]])).toMatchObject({ stored: 0, duplicates: 1 });
  await store.seal();
  expect(put(store, 1000, [[a, 6]])).toMatchObject({ refusedConflicts: 1 });
  expect(put(store, 0, [[a, 0]])).toMatchObject({ stored: 1, late: 1 });
  expect(put(store, -1, [[a, 0]])).toMatchObject({ refusedTooOld: 1 });
  expect(put(store, Number.NaN, [[a, 0]])).toMatchObject({ refusedTooOld: 1 });
  expect(await dump(store)).toEqual(["__name__:a 0=0 1000=5 2000=1", "__name__:b 2000=1"]);
  await store.close();
});

test("one request that says the same instant twice keeps the first, also after a restart", async () => {
  const dir = folders.make();
  let store = await openAt(dir);
  expect(
    put(store, 1000, [
      [named("a"), 1],
      [named("a"), 1],
      [named("a"), 2],
    ]),
  ).toMatchObject({
    stored: 1,
    duplicates: 1,
    refusedConflicts: 1,
  });
  await store.close();
  store = await openAt(dir);
  expect(await dump(store)).toEqual(["__name__:a 1000=1"]);
  await store.close();
});

test("samples older than retention are refused, and blocks past it are let go with their series", async () => {
  const dir = folders.make();
  let clock = nowMs;
  const options = {
    retentionMs: 10 * dayMs,
    retentionNowMs: () => clock,
    removalGraceMs: 0,
  };
  let store = await openAt(dir, options);
  expect(put(store, nowMs - 11 * dayMs, [[named("a"), 1]])).toMatchObject({ refusedTooOld: 1 });
  put(store, nowMs - 9 * dayMs, [
    [named("old", { pod: "x" }), 1],
    [named("lasting"), 1],
  ]);
  await store.seal();
  put(store, nowMs, [[named("lasting"), 2]]);
  await store.seal();
  clock += 5 * dayMs;
  put(store, clock, [[named("lasting"), 3]]);
  await store.seal();
  await store.maintain();
  expect(await dump(store)).toEqual([`__name__:lasting ${nowMs}=2 ${clock}=3`]);
  expect(store.stats()).toMatchObject({ series: 1, blocks: 2 });
  expect(await store.labelNames([], 0, Infinity)).toEqual(["__name__"]);
  await store.close();
  store = await openAt(dir, options);
  expect(store.stats()).toMatchObject({ series: 1, lost: [] });
  await store.close();
});

test("the store stays within its size, oldest first", async () => {
  const store = await openAt(folders.make(), { retentionBytes: 3000 });
  for (let i = 0; i < 30; i++) {
    for (let k = 0; k < 40; k++) put(store, (i * 40 + k) * 1000, [[named("a"), Math.sin(i * k)]]);
    await store.seal();
    await store.maintain();
  }
  const { blockBytes, minTimeMs, maxTimeMs } = store.stats();
  expect(blockBytes).toBeLessThanOrEqual(3000);
  expect(minTimeMs).toBeGreaterThan(0);
  expect(maxTimeMs).toBe((30 * 40 - 1) * 1000);
  await store.close();
});

test("series that come and go do not make the store grow", async () => {
  const dir = folders.make();
  let clock = nowMs;
  const store = await openAt(dir, {
    retentionMs: dayMs,
    retentionNowMs: () => clock,
    removalGraceMs: 0,
  });
  for (let day = 0; day < 12; day++) {
    put(
      store,
      clock,
      Array.from({ length: 200 }, (_, i) => [named("a", { pod: `${day}-${i}` }), i]),
    );
    await store.seal();
    clock += dayMs;
    await store.maintain();
  }
  expect(store.stats().series).toBeLessThanOrEqual(400);
  await store.close();
});

test("after much churn the index is made again, and the series that are left keep their samples", async () => {
  const dir = folders.make();
  let clock = nowMs;
  const options = { retentionMs: dayMs, retentionNowMs: () => clock, removalGraceMs: 0 };
  let store = await openAt(dir, options);
  put(
    store,
    clock,
    Array.from({ length: 51_000 }, (_, i) => [named("a", { pod: `pod-${i}` }), i]),
  );
  await store.seal();
  clock += dayMs - 1000;
  const left = [10, 20, 30].map((i) => named("a", { pod: `pod-${i}` }));
  put(
    store,
    clock,
    left.map((labels, i) => [labels, i]),
  );
  await store.seal();
  clock += 60_000;
  await store.maintain();
  expect(existsSync(path.join(dir, "series-2.log"))).toBe(true);
  const want = ["10", "20", "30"].map((i, k) => `__name__:a,pod:pod-${i} ${clock - 60_000}=${k}`);
  expect(await dump(store)).toEqual(want);
  put(store, clock, [[named("new"), 7]]);
  await store.close();
  store = await openAt(dir, options);
  expect(await dump(store)).toEqual([...want, `__name__:new ${clock}=7`]);
  expect(store.stats()).toMatchObject({ series: 4, lost: [] });
  await store.close();
}, 60_000);

test("blocks are merged, and what was in four is in one", async () => {
  const store = await openAt(folders.make());
  for (let i = 0; i < 8; i++) {
    put(store, 1000 + i, [
      [named("a"), i],
      [named("b"), i],
    ]);
    await store.seal();
  }
  const before = await dump(store);
  expect(store.stats().blocks).toBe(8);
  await store.maintain();
  expect(store.stats().blocks).toBeLessThan(4);
  expect(await dump(store)).toEqual(before);
  await store.close();
});

test("a worker thread seals and merges as this thread does, while samples keep coming", async () => {
  const dir = folders.make();
  const store = await openAt(dir, { workerFile: await buildStoreWorker(dir) });
  for (let i = 0; i < 300; i++) {
    put(store, i * 1000, [
      [named("a"), i],
      [named("b"), i / 10],
    ]);
    if (i % 50 === 49) void store.seal();
  }
  await store.seal();
  await store.maintain();
  const [a = ""] = await dump(store);
  expect(a.split(" ").length - 1).toBe(300);
  expect(store.stats()).toMatchObject({ headSamples: 0, lost: [] });
  await store.close();
});

test("more series than the limits allow are refused with their reason, and those that are there go on", async () => {
  const store = await openAt(folders.make(), { limits: { maxSeries: 3, maxSeriesPerTarget: 2 } });
  const one = (i: number, instance: string) => named(`m${i}`, { instance });
  expect(
    put(store, 1, [
      [one(0, "x"), 1],
      [one(1, "x"), 1],
      [one(2, "x"), 1],
    ]),
  ).toMatchObject({
    stored: 2,
    refusedByLimit: 1,
    refusals: [{ why: "limit" }],
  });
  expect(
    put(store, 2, [
      [one(0, "x"), 2],
      [one(0, "y"), 1],
      [one(1, "y"), 1],
    ]),
  ).toMatchObject({
    stored: 2,
    refusedByLimit: 1,
  });
  expect(store.stats().appended).toMatchObject({ stored: 4, refusedByLimit: 2 });
  await store.close();
});

test("what is deleted is gone at once and for good, and may be written again", async () => {
  const dir = folders.make();
  let store = await openAt(dir);
  for (let i = 1; i <= 4; i++)
    put(store, i * 1000, [
      [named("a"), i],
      [named("b"), i],
    ]);
  await store.delete([[{ name: "__name__", op: "=", value: "a" }]], 2000, 3000);
  const left = ["__name__:a 1000=1 4000=4", "__name__:b 1000=1 2000=2 3000=3 4000=4"];
  expect(await dump(store)).toEqual(left);
  await store.close();
  store = await openAt(dir);
  expect(await dump(store)).toEqual(left);
  expect(put(store, 2000, [[named("a"), 22]])).toMatchObject({ stored: 1 });
  await store.maintain();
  expect((await dump(store))[0]).toBe("__name__:a 1000=1 2000=22 4000=4");
  await store.delete([[]]);
  expect(await dump(store)).toEqual([]);
  expect(await store.series([], 0, Infinity)).toEqual([]);
  await store.maintain();
  expect(store.stats()).toMatchObject({ series: 0, blocks: 0 });
  await store.close();
});

test("a snapshot is the store as it was, and is restored into an empty folder only", async () => {
  const dir = folders.make();
  const store = await openAt(dir);
  put(store, 1000, [[named("a"), 1]]);
  const [copy, back] = [path.join(folders.make(), "copy"), path.join(folders.make(), "back")];
  await store.snapshot(copy);
  put(store, 2000, [[named("a"), 2]]);
  await store.close();
  restoreSnapshot(copy, back);
  expect(() => restoreSnapshot(copy, back)).toThrow(/is not empty/);
  const restored = await openAt(back);
  expect(await dump(restored)).toEqual(["__name__:a 1000=1"]);
  put(restored, 3000, [[named("a"), 3]]);
  await restored.close();
  const untouched = await openAt(copy);
  expect(await dump(untouched)).toEqual(["__name__:a 1000=1"]);
  await untouched.close();
});

test("a folder in use is refused with the owner's number; a lock whose owner is gone is taken over", async () => {
  const dir = folders.make();
  const store = await openAt(dir);
  await expect(openAt(dir)).rejects.toThrow(`in use by process ${process.pid}`);
  await store.close();
  expect(existsSync(path.join(dir, "lock"))).toBe(false);
  const gone = spawnSync(process.execPath, ["-e", "process.stdout.write(String(process.pid))"]);
  writeFileSync(path.join(dir, "lock"), `${gone.stdout.toString()} 12345\n`);
  await (await openAt(dir)).close();
  // The number lives on in another process: it started at another time.
  writeFileSync(path.join(dir, "lock"), `${process.ppid} 1\n`);
  await (await openAt(dir)).close();
  const start = readFileSync(`/proc/${process.ppid}/stat`, "latin1").split(") ")[1]?.split(" ")[19];
  writeFileSync(path.join(dir, "lock"), `${process.ppid} ${start}\n`);
  await expect(openAt(dir)).rejects.toThrow(`in use by process ${process.ppid}`);
});

test("durable waits for the disk where power cuts are to be survived", async () => {
  const store = await openAt(folders.make(), { durability: "power" });
  put(store, 1000, [[named("a"), 1]]);
  await store.durable();
  await Promise.all([store.durable(), store.durable()]);
  await store.close();
});

test("series scraped together share one array of instants", async () => {
  const store = await openAt(folders.make());
  for (let i = 0; i < 100; i++) {
    const names = i === 50 ? ["a", "b"] : ["a", "b", "c"];
    put(
      store,
      i * 1000,
      names.map((name) => [named(name), i]),
    );
  }
  for (const sealed of [false, true]) {
    if (sealed) await store.seal();
    const [a, b, c] = await store.select([{ name: "__name__", op: "!=", value: "" }], 0, Infinity);
    expect(a?.column.times).toBe(b?.column.times);
    expect(c?.column.times.length).toBe(99);
  }
  await store.close();
});

test("label names and values come from series with samples in the range", async () => {
  const store = await openAt(folders.make());
  put(store, 1000, [[named("a", { x: "1" }), 1]]);
  await store.seal();
  put(store, 9000, [[named("b", { y: "2" }), 1]]);
  expect(await store.labelNames([], 0, Infinity)).toEqual(["__name__", "x", "y"]);
  expect(await store.labelNames([], 5000, Infinity)).toEqual(["__name__", "y"]);
  expect(await store.labelValues("__name__", [], 0, 5000)).toEqual(["a"]);
  expect(
    await store.labelValues("x", [[{ name: "__name__", op: "=", value: "b" }]], 0, Infinity),
  ).toEqual([]);
  expect(await store.series([[{ name: "y", op: "=", value: "2" }]], 0, Infinity)).toEqual([
    named("b", { y: "2" }),
  ]);
  await store.close();
});

test("after a seal the log before it is gone", async () => {
  const dir = folders.make();
  const store = await openAt(dir, { segmentBytes: 512 });
  for (let i = 0; i < 50; i++) put(store, i, [[named("a"), i]]);
  expect(readdirSync(path.join(dir, "wal")).length).toBeGreaterThan(3);
  await store.seal();
  expect(readdirSync(path.join(dir, "wal")).filter((file) => file.endsWith(".wal")).length).toBe(1);
  await store.close();
});

test("a subquery sees a reset that lies between two of its steps", async () => {
  const store = await openAt(folders.make());
  const appender = store.appender();
  const ref = appender.ref(named("latency_seconds"));
  // A reset between two steps of a minute.
  [10, 20, 30, 2, 25, 40, 50, 60].forEach((count, at) => {
    const histogram = readHistogram(`{{schema:0 count:${count} sum:1 buckets:[${count}]}}`);
    appender.addHistogram(ref, at * 30_000, histogram);
  });
  appender.commit();
  const query = "histogram_count(increase(latency_seconds[3m:1m]))";
  const before = await store.instant(query, 180_000);
  await store.seal();
  expect(await store.instant(query, 180_000)).toMatchObject({ data: before.data });
  await store.close();
});
