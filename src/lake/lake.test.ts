import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { FolderFiles } from "../net/objects/folder.ts";
import { type FileStore, FileStoreError } from "../net/objects/store.ts";
import { batchOf } from "../../test/fixtures/formats/samples-text.ts";
import { createLog } from "../base/log.ts";
import { gpu, gpuz, host } from "../model/catalogue/index.ts";
import { labelSet } from "../model/labels.ts";
import { device, frame, origin, power, replaceIn } from "../../test/fixtures/lake/frames.ts";
import { openFile } from "./decode.ts";
import { listLake } from "./files.ts";
import { Lake } from "./lake.ts";
import type { TableName } from "./table.ts";
import { Upkeep } from "./upkeep.ts";
import { openLakeWorker } from "./job.ts";
import { LakeWriter, type LakeWriterOptions } from "./writer.ts";

let folder = "";
let files: FileStore;
const said: string[] = [];
const signal = new AbortController().signal;
const log = createLog({
  level: "debug",
  json: false,
  colour: false,
  nowMs: () => 0,
  write: (line) => said.push(line),
});
const workers = openLakeWorker();

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "gpulse-lake-"));
  files = new FolderFiles(folder);
  said.length = 0;
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const day = Date.UTC(2026, 0, 15);
const nowMs = () => day + 3_600_000;

const writer = (more: Partial<LakeWriterOptions> = {}): LakeWriter =>
  new LakeWriter({
    files,
    workers,
    id: "h1",
    version: "0.0.0-test",
    log,
    nowMs,
    random: () => 0,
    ...more,
  });
const upkeep = (more: Partial<ConstructorParameters<typeof Upkeep>[0]> = {}): Upkeep =>
  new Upkeep({
    files,
    workers,
    version: "0.0.0-test",
    id: "h1",
    log,
    nowMs,
    minFiles: 2,
    ...more,
  });

/** Every row of a table as plain objects, nulls omitted, in the order of the files. */
async function rowsOf(table: TableName): Promise<Record<string, unknown>[]> {
  const found: Record<string, unknown>[] = [];
  for (const { path, bytes } of await listLake(files, table)) {
    const opened = await openFile(files, path, bytes);
    const rows = await opened.rows(0, opened.rowCount);
    for (let row = 0; row < rows.count; row++) {
      const one: Record<string, unknown> = { time: rows.times[row] };
      for (const { name, dictionary, index } of rows.texts)
        if ((index[row] ?? -1) >= 0) one[name] = dictionary[index[row] ?? 0];
      for (const { name, values, present } of rows.numbers)
        if (present[row] === 1) one[name] = values[row];
      found.push(one);
    }
  }
  return found;
}
/** The rows that DuckDB's glob finds. */
async function rowsInTables(table: TableName): Promise<number> {
  let rows = 0;
  for (const { path, bytes } of await files.list(`${table}/`))
    rows += (await openFile(files, path, bytes)).rowCount;
  return rows;
}
/** Files of the tables, and files that wait for their commit. */
const paths = async (): Promise<string[]> =>
  (await files.list("")).map(({ path }) => path).filter((path) => !path.startsWith("_commits/"));

test("a frame becomes one row a GPU, with null for what is absent, and its other series the long table", async () => {
  const lake = writer();
  lake.put({
    frame: frame(day, [
      [gpu.power, 100.5],
      [gpu.temperature, "asleep", { sensor: "edge" }],
      [host.cpuTemperature, 60, { sensor: "package" }],
      [gpuz.sensorValue, 16, { sensor: "PerfCap Reason" }],
      [gpu.info, 1, { model: "H200", vendor: "nvidia" }],
    ]),
    devices: [device("A")],
    host: "pc",
    tags: new Map([["A", ["high_power", "critical_power"]]]),
  });
  await lake.flush(signal);
  expect(await rowsOf("gpu")).toEqual([
    {
      time: day,
      host: "pc",
      uuid: "A",
      gpu: 0,
      vendor: "nvidia",
      model: "H200",
      simulated: 0,
      tags: "high_power,critical_power",
      gpu_power_watts: 100.5,
      host_cpu_temperature_celsius_package: 60,
    },
  ]);
  expect(await rowsOf("series")).toMatchObject([
    { name: "gpu_info", uuid: "A", value: 1 },
    {
      name: "gpuz_sensor_value",
      labels: '{"gpu":"0","host":"pc","sensor":"PerfCap Reason","uuid":"A"}',
      value: 16,
    },
  ]);
});

