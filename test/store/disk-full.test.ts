import { appendFileSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { spawnSync } from "node:child_process";
import path from "node:path";
import { expect, test } from "vitest";
import { StoreError } from "../../src/storage/embedded/error.ts";
import { dump, Folders, named, openAt, put } from "./folder.ts";

/** A file system of 2 MB; undefined where this user may not mount one. */
function smallDisk(): { dir: string; unmount: () => void } | undefined {
  const folders = new Folders();
  const dir = path.join(folders.make(), "disk");
  mkdirSync(dir);
  const mounted = spawnSync("mount", ["-t", "tmpfs", "-o", "size=2m", "gpulse-test", dir]);
  if (mounted.status !== 0) {
    folders.remove();
    return undefined;
  }
  return {
    dir,
    unmount: () => {
      spawnSync("umount", [dir]);
      folders.remove();
    },
  };
}

test("a full disk refuses writes in a way that can be tried again, keeps reads, and recovers by itself", async (context) => {
  const disk = smallDisk();
  if (disk === undefined) return context.skip("this user may not mount a small file system");
  const store = await openAt(path.join(disk.dir, "data"), { segmentBytes: 65_536 });
  try {
    const row = (batch: number) =>
      Array.from(
        { length: 200 },
        (_, i) =>
          [named("a", { i: String(i) }), batch + i / 7] as [ReturnType<typeof named>, number],
      );
    const ballast = path.join(disk.dir, "ballast");
    writeFileSync(ballast, Buffer.alloc(1_000_000));
    let kept = 0;
    let refusal: unknown;
    for (; kept < 10_000 && refusal === undefined; kept++) {
      try {
        put(store, 1000 + kept, row(kept));
      } catch (thrown) {
        refusal = thrown;
        kept--;
      }
    }
    expect(refusal).toBeInstanceOf(StoreError);
    expect(refusal).toMatchObject({ kind: "full", retryable: true });
    expect((await dump(store))[0]?.split(" ").length).toBe(kept + 1);
    // Upkeep fails as well, and must neither throw nor lose anything.
    await store.maintain();
    await expect(store.seal()).rejects.toThrow(/is full/);
    expect((await dump(store)).length).toBe(200);
    rmSync(ballast);
    expect(put(store, 50_000_000, row(kept))).toMatchObject({ stored: 200 });
    await store.seal();
    await store.close();
    const again = await openAt(path.join(disk.dir, "data"), { segmentBytes: 65_536 });
    expect(again.stats().lost).toEqual([]);
    const lines = await dump(again);
    expect(lines.length).toBe(200);
    expect(new Set(lines.map((line) => line.split(" ").length - 1))).toEqual(new Set([kept + 1]));
    await again.close();
  } finally {
    await store.close();
    disk.unmount();
  }
});

/** Until not one byte is left. */
function fillUp(file: string): void {
  for (const bytes of [65_536, 4_096, 1])
    try {
      for (;;) appendFileSync(file, Buffer.alloc(bytes, 1));
    } catch {
      // Full, as it should be.
    }
}

test("a store opens on a disk without a free byte, serves what is there, and stores again when there is room", async (context) => {
  const disk = smallDisk();
  if (disk === undefined) return context.skip("this user may not mount a small file system");
  const dir = path.join(disk.dir, "data");
  const ballast = path.join(disk.dir, "ballast");
  try {
    const before = await openAt(dir, { segmentBytes: 65_536 });
    put(before, 1000, [[named("a"), 1]]);
    await before.close();
    // What the hub leaves behind when it is killed.
    writeFileSync(path.join(dir, "address"), "http://127.0.0.1:9410/");
    fillUp(ballast);
    const store = await openAt(dir, { segmentBytes: 65_536 });
    expect(await dump(store)).toEqual(["__name__:a 1000=1"]);
    fillUp(ballast);
    expect(() => put(store, 2000, [[named("a"), 2]])).toThrow(StoreError);
    expect(store.problems().join()).toMatch(/is full.*less than 1 MB is free/);
    rmSync(ballast);
    put(store, 2000, [[named("a"), 2]]);
    await store.maintain();
    expect(store.problems()).toEqual([]);
    expect(await dump(store)).toEqual(["__name__:a 1000=1 2000=2"]);
    await store.close();
  } finally {
    disk.unmount();
  }
});
