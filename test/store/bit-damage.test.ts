/**
 * Flipped bits, cut ends and older copies of the series log and the write-ahead log. Whatever is done to a file: no sample
 * is served under another name, what is missing is counted, and the rest is readable.
 */
import { cpSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterAll, afterEach, expect, test } from "vitest";
import type { LabelSet } from "../../src/model/labels.ts";
import type { Store } from "../../src/storage/embedded/store.ts";
import { dump, Folders, named, openAt, put } from "./folder.ts";

const folders = new Folders();
const masters = new Folders();
afterEach(() => folders.remove());
afterAll(() => masters.remove());

const gpus = 400;
const gpu = (i: number, generation = 0): LabelSet =>
  named("gpulse_gpu_power_watts", {
    instance: `gpu-node-${Math.floor(i / 8)}`,
    uuid: `GPU-${String(i).padStart(8, "0")}-${generation}`,
  });
/** A value says which series and instant it belongs to. */
const valueOf = (i: number, generation: number, step: number): number =>
  generation * 1e9 + i * 1e4 + step;

function write(store: Store, steps: readonly number[], of: (i: number) => [number, number][]) {
  for (const step of steps)
    put(
      store,
      1_000 * (step + 1),
      Array.from({ length: gpus }, (_, i) => of(i))
        .flat()
        .map(([i, generation]) => [gpu(i, generation), valueOf(i, generation, step)]),
    );
}

/** Series of the first generation are deleted, and their numbers are given to those of the second. */
async function makeChurned(): Promise<{ dir: string; older: string }> {
  const [dir, older] = [masters.make(), masters.make()];
  const store = await openAt(dir, { segmentBytes: 65_536 });
  write(store, [0, 1, 2, 3, 4], (i) => [[i, 0]]);
  await store.seal();
  for (const file of seriesFiles(dir)) cpSync(path.join(dir, file), path.join(older, file));
  await store.delete([[{ name: "uuid", op: "=~", value: "GPU-0000(00|01).*-0" }]]);
  await store.maintain();
  write(store, [5, 6, 7], (i) => [i < 200 ? [i, 1] : [i, 0]]);
  await store.seal();
  write(store, [8, 9], (i) => [i < 200 ? [i, 1] : [i, 0]]);
  await store.close();
  return { dir, older };
}

async function makeLogOnly(): Promise<string> {
  const dir = masters.make();
  const store = await openAt(dir);
  for (let step = 0; step < 100; step++)
    put(
      store,
      1_000 * (step + 1),
      Array.from({ length: 50 }, (_, i) => [gpu(i), valueOf(i, 0, step)]),
    );
  await store.close();
  return dir;
}

const seriesFiles = (dir: string): string[] =>
  readdirSync(dir).filter((file) => /^series-\d+\.(log|check)$/.test(file));
const only = (dir: string, pattern: RegExp): string => {
  const [file, more] = readdirSync(dir).filter((name) => pattern.test(name));
  expect(more).toBeUndefined();
  return path.join(dir, file ?? "");
};
const seriesLogOf = (dir: string): string => only(dir, /^series-\d+\.log$/);

function copyOf(master: string): string {
  const dir = folders.make();
  cpSync(master, dir, { recursive: true });
  return dir;
}

interface Outcome {
  readonly served: number;
  readonly misnamed: number;
  readonly lostSamples: number;
  readonly lost: readonly string[];
}

/** Opens a folder twice: what was written again at the first start must be right at the second. */
async function outcome(dir: string): Promise<Outcome> {
  let result: Outcome | undefined;
  let served = -1;
  for (const start of ["first", "second"]) {
    const store = await openAt(dir);
    const lines = await dump(store);
    let [count, misnamed] = [0, 0];
    for (const line of lines) {
      const [, i, generation] = /uuid:GPU-(\d+)-(\d)/.exec(line) ?? [];
      for (const sample of line.split(" ").slice(1)) {
        const [time, value] = sample.split("=").map(Number);
        count++;
        const step = (time ?? 0) / 1000 - 1;
        if (value !== valueOf(Number(i), Number(generation), step)) misnamed++;
      }
    }
    const { lostSamples, lost } = store.stats();
    const ready = store.problems().join("\n");
    if (lostSamples > 0) expect(ready).toContain(`${lostSamples} acknowledged samples are lost`);
    if (lost[0] !== undefined) expect(ready).toContain(lost[0]);
    result ??= { served: count, misnamed, lostSamples, lost };
    expect(misnamed, `misnamed at the ${start} start`).toBe(0);
    if (served >= 0) expect(count).toBe(served);
    served = count;
    await store.close();
  }
  if (result === undefined) throw new Error("BUG: no outcome");
  return result;
}

function randomNumbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

function flipBit(file: string, bit: number): void {
  const bytes = readFileSync(file);
  const at = Math.floor(bit / 8);
  bytes[at] = (bytes[at] as number) ^ (1 << (bit % 8));
  writeFileSync(file, bytes);
}

const churned = makeChurned();
const logOnly = makeLogOnly();
const churnedSamples = 5 * 200 + 200 * 5 + 200 * 5;

test("the whole folders have every sample and no losses", { timeout: 60_000 }, async () => {
  const { dir } = await churned;
  expect(await outcome(copyOf(dir))).toMatchObject({ served: churnedSamples, lost: [] });
  expect(await outcome(copyOf(await logOnly))).toMatchObject({ served: 5_000, lost: [] });
});