test("readings of one GPU and instant that come in several frames stand in one row", async () => {
  const lake = writer();
  lake.put(power(day, 100));
  lake.put({ ...power(day, 0), frame: frame(day, [[gpu.powerLimit, 700]]) });
  await lake.flush(signal);
  expect(await rowsOf("gpu")).toMatchObject([{ gpu_power_watts: 100, gpu_power_limit_watts: 700 }]);
});

test("samples of the catalogue are put together to rows by GPU and time, all others go to the long table", async () => {
  const of = (name: string, labels: Record<string, string> = {}) =>
    labelSet({ __name__: name, job: "j", instance: "i", ...labels });
  const gpuLabels = { uuid: "B", gpu: "3", host: "far" };
  const lake = writer();
  lake.putSamples(
    batchOf([
      [of("gpu_info", { ...gpuLabels, vendor: "amd", model: "MI300X" }), day, 1],
      [of("gpu_power_watts", gpuLabels), day, 500],
      [of("gpu_temperature_celsius", { ...gpuLabels, sensor: "edge" }), day, 70],
      [of("gpu_power_watts", { ...gpuLabels, cluster: "east" }), day, 1],
      [of("up"), day, 1],
    ]),
  );
  await lake.flush(signal);
  expect(await rowsOf("gpu")).toEqual([
    {
      time: day,
      host: "far",
      uuid: "B",
      gpu: 3,
      vendor: "amd",
      model: "MI300X",
      simulated: 0,
      gpu_power_watts: 500,
      gpu_temperature_celsius_edge: 70,
    },
  ]);
  expect((await rowsOf("series")).map(({ name }) => name)).toEqual([
    "gpu_info",
    "gpu_power_watts",
    "up",
  ]);
});

test("rows are sorted by GPU and time, and late ones go to their own day", async () => {
  const lake = writer();
  for (const [timeMs, uuid] of [
    [day + 2_000, "B"],
    [day + 1_000, "A"],
    [day, "B"],
    [day - 1, "A"],
    [day, "A"],
  ] as const)
    lake.put(power(timeMs, 1, uuid));
  await lake.flush(signal);
  expect(await paths()).toEqual([
    expect.stringMatching(/^gpu\/date=2026-01-14\/h1-/),
    expect.stringMatching(/^gpu\/date=2026-01-15\/h1-/),
  ]);
  expect(
    (await rowsOf("gpu")).map(({ uuid, time }) => `${String(uuid)}${Number(time) - day}`),
  ).toEqual(["A-1", "A0", "A1000", "B0", "B2000"]);
});

test("a file that is full is written without a flush, so that memory stays bounded", async () => {
  const lake = writer({ maxRows: 10 });
  for (let at = 0; at < 25; at++) await lake.take(power(day + at, at), undefined, signal);
  await expect.poll(async () => (await rowsOf("gpu")).length).toBe(20);
  await lake.flush(signal);
  expect((await rowsOf("gpu")).length).toBe(25);
});

test("files out of a log are named by what they hold, and a restart that reads again adds nothing twice", async () => {
  const first = writer();
  for (let at = 5; at < 10; at++) await first.take(power(day + at, at), origin(at), signal);
  await first.flush(signal);
  expect(await paths()).toEqual(["gpu/date=2026-01-15/gpu-metrics.p0.o5.parquet"]);
  const second = writer();
  for (let at = 5; at < 13; at++) await second.take(power(day + at, at), origin(at), signal);
  await second.flush(signal);
  expect(await paths()).toEqual([
    "gpu/date=2026-01-15/gpu-metrics.p0.o10.parquet",
    "gpu/date=2026-01-15/gpu-metrics.p0.o5.parquet",
  ]);
  expect(
    (await rowsOf("gpu"))
      .map(({ gpu_power_watts }) => Number(gpu_power_watts))
      .sort((a, b) => a - b),
  ).toEqual([5, 6, 7, 8, 9, 10, 11, 12]);
});

