import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { origin, power, replaceIn } from "../../test/fixtures/lake/frames.ts";
import { seededRandom } from "../../test/fuzz/mutate.ts";
import { silentLog } from "../base/log.ts";
import { FolderFiles } from "../net/objects/folder.ts";
import type { FileStore } from "../net/objects/store.ts";
import { openFile } from "./decode.ts";
import { runLakeJob } from "./job.ts";
import { Upkeep } from "./upkeep.ts";
import { LakeWriter } from "./writer.ts";

const day = Date.UTC(2026, 0, 15);
const { signal } = new AbortController();
const workers = { run: runLakeJob, close: async () => {} };
let folder = "";
let files: FileStore;
let writers = 0;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "gpulse-once-"));
  files = new FolderFiles(folder);
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const writerOn = (store: FileStore = files, maxRows?: number): LakeWriter =>
  new LakeWriter({
    files: store,
    workers,
    id: `w${writers++}`,
    version: "0.0.0-test",
    log: silentLog,
    nowMs: () => day,
    random: () => 0,
    ...(maxRows !== undefined && { maxRows }),
  });
const upkeepOf = (id: string, store: FileStore = files): Upkeep =>
  new Upkeep({
    files: store,
    workers,
    version: "0",
    id,
    log: silentLog,
    nowMs: () => day,
    minFiles: 3,
  });

async function take(lake: LakeWriter, from: number, to: number, since = from): Promise<void> {
  for (let at = from; at < to; at++)
    await lake.take(power(day + at * 1_000, at), { ...origin(at), since }, signal);
}

/** The offsets of all rows in the files that match a glob over the table. */
async function globbed(): Promise<number[]> {
  const found: number[] = [];
  for (const { path, bytes } of await files.list("gpu/")) {
    const file = await openFile(files, path, bytes);
    found.push(
      ...[...(await file.rows(0, file.rowCount)).times].map((timeMs) => (timeMs - day) / 1_000),
    );
  }
  return found.sort((a, b) => a - b);
}
const upTo = (end: number): number[] => [...Array(end).keys()];

test("a process that lost its partition and the one that has it now store each row once", async () => {
  const [before, now] = [writerOn(), writerOn()];
  await take(before, 0, 10);
  await take(now, 0, 15);
  await before.flush(signal);
  await now.flush(signal);
  expect(await globbed()).toEqual(upTo(15));
});

test("two that create the same file at the same moment store each row once", async () => {
  let arrived = 0;
  let open = (): void => {};
  const both = new Promise<void>((resolve) => (open = resolve));
  // Both have looked and seen nothing before either creates its file.
  const meeting = replaceIn(files, {
    create: async (path, bytes) => {
      if (++arrived === 2) open();
      await both;
      return files.create(path, bytes);
    },
  });
  const [before, now] = [writerOn(meeting), writerOn(meeting)];
  await take(before, 0, 10);
  await take(now, 0, 15);
  await Promise.all([before.flush(signal), now.flush(signal)]);
  expect(await globbed()).toEqual(upTo(15));
  // What the second process staged for rows of the first is removed.
  await upkeepOf("later").finish(signal);
  expect(await files.list("_pending/")).toEqual([]);
});

test.each([1, 2, 3, 4, 5, 6, 7, 8])(
  "processes that come, go and return in any order store each row once (%i)",
  async (seed) => {
    const random = seededRandom(seed);
    const whole = (below: number): number => Math.floor(random() * below);
    let [committed, end] = [0, 0];
    let flushes: Promise<void>[] = [];
    let lake = writerOn(files, 7);
    let at = 0;
    let since = 0;
    for (let step = 0; step < 60; step++) {
      const until = at + whole(12);
      await take(lake, at, until, since);
      end = Math.max(end, until);
      at = until;
      const what = whole(4);
      if (what === 0) {
        await lake.flush(signal);
        committed = Math.max(committed, at);
      } else if (what === 1) {
        // Another process takes over at the committed offset; this one flushes its rows at some later moment.
        flushes.push(lake.flush(signal));
        lake = writerOn(files, 7);
        at = since = committed;
      } else if (what === 2) {
        // A kill: rows in memory are lost and read again.
        lake = writerOn(files, 7);
        at = since = committed;
      } else if (what === 3) {
        await Promise.all(flushes);
        flushes = [];
        await upkeepOf(`m${seed}-${step}`).run(signal);
      }
    }
    await take(lake, at, end, since);
    await Promise.all([...flushes, lake.flush(signal)]);
    expect(await globbed()).toEqual(upTo(end));
  },
);

test("a restart after a kill between the removals of a merge leaves each row once, without merging itself", async () => {
  const lake = writerOn();
  for (let at = 0; at < 6; at++) {
    await take(lake, at, at + 1, 0);
    await lake.flush(signal);
  }
  let left = 4;
  const dying = replaceIn(files, {
    remove: async (path) => {
      if (left-- <= 0) throw new Error("killed here");
      await files.remove(path);
    },
  });
  await upkeepOf("killed", dying).run(signal);
  expect(new Set(await globbed()).size).toBe((await globbed()).length);
  await upkeepOf("restarted").finish(signal);
  expect(await globbed()).toEqual(upTo(6));
});

test("rows that a merge holds are not written again while it is unfinished", async () => {
  const lake = writerOn();
  for (let at = 0; at < 6; at++) {
    await take(lake, at, at + 1, 0);
    await lake.flush(signal);
  }
  const dying = replaceIn(files, {
    move: async () => {
      throw new Error("killed here");
    },
  });
  await upkeepOf("killed", dying).run(signal);
  const again = writerOn();
  await take(again, 0, 8);
  await again.flush(signal);
  await upkeepOf("restarted").finish(signal);
  expect(await globbed()).toEqual(upTo(8));
});

test("records without rows, such as dead letters, begin no new file", async () => {
  const lake = writerOn();
  for (let at = 0; at < 100; at++)
    if (at % 20 !== 7)
      await lake.take(power(day + at * 1_000, at), { ...origin(at), since: 0 }, signal);
  await lake.flush(signal);
  expect((await files.list("gpu/")).map(({ path }) => path)).toEqual([
    "gpu/date=2026-01-15/gpu-metrics.p0.o0.parquet",
  ]);
  // A file that claims offsets prevents their rows from being written again.
  const again = writerOn();
  await take(again, 90, 105);
  await again.flush(signal);
  expect((await globbed()).length).toBe(100);
});

test("a merge whose file somebody deleted removes nothing", async () => {
  const lake = writerOn();
  for (let at = 0; at < 6; at++) {
    await take(lake, at, at + 1, 0);
    await lake.flush(signal);
  }
  const dying = replaceIn(files, {
    remove: async () => {
      throw new Error("killed here");
    },
  });
  await upkeepOf("killed", dying).run(signal);
  for (const { path } of await files.list("_pending/"))
    if (path.endsWith(".parquet")) await files.remove(path);
  await upkeepOf("restarted").finish(signal);
  expect(await globbed()).toEqual(upTo(6));
});
