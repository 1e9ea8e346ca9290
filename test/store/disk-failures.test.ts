/** A disk that refuses writes or syncs: what is there is served, the store says what is wrong, and recovers by itself. */
import { cpSync, existsSync, mkdirSync, readdirSync, rmSync } from "node:fs";
import type * as Fs from "node:fs";
import path from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import { faults } from "./faults.ts";
import { dayMs, dump, Folders, named, nowMs, openAt, put } from "./folder.ts";

vi.mock("node:fs", async (original) =>
  (await import("./faults.ts")).faultyFs(() => original<typeof Fs>()),
);

const folders = new Folders();
afterEach(() => {
  faults.rule = undefined;
  folders.remove();
});

test("a store that was killed opens on a full disk, serves what is there, says so, and recovers", async () => {
  const dir = folders.make();
  const killed = await openAt(dir);
  put(killed, 1000, [[named("a"), 1]]);
  await killed.seal();
  put(killed, 2000, [[named("a"), 2]]);
  await killed.maintain();
  await killed.close();
  expect(existsSync(path.join(dir, "reserve"))).toBe(true);
  // The reserve is the only room, and enough for the lock.
  faults.rule = (operation, file) =>
    operation === "write" && (existsSync(path.join(dir, "reserve")) || !file.includes("lock"))
      ? "ENOSPC"
      : undefined;
  const store = await openAt(dir);
  expect(await dump(store)).toEqual(["__name__:a 1000=1 2000=2"]);
  expect(() => put(store, 3000, [[named("a"), 3]])).toThrow(/is full/);
  expect(store.problems()).toEqual([expect.stringMatching(/^samples cannot be stored: .*full/)]);
  faults.rule = undefined;
  put(store, 3000, [[named("a"), 3]]);
  await store.maintain();
  expect(store.problems()).toEqual([]);
  expect(await dump(store)).toEqual(["__name__:a 1000=1 2000=2 3000=3"]);
  await store.close();
});

test("a manifest that cannot be written at the start is written when there is room", async () => {
  const dir = folders.make();
  let store = await openAt(dir);
  put(store, 1000, [[named("a"), 1]]);
  await store.seal();
  await store.close();
  // A block that is gone makes the manifest change at the start.
  rmSync(path.join(dir, "blocks", "0000000001.block"));
  faults.rule = (operation, file) =>
    operation === "write" && file.includes("manifest") ? "ENOSPC" : undefined;
  store = await openAt(dir);
  expect(store.problems().join()).toMatch(/manifest of the store cannot be written.*ENOSPC/);
  expect(store.problems().join()).toMatch(/0000000001.block is missing/);
  faults.rule = undefined;
  await store.maintain();
  expect(store.problems().join()).not.toMatch(/manifest/);
  await store.close();
  expect((await openAt(dir)).stats().start.lost).toEqual([]);
});

/** What another process finds that starts after this one is killed. */
function copyOfKilled(dir: string): string {
  const copy = folders.make();
  cpSync(dir, copy, { recursive: true, filter: (file) => !path.basename(file).startsWith("lock") });
  return copy;
}

test("a manifest that was replaced and whose folder cannot be synced counts: neither its blocks nor the log are lost", async () => {
  const dir = folders.make();
  const store = await openAt(dir);
  for (let block = 0; block < 4; block++) {
    put(store, 1000 + block, [[named("a"), block]]);
    if (block === 1) faults.rule = undefined;
    if (block === 0)
      faults.rule = (operation, file) =>
        operation === "fsync" && file === dir ? "EIO" : undefined;
    const sealing = store.seal();
    if (block === 0) await expect(sealing).rejects.toThrow("EIO");
    else await sealing;
    const expected = `__name__:a ${Array.from({ length: block + 1 }, (_, i) => `${1000 + i}=${i}`).join(" ")}`;
    const after = await openAt(copyOfKilled(dir));
    expect(after.stats().lost).toEqual([]);
    expect(await dump(after)).toEqual([expected]);
    await after.close();
  }
  // Merging four blocks.
  faults.rule = (operation, file) => (operation === "fsync" && file === dir ? "EIO" : undefined);
  await store.maintain();
  expect(store.problems().join()).toMatch(/upkeep of the store fails.*EIO/);
  faults.rule = undefined;
  const after = await openAt(copyOfKilled(dir));
  expect(after.stats().lost).toEqual([]);
  expect(await dump(after)).toEqual(["__name__:a 1000=0 1001=1 1002=2 1003=3"]);
  await after.close();
  await store.close();
});

test("a block whose folder cannot be synced fails with that error, closes its file once and leaves nothing", async () => {
  const dir = folders.make();
  const store = await openAt(dir);
  put(store, 1000, [[named("a"), 1]]);
  const blocks = path.join(dir, "blocks");
  faults.rule = (operation, file) => (operation === "fsync" && file === blocks ? "EIO" : undefined);
  await expect(store.seal()).rejects.toThrow("EIO");
  expect(readdirSync(blocks)).toEqual([]);
  faults.rule = undefined;
  await store.seal();
  expect(await dump(store)).toEqual(["__name__:a 1000=1"]);
  await store.close();
});

const walOf = (dir: string): string[] =>
  readdirSync(path.join(dir, "wal")).filter((file) => /\.wal/.test(file));