test.each([0, 1, 2, 3, 4, 5, 6, 7])(
  "a flush of two days that is killed after step %i is in the lake whole or not at all, and a restart completes it",
  async (steps) => {
    let left = steps;
    const step = (): void => {
      if (left-- <= 0) throw new FileStoreError("FILES_DENIED", "killed here");
    };
    const dying = replaceIn(files, {
      write: async (path, bytes) => (step(), files.write(path, bytes)),
      create: async (path, bytes) => (step(), files.create(path, bytes)),
      move: async (from, to) => (step(), files.move(from, to)),
    });
    const take = async (lake: LakeWriter): Promise<void> => {
      for (let at = 0; at < 4; at++) await lake.take(power(day - 2 + at, at), origin(at), signal);
    };
    const times = async () => (await rowsOf("gpu")).map(({ time }) => Number(time) - day);
    const killed = writer({ files: dying });
    await take(killed);
    await killed.flush(signal).catch(() => undefined);
    // Two files are staged, then the commit is created: a reader of the lake has both days or none, a glob never more than that.
    expect((await times()).sort((a, b) => a - b)).toEqual(steps < 3 ? [] : [-2, -1, 0, 1]);
    expect(await rowsInTables("gpu")).toBe(2 * Math.min(2, Math.max(0, steps - 3)));
    const again = writer();
    await take(again);
    await again.flush(signal);
    await upkeep().finish(signal);
    expect(await times()).toEqual([-2, -1, 0, 1]);
    expect(await rowsInTables("gpu")).toBe(4);
  },
);

test("a leap in the offsets begins a new file: a name never says that it holds what another process read", async () => {
  const lake = writer();
  for (const at of [1, 2, 9, 10]) await lake.take(power(day + at, at), origin(at), signal);
  await lake.flush(signal);
  expect((await paths()).map((path) => path.split("/").at(-1))).toEqual([
    "gpu-metrics.p0.o1.parquet",
    "gpu-metrics.p0.o9.parquet",
  ]);
});

test("a disk that is full is waited for, and nothing is acknowledged before the rows are there", async () => {
  let full = true;
  const small = replaceIn(files, {
    write: async (path, bytes) => {
      if (full) throw new FileStoreError("FILES_FULL", "There is no space left.");
      await files.write(path, bytes);
    },
  });
  const lake = writer({ files: small });
  lake.put(power(day, 1));
  let acknowledged = false;
  const flushed = lake.flush(signal).then(() => (acknowledged = true));
  await expect.poll(() => said.join(""), { timeout: 10_000 }).toContain("FILES_FULL");
  expect(acknowledged).toBe(false);
  expect(await paths()).toEqual([]);
  full = false;
  await flushed;
  expect(await rowsOf("gpu")).toHaveLength(1);
});

test("small files are merged into one that is sorted, each row once, and knows which offsets it has", async () => {
  const lake = writer();
  for (let at = 0; at < 6; at++) {
    await lake.take(power(day + (at % 3), at, at < 3 ? "B" : "A"), origin(at), signal);
    await lake.flush(signal);
  }
  lake.put({ ...power(day, 0, "A"), frame: frame(day, [[gpu.powerLimit, 700]], "A") });
  lake.put(power(day, 3, "A"));
  await lake.flush(signal);
  expect(await paths()).toHaveLength(7);
  expect(await upkeep().run(signal)).toMatchObject({ merged: 7, into: 1 });
  expect(await paths()).toEqual([expect.stringMatching(/^gpu\/date=2026-01-15\/merged-/)]);
  const rows = await rowsOf("gpu");
  expect(rows.map(({ uuid, time }) => `${String(uuid)}${Number(time) - day}`)).toEqual([
    "A0",
    "A1",
    "A2",
    "B0",
    "B1",
    "B2",
  ]);
  expect(rows[0]).toMatchObject({ gpu_power_watts: 3, gpu_power_limit_watts: 700 });
  const again = writer();
  for (let at = 0; at < 7; at++) await again.take(power(day + at, at, "B"), origin(at), signal);
  await again.flush(signal);
  expect((await paths()).at(0)).toContain("gpu-metrics.p0.o6");
  expect(await rowsOf("gpu")).toHaveLength(7);
});