test(
  "a flipped bit in the series log costs at most the series of its record, and is reported",
  { timeout: 120_000 },
  async () => {
    const { dir } = await churned;
    const random = randomNumbers(19);
    const bits = readFileSync(seriesLogOf(dir)).length * 8;
    for (let round = 0; round < 25; round++) {
      const damaged = copyOf(dir);
      flipBit(seriesLogOf(damaged), random(bits));
      const { served, lostSamples, lost } = await outcome(damaged);
      expect(lost.length).toBeGreaterThan(0);
      expect(served + lostSamples).toBe(churnedSamples);
      expect(served).toBeGreaterThan(churnedSamples * 0.7);
    }
  },
);

test(
  "a flipped bit in the check file costs nothing, and is reported",
  { timeout: 60_000 },
  async () => {
    const { dir } = await churned;
    const random = randomNumbers(20);
    for (let round = 0; round < 5; round++) {
      const damaged = copyOf(dir);
      const file = only(damaged, /\.check$/);
      flipBit(file, random(readFileSync(file).length * 8));
      const { served, lost } = await outcome(damaged);
      expect(lost.length).toBeGreaterThan(0);
      expect(served).toBe(churnedSamples);
    }
  },
);

test.each([
  ["the series log", /\.log$/, 200 * 5],
  ["the series log and its check file", /\.(log|check)$/, 0],
])(
  "an older copy of %s serves nothing under another name, and is reported",
  async (_what, pattern, least) => {
    const { dir, older } = await churned;
    const damaged = copyOf(dir);
    for (const file of seriesFiles(older))
      if (pattern.test(file)) cpSync(path.join(older, file), path.join(damaged, file));
    const { served, lostSamples, lost } = await outcome(damaged);
    expect(lost.join("\n")).toMatch(/records of .* are damaged or missing: \d+ series are lost/);
    expect(served + lostSamples).toBe(churnedSamples);
    expect(served).toBeGreaterThanOrEqual(least);
  },
);

test("a series log cut anywhere, or missing, is reported and misnames nothing", async () => {
  const { dir } = await churned;
  const random = randomNumbers(21);
  const size = readFileSync(seriesLogOf(dir)).length;
  for (let round = 0; round < 8; round++) {
    const damaged = copyOf(dir);
    if (round === 0) rmSync(seriesLogOf(damaged));
    else truncateSync(seriesLogOf(damaged), random(size));
    const { served, lostSamples, lost } = await outcome(damaged);
    expect(lost.length).toBeGreaterThan(0);
    expect(served + lostSamples).toBe(churnedSamples);
  }
});

test("the series log, a log segment and a block of another store are refused", async () => {
  const { dir } = await churned;
  const other = await logOnly;
  const damaged = copyOf(dir);
  cpSync(seriesLogOf(other), seriesLogOf(damaged));
  expect((await outcome(damaged)).lost.join("\n")).toContain("belongs to another store");
  const [segment = ""] = readdirSync(path.join(other, "wal")).filter((file) =>
    file.endsWith(".wal"),
  );
  const mixed = copyOf(dir);
  const last = readdirSync(path.join(mixed, "wal"))
    .filter((file) => file.endsWith(".wal"))
    .sort()
    .at(-1);
  cpSync(path.join(other, "wal", segment), path.join(mixed, "wal", last ?? ""));
  expect((await outcome(mixed)).lost.join("\n")).toContain("belongs to another store");
  const swapped = copyOf(dir);
  const blocks = readdirSync(path.join(swapped, "blocks")).sort();
  const [from = "", to = ""] = [blocks[0], blocks.at(-1)];
  cpSync(path.join(swapped, "blocks", from), path.join(swapped, "blocks", to));
  expect((await outcome(swapped)).lost.join("\n")).toContain(
    "not the block that the manifest names",
  );
});

const segmentOf = (dir: string): string => only(path.join(dir, "wal"), /\.wal$/);
const usedBytes = (file: string): number =>
  readFileSync(file).findLastIndex((byte) => byte !== 0) + 1;

test(
  "a flipped bit in the log costs the samples of one record, the first one included, and they are counted",
  { timeout: 120_000 },
  async () => {
    const master = await logOnly;
    const bits = usedBytes(segmentOf(master)) * 8;
    const random = randomNumbers(22);
    // The segment's header, the record that names all series, and the last record are always among them.
    const places = [
      100,
      1_000,
      9_000,
      bits - 200,
      ...Array.from({ length: 20 }, () => random(bits)),
    ];
    for (const bit of places) {
      const damaged = copyOf(master);
      flipBit(segmentOf(damaged), bit);
      const { served, lostSamples, lost } = await outcome(damaged);
      expect(lost.length, `bit ${bit}`).toBeGreaterThan(0);
      expect(served + lostSamples, `bit ${bit}`).toBe(5_000);
      expect(lostSamples).toBeLessThanOrEqual(50);
    }
  },
);

test("a log whose end is cut off or zeroed reports every acknowledged sample that is missing", async () => {
  const master = await logOnly;
  const used = usedBytes(segmentOf(master));
  for (const [keep, isZeroed] of [
    [0.04, false],
    [0.04, true],
    [0.5, false],
    [0.9, true],
    [0, false],
  ] as const) {
    const damaged = copyOf(master);
    const file = segmentOf(damaged);
    if (isZeroed) {
      const bytes = readFileSync(file);
      writeFileSync(file, bytes.fill(0, Math.floor(used * keep)));
    } else truncateSync(file, Math.floor(used * keep));
    const { served, lostSamples, lost } = await outcome(damaged);
    expect(lost.join("\n")).toMatch(/the last \d+ records of the log in .* are lost, \d+ samples/);
    expect(served + lostSamples).toBe(5_000);
    expect(served).toBeLessThanOrEqual(5_000 * keep + 50);
  }
});

test("a missing segment file reports every acknowledged sample of the log", async () => {
  const damaged = copyOf(await logOnly);
  rmSync(segmentOf(damaged));
  expect(await outcome(damaged)).toMatchObject({ served: 0, lostSamples: 5_000 });
});
