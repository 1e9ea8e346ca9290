import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { origin, power, replaceIn } from "../../test/fixtures/lake/frames.ts";
import { silentLog } from "../base/log.ts";
import { FolderFiles } from "../net/objects/folder.ts";
import type { FileStore } from "../net/objects/store.ts";
import { readHistory } from "./history.ts";
import { runLakeJob } from "./job.ts";
import { Upkeep } from "./upkeep.ts";
import { verifyLake } from "./verify.ts";
import { LakeWriter } from "./writer.ts";

const day = Date.UTC(2026, 0, 15);
const { signal } = new AbortController();
const first = "gpu/date=2026-01-15/gpu-metrics.p0.o0.parquet";
let folder = "";
let files: FileStore;

const shared = (store: FileStore = files) => ({
  files: store,
  workers: { run: runLakeJob, close: async () => {} },
  id: "w",
  version: "0",
  log: silentLog,
  nowMs: () => day,
  random: () => 0,
});

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "gpulse-verify-"));
  files = new FolderFiles(folder);
  const writer = new LakeWriter(shared());
  for (const at of [0, 1]) {
    await writer.take(power(day + at, at), origin(at), signal);
    await writer.flush(signal);
  }
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const kinds = async (quick = false): Promise<string[]> =>
  (await verifyLake(files, { quick })).problems.map(({ kind }) => kind);

test("a lake as it was written has no problems, and its offsets are listed", async () => {
  expect(await verifyLake(files)).toMatchObject({
    sequence: 2,
    files: 2,
    rows: 2,
    offsets: [{ log: "gpu-metrics", partition: 0, first: 0, last: 1 }],
    waiting: 0,
    problems: [],
  });
});

test.each([
  ["missing", async () => files.remove(first)],
  ["changed", async () => files.write(first, new Uint8Array(10))],
  ["stray", async () => files.write(`${first}-2.parquet`, await files.read(first))],
] as const)("a file that is %s is found", async (kind, harm) => {
  await harm();
  expect(await kinds()).toEqual([kind]);
});

test("damaged pages are found by reading them, not by the footer alone", async () => {
  const bytes = Buffer.from(await files.read(first));
  bytes.fill(255, 8, 200);
  await files.write(first, bytes);
  expect(await kinds()).toEqual(["unreadable"]);
  expect(await kinds(true)).toEqual([]);
});

test("a row that was written twice without offsets is found, and compacting leaves one", async () => {
  const writer = new LakeWriter(shared());
  writer.put(power(day, 0));
  await writer.flush(signal);
  expect(await kinds()).toEqual(["duplicates"]);
  await new Upkeep({ ...shared(), minFiles: 2 }).run(signal);
  expect(await kinds()).toEqual([]);
  expect((await verifyLake(files)).rows).toBe(2);
});

test("a merge that was killed after its commit is unfinished until somebody compacts", async () => {
  const dying = replaceIn(files, {
    move: async () => {
      throw new Error("killed here");
    },
  });
  await new Upkeep({ ...shared(dying), minFiles: 2 }).run(signal);
  expect(await kinds()).toEqual(["unfinished"]);
  await new Upkeep({ ...shared(), minFiles: 2 }).run(signal);
  expect(await kinds()).toEqual([]);
});

test("the history has every commit with its rows, files and offsets, newest first", async () => {
  await new Upkeep({ ...shared(), minFiles: 2 }).run(signal);
  const range = (from: number, to: number) => [
    { log: "gpu-metrics", partition: 0, first: from, last: to },
  ];
  expect(await readHistory(files, 10)).toMatchObject([
    {
      sequence: 3,
      operation: "merge",
      filesAdded: 1,
      filesRemoved: 2,
      rows: 2,
      offsets: range(0, 1),
    },
    { sequence: 2, operation: "append", filesAdded: 1, rows: 1, timeMs: day, offsets: range(1, 1) },
    { sequence: 1, operation: "append", filesAdded: 1, rows: 1, offsets: range(0, 0) },
  ]);
  expect(await readHistory(files, 1)).toHaveLength(1);
});