test.each([0, 1, 2, 3, 4, 5, 6])(
  "a merge that is killed after step %i is ended by the next one, and readers see every row once meanwhile",
  async (steps) => {
    const lake = writer();
    for (let at = 0; at < 3; at++) {
      lake.put(power(day + at, at));
      await lake.flush(signal);
    }
    let left = steps;
    const step = (): void => {
      if (left-- <= 0) throw new FileStoreError("FILES_DENIED", "killed here");
    };
    const dying = replaceIn(files, {
      write: async (path, bytes) => (step(), files.write(path, bytes)),
      move: async (from, to) => (step(), files.move(from, to)),
      remove: async (path) => (step(), files.remove(path)),
    });
    await upkeep({ files: dying }).run(signal);
    const all = async () =>
      (await rowsOf("gpu")).map(({ gpu_power_watts }) => Number(gpu_power_watts));
    expect((await all()).sort((a, b) => a - b)).toEqual([0, 1, 2]);
    // A reader that uses a glob never has a row twice.
    expect(await rowsInTables("gpu")).toBeLessThanOrEqual(3);
    await upkeep({ only: () => false }).run(signal);
    expect(await rowsInTables("gpu")).toBe(3);
    await upkeep().run(signal);
    expect(await all()).toEqual([0, 1, 2]);
    expect(await paths()).toHaveLength(1);
  },
);

test("days that are too old are forgotten whole, and the others kept", async () => {
  const lake = writer();
  for (const days of [40, 31, 30, 1]) lake.put(power(day - days * 86_400_000, days));
  await lake.flush(signal);
  const retention = { ms: 30 * 86_400_000, trustedNowMs: nowMs };
  await upkeep({ retention }).run(signal);
  expect((await rowsOf("gpu")).map(({ gpu_power_watts }) => gpu_power_watts)).toEqual([30, 1]);
  expect(said.join("")).toContain('days="2025-12-06, 2025-12-15" files=2');
});

test.for([
  ["the hub's trusted clock", { trustedNowMs: nowMs }],
  ["a clock of its own", {}],
] as const)(
  "by %s a lake forgets nothing while the wall clock is 40 days ahead",
  async ([, more]) => {
    const before = writer();
    for (const days of [29, 1, 0]) before.put(power(day - days * 86_400_000, days));
    await before.flush(signal);
    const ahead = (): number => nowMs() + 40 * 86_400_000;
    const lake = new Lake({
      files,
      workers: openLakeWorker(),
      name: "h2",
      version: "0.0.0-test",
      log,
      nowMs: ahead,
      random: () => 0,
      merge: "all",
      retentionMs: 30 * 86_400_000,
      ...more,
    });
    lake.put(power(ahead(), 7));
    await lake.flush(signal);
    await lake.keep(signal);
    expect((await rowsOf("gpu")).map(({ gpu_power_watts }) => gpu_power_watts)).toEqual([
      29, 1, 0, 7,
    ]);
    await lake.close(signal);
  },
);

test("GPUs of two hosts with one uuid have rows of their own, merged files included", async () => {
  const of = (name: string, watts: number, model: string) => ({
    frame: frame(day, [[gpu.power, watts, { host: name }]]),
    devices: [{ ...device("A"), model }],
    host: name,
  });
  const both = [
    { host: "a", gpu_power_watts: 300, model: "big" },
    { host: "b", gpu_power_watts: 20, model: "small" },
  ];
  const lake = writer();
  for (const { host: name, gpu_power_watts: watts, model } of both)
    lake.put(of(name, watts, model));
  await lake.flush(signal);
  expect(await rowsOf("gpu")).toMatchObject(both);
  lake.put(of("a", 300, "big"));
  await lake.flush(signal);
  expect(await rowsOf("gpu")).toHaveLength(3);
  await upkeep().run(signal);
  expect(await rowsOf("gpu")).toMatchObject(both);
});
