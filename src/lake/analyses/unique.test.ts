// Files in which no row can be a duplicate are read without grouping, with the same results.

import { copyFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { analyseLake, objects } from "../../../test/fixtures/lake/analyses.ts";
import { device, frame } from "../../../test/fixtures/lake/frames.ts";
import { silentLog } from "../../base/log.ts";
import { gpu } from "../../model/catalogue/index.ts";
import { FolderFiles } from "../../net/objects/folder.ts";
import { runLakeJob } from "../job.ts";
import { LakeWriter } from "../writer.ts";
import { listLake } from "./lake-files.ts";
import { readParameters } from "./parameters.ts";

let folder = "";
let files: FolderFiles;
const startMs = Date.UTC(2026, 0, 15, 12);
const { signal } = new AbortController();

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), "gpulse-unique-"));
  files = new FolderFiles(folder);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** One file with a row a second of every GPU, from `second` on. */
async function writeFile(second: number, seconds: number, uuids = ["A", "B"]): Promise<void> {
  const lake = new LakeWriter({
    files,
    workers: { run: runLakeJob, close: async () => {} },
    id: `w${second}-${uuids.join("-")}`,
    version: "0.0.0-test",
    log: silentLog,
    nowMs: () => startMs,
    random: () => 0,
  });
  for (let at = second; at < second + seconds; at++)
    for (const uuid of uuids)
      lake.put({
        frame: frame(startMs + at * 1_000, [[gpu.power, 100 + (at % 7)]], uuid),
        devices: [device(uuid)],
        host: "pc",
      });
  await lake.flush(signal);
}

const uniqueCount = async (): Promise<number> =>
  (await listLake(files, readParameters({}, 0))).unique.size;
const samplesByGpu = async (): Promise<unknown[]> =>
  objects((await analyseLake(folder, ["daily"]))[0]).map(({ uuid, samples }) => [uuid, samples]);

test("files of different times are not grouped", async () => {
  await writeFile(0, 60);
  await writeFile(60, 60);
  expect(await uniqueCount()).toBe(2);
  expect(await samplesByGpu()).toEqual([
    ["A", 120],
    ["B", 120],
  ]);
});

test("files that share an instant are grouped, the others are not", async () => {
  await writeFile(0, 60);
  // Repeats the last second of the first file.
  await writeFile(59, 31);
  await writeFile(200, 10);
  expect(await uniqueCount()).toBe(1);
  expect(await samplesByGpu()).toEqual([
    ["A", 100],
    ["B", 100],
  ]);
});

test("a file within the time of another is grouped, and so is the one it lies in", async () => {
  await writeFile(0, 100);
  await writeFile(20, 5);
  await writeFile(50, 5);
  expect(await uniqueCount()).toBe(0);
  expect(await samplesByGpu()).toEqual([
    ["A", 100],
    ["B", 100],
  ]);
});

test("rows that one writer received twice are one row", async () => {
  await writeFile(0, 30, ["A", "B", "A"]);
  expect(await uniqueCount()).toBe(1);
  expect(await samplesByGpu()).toEqual([
    ["A", 30],
    ["B", 30],
  ]);
});

test("a file that the manifest does not have makes every row be compared", async () => {
  await writeFile(0, 60);
  const [first] = (await listLake(files, readParameters({}, 0))).files;
  const own = path.join(folder, first?.path ?? "");
  copyFileSync(own, path.join(path.dirname(own), "copied.parquet"));
  expect(await uniqueCount()).toBe(0);
  expect(await samplesByGpu()).toEqual([
    ["A", 60],
    ["B", 60],
  ]);
});