test("a bad sector of the log loses the records in it: the rest is served, the loss counted, the file set aside", async () => {
  const dir = folders.make();
  let store = await openAt(dir);
  for (let i = 0; i < 1_000; i++) put(store, 1000 + i, [[named("a"), i]]);
  await store.close();
  // Every read that covers the sector fails, wherever it begins.
  faults.rule = (operation, file, offset, length) =>
    operation === "read" && file.endsWith(".wal") && offset <= 8_192 && offset + length > 8_192
      ? "EIO"
      : undefined;
  store = await openAt(dir);
  const [line = ""] = await dump(store);
  const found = line.split(" ").length - 1;
  expect(found).toBeGreaterThan(800);
  expect(found).toBeLessThan(1_000);
  expect(store.stats()).toMatchObject({ lostSamples: 1_000 - found });
  expect(store.problems().join()).toMatch(/4096 bytes of .*wal cannot be read/);
  await store.seal();
  expect(walOf(dir)).toContain("0000000001.wal.damaged");
  await store.close();
});

test.each(["0000000001.wal", "series-1.log", "series-1.check"])(
  "an I/O error on %s that passes within a second loses nothing",
  async (name) => {
    const dir = folders.make();
    let store = await openAt(dir);
    put(store, 1000, [[named("a"), 1]]);
    await store.close();
    const untilMs = performance.now() + 400;
    faults.rule = (operation, file) =>
      operation === "read" && file.endsWith(name) && performance.now() < untilMs
        ? "EIO"
        : undefined;
    store = await openAt(dir);
    expect(await dump(store)).toEqual(["__name__:a 1000=1"]);
    expect(store.stats().lost).toEqual([]);
    await store.close();
  },
);

test("leftovers that cannot be removed do not keep a store from opening or closing", async () => {
  const dir = folders.make();
  await (await openAt(dir)).close();
  // Folders in the place of files: removing them as files fails.
  for (const name of ["wal/next.tmp", "blocks/0000000007.block.tmp"])
    mkdirSync(path.join(dir, name, "in-the-way"), { recursive: true });
  const store = await openAt(dir);
  put(store, 1000, [[named("a"), 1]]);
  await store.close();
});

test("a write error is a problem until a write succeeds", async () => {
  const store = await openAt(folders.make());
  faults.rule = (operation, file) =>
    operation === "write" && file.endsWith(".wal") ? "EIO" : undefined;
  expect(() => put(store, 1000, [[named("a"), 1]])).toThrow(/EIO/);
  expect(store.problems()).toEqual([expect.stringMatching(/^samples cannot be stored: .*EIO/)]);
  faults.rule = undefined;
  put(store, 1000, [[named("a"), 1]]);
  expect(store.problems()).toEqual([]);
  await store.close();
});

test("after a failed sync nothing is acknowledged until a block holds the samples: the next sync may succeed without them", async () => {
  let monotonicMs = 0;
  const store = await openAt(folders.make(), {
    durability: "power",
    monotonicMs: () => monotonicMs,
  });
  put(store, 1000, [[named("a"), 1]]);
  faults.rule = (operation, file) =>
    operation === "fsync" && file.endsWith(".wal") ? "EIO" : undefined;
  await expect(store.durable()).rejects.toThrow(/cannot be put on the disk.*EIO/);
  faults.rule = undefined;
  await expect(store.durable()).rejects.toThrow(/EIO/);
  expect(store.problems()).toEqual([expect.stringMatching(/cannot be put on the disk/)]);
  monotonicMs += 60_000;
  await store.maintain();
  expect(store.stats()).toMatchObject({ headSamples: 0, blocks: 1 });
  await store.durable();
  expect(store.problems()).toEqual([]);
  await store.close();
});

test("with the default durability a failed sync is a problem too, and samples are still accepted", async () => {
  const store = await openAt(folders.make(), { manual: false });
  put(store, 1000, [[named("a"), 1]]);
  faults.rule = (operation, file) =>
    operation === "fsync" && file.endsWith(".wal") ? "EIO" : undefined;
  await expect.poll(() => store.problems().join(), { timeout: 10_000 }).toMatch(/EIO/);
  expect(put(store, 2000, [[named("a"), 2]])).toMatchObject({ stored: 1 });
  faults.rule = undefined;
  await store.maintain();
  expect(store.problems()).toEqual([]);
  await store.close();
});

test("upkeep that fails is a problem until a round succeeds, and a full disk ends the grace period", async () => {
  let clockMs = nowMs;
  const dir = folders.make();
  const store = await openAt(dir, { retentionMs: 30 * dayMs, retentionNowMs: () => clockMs });
  put(store, nowMs - 29 * dayMs, [[named("old"), 1]]);
  await store.seal();
  clockMs += 10 * dayMs;
  put(store, clockMs, [[named("new"), 2]]);
  await store.maintain();
  expect(store.stats()).toMatchObject({ removedBlocks: 1 });
  faults.rule = (operation, file) =>
    operation === "write" && file.endsWith(".wal") ? "ENOSPC" : undefined;
  expect(() => put(store, clockMs + 1, [[named("new"), 2]])).toThrow(/full/);
  await store.maintain();
  expect(store.stats()).toMatchObject({ removedBlocks: 0, removedBytes: 0 });
  expect(existsSync(path.join(dir, "blocks", "0000000001.block"))).toBe(false);
  await store.close();
});
