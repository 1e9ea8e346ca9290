import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { lakeOptions, origin, power, replaceIn } from "../../test/fixtures/lake/frames.ts";
import { FolderFiles } from "../net/objects/folder.ts";
import { type FileStore, FileStoreError } from "../net/objects/store.ts";
import { openFile } from "./decode.ts";
import { LakeManifest } from "./manifest.ts";
import { Upkeep } from "./upkeep.ts";
import { LakeWriter } from "./writer.ts";

const day = Date.UTC(2026, 0, 15);
const { signal } = new AbortController();
let folder = "";
let files: FileStore;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "gpulse-manifest-"));
  files = new FolderFiles(folder);
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const shared = (store: FileStore = files, nowMs = day) => lakeOptions(store, nowMs);
const manifestOf = async (store: FileStore = files): Promise<LakeManifest> => {
  const manifest = new LakeManifest(shared(store));
  await manifest.refresh();
  return manifest;
};

async function append(offsets: readonly number[], manifest?: LakeManifest): Promise<void> {
  const writer = new LakeWriter({ ...shared(), ...(manifest !== undefined && { manifest }) });
  for (const at of offsets) {
    await writer.take(power(day + at, at), origin(at), signal);
    await writer.flush(signal);
  }
}

async function globbedRows(): Promise<number> {
  let rows = 0;
  for (const { path, bytes } of await files.list("gpu/"))
    rows += (await openFile(files, path, bytes)).rowCount;
  return rows;
}

const numbers = (from: number, to: number): number[] =>
  Array.from({ length: to - from }, (_, at) => from + at);

test("a commit has its files with rows, bytes, times and offsets", async () => {
  await append([3, 4]);
  const { files: listed, sequence } = await manifestOf();
  expect(sequence).toBe(2);
  expect([...listed.values()]).toEqual([
    {
      path: "gpu/date=2026-01-15/gpu-metrics.p0.o3.parquet",
      rows: 1,
      bytes: expect.any(Number) as number,
      firstMs: day + 3,
      lastMs: day + 3,
      origins: [{ log: "gpu-metrics", partition: 0, first: 3, last: 3 }],
      sequence: 1,
    },
    expect.objectContaining({ firstMs: day + 4 }),
  ]);
});

test("the files of a lake from before the manifest are adopted once, and their offsets count", async () => {
  await append(numbers(0, 3));
  for (const { path } of await files.list("_commits/")) await files.remove(path);
  await append([1, 2, 3]);
  const { files: listed, sequence } = await manifestOf();
  expect([sequence, listed.size, await globbedRows()]).toEqual([2, 4, 4]);
});

test("two processes that merge the same files at once leave each row once", async () => {
  await append(numbers(0, 6));
  let arrived = 0;
  let open = (): void => {};
  const both = new Promise<void>((resolve) => (open = resolve));
  const meeting = replaceIn(files, {
    create: async (path, bytes) => {
      if (++arrived === 2) open();
      await both;
      return files.create(path, bytes);
    },
  });
  const merge = () => new Upkeep({ ...shared(meeting), minFiles: 2 }).run(signal);
  const results = await Promise.all([merge(), merge()]);
  expect(results.reduce((sum, { into }) => sum + into, 0)).toBe(1);
  expect(await globbedRows()).toBe(6);
  expect(await files.list("_pending/")).toEqual([]);
});

test("a state that another part of the process refreshes while a commit is prepared does not hide other commits", async () => {
  const manifest = new LakeManifest(shared());
  const staging = replaceIn(files, {
    write: async (path, bytes) => {
      await files.write(path, bytes);
      if (!path.startsWith("_pending/")) return;
      // Another process commits the same offset and one more; then a merge of this process refreshes the manifest.
      if ((await manifestOf()).sequence === 0) await append([0, 1]);
      await manifest.refresh();
    },
  });
  const writer = new LakeWriter({ ...shared(staging), manifest });
  await writer.take(power(day, 0), origin(0), signal);
  await writer.flush(signal);
  expect(await globbedRows()).toBe(2);
  expect((await manifestOf()).sequence).toBe(2);
});

test("a commit whose answer was lost is not made twice", async () => {
  let isLost = true;
  const flaky = replaceIn(files, {
    create: async (path, bytes) => {
      const made = await files.create(path, bytes);
      if (!isLost) return made;
      isLost = false;
      throw new FileStoreError("FILES_UNREACHABLE", "the answer is lost");
    },
  });
  const writer = new LakeWriter(shared(flaky));
  writer.put(power(day, 1));
  await writer.flush(signal);
  expect([(await manifestOf()).sequence, await globbedRows()]).toEqual([1, 1]);
});

test("a new process starts from the newest checkpoint", async () => {
  await append(numbers(0, 10), new LakeManifest({ ...shared(), checkpointEvery: 8 }));
  const before = (await manifestOf()).files;
  const read: string[] = [];
  const watched = replaceIn(files, {
    read: (path, range) => (read.push(path), files.read(path, range)),
  });
  expect((await manifestOf(watched)).files).toEqual(before);
  expect(read[0]).toMatch(/checkpoint/);
  expect(read.length).toBe(3);
});

test("old commits are removed an hour later, and a process that slept meanwhile goes on from the checkpoint", async () => {
  await append([0]);
  const slept = new LakeWriter(shared());
  await slept.take(power(day + 0, 0), origin(0), signal);
  const later = shared(files, Date.now() + 3_700_000);
  const busy = new LakeWriter({
    ...later,
    manifest: new LakeManifest({ ...later, checkpointEvery: 4, retainedCommits: 4 }),
  });
  for (const at of numbers(1, 14)) {
    await busy.take(power(day + at, at), origin(at), signal);
    await busy.flush(signal);
  }
  const left = (await files.list("_commits/")).map(({ path }) => path);
  expect(left).not.toContain("_commits/000000000002.json");
  expect(left.length).toBeLessThan(10);
  for (const at of numbers(12, 18)) await slept.take(power(day + at, at), origin(at), signal);
  await slept.flush(signal);
  expect([(await manifestOf()).files.size, await globbedRows()]).toEqual([15, 18]);
});

test("a file that waits for a commit is removed after a day, not before", async () => {
  await append([0]);
  const abandoned = "_pending/00000000-0000-0000-0000-000000000000.0.parquet";
  await files.write(abandoned, new Uint8Array(4));
  const upkeepAt = (nowMs: number) => new Upkeep(shared(files, nowMs)).finish(signal);
  await upkeepAt(Date.now());
  expect((await files.list("_pending/")).map(({ path }) => path)).toEqual([abandoned]);
  await upkeepAt(Date.now() + 2 * 86_400_000);
  expect(await files.list("_pending/")).toEqual([]);
});

test.each([
  ["damaged", (path: string) => files.write(path, Buffer.from("{"))],
  ["missing", (path: string) => files.remove(path)],
])("a %s commit stops a writer instead of hiding its files", async (_, harm) => {
  await append([0, 1, 2]);
  await harm("_commits/000000000002.json");
  await expect(append([3])).rejects.toMatchObject({ code: "LAKE_MANIFEST" });
});
