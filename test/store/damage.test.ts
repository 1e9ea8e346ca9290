import { readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterEach, expect, test } from "vitest";
import { dump, Folders, named, openAt, put } from "./folder.ts";
import { version1Lines, writeVersion1 } from "./version-1.ts";

const folders = new Folders();
afterEach(() => folders.remove());

const series = (i: number) => named(`metric_${i}`, { instance: `host-${i % 2}` });

/** Ten batches of five series in the log, in segments of 512 bytes. */
async function writeLog(dir: string): Promise<string[]> {
  const store = await openAt(dir, { segmentBytes: 512 });
  for (let batch = 0; batch < 10; batch++)
    put(
      store,
      1000 + batch * 1000,
      [0, 1, 2, 3, 4].map((i) => [series(i), batch * 10 + i]),
    );
  const before = await dump(store);
  await store.close();
  return before;
}

const files = (dir: string, folder: string): string[] =>
  readdirSync(path.join(dir, folder))
    .filter((file) => /\.(wal|block)$/.test(file))
    .sort()
    .map((file) => path.join(dir, folder, file));

const samplesOf = (lines: readonly string[]): number =>
  lines.reduce((sum, line) => sum + line.split(" ").length - 1, 0);

function flip(file: string, at: number): void {
  const bytes = readFileSync(file);
  bytes[at] = (bytes[at] as number) ^ 0x40;
  writeFileSync(file, bytes);
}

test("a log that is whole comes back whole, and says how long that took", async () => {
  const dir = folders.make();
  const before = await writeLog(dir);
  const store = await openAt(dir);
  expect(await dump(store)).toEqual(before);
  const { start } = store.stats();
  expect(start).toMatchObject({ logSamples: 50, lost: [], tornTail: false });
  expect(start.tookMs).toBeGreaterThan(0);
  await store.close();
});

test("a cut segment loses what was cut and keeps everything else", async () => {
  const dir = folders.make();
  const before = await writeLog(dir);
  const [, second = ""] = files(dir, "wal");
  truncateSync(second, 200);
  const store = await openAt(dir);
  expect(store.stats().start.lost.join()).toContain("are lost");
  const after = await dump(store);
  expect(samplesOf(after)).toBeLessThan(samplesOf(before));
  expect(samplesOf(after)).toBeGreaterThanOrEqual(35);
  put(store, 60_000, [[series(0), 1]]);
  await store.close();
});

test("a flipped byte costs the record it is in and no other", async () => {
  const dir = folders.make();
  await writeLog(dir);
  const [, second = ""] = files(dir, "wal");
  flip(second, 100);
  const store = await openAt(dir);
  expect(store.stats().start.lost).toEqual([
    expect.stringMatching(/^1 records before .* are lost, 5 samples$/),
    expect.stringContaining("bytes of"),
  ]);
  expect(samplesOf(await dump(store))).toBe(45);
  await store.close();
});

test("a missing segment is reported, and the others are served", async () => {
  const dir = folders.make();
  await writeLog(dir);
  const [, second = ""] = files(dir, "wal");
  rmSync(second);
  const store = await openAt(dir);
  expect(store.stats().start.lost.join()).toContain("log segments 2 to 2 are missing");
  expect(samplesOf(await dump(store)) + store.stats().lostSamples).toBe(50);
  await store.close();
});

test("a torn end is what a crash leaves: nothing acknowledged is lost, and the next write follows", async () => {
  const dir = folders.make();
  const before = await writeLog(dir);
  const last = files(dir, "wal").at(-1) ?? "";
  const bytes = readFileSync(last);
  const end = bytes.findLastIndex((byte) => byte !== 0) + 1;
  bytes.write("gRec and then the power went", Math.ceil(end / 8) * 8);
  writeFileSync(last, bytes);
  const store = await openAt(dir);
  expect(store.stats().start).toMatchObject({ tornTail: true, lost: [] });
  expect(await dump(store)).toEqual(before);
  put(store, 60_000, [[series(0), 1]]);
  await store.close();
  const again = await openAt(dir);
  expect(samplesOf(await dump(again))).toBe(51);
  expect(again.stats().start.lost).toEqual([]);
  await again.close();
});

/** Two blocks: instants 1000 to 10,000, and 20,000. */
async function writeBlocks(dir: string): Promise<void> {
  await writeLog(dir);
  const store = await openAt(dir);
  await store.seal();
  put(store, 20_000, [[series(0), 99]]);
  await store.seal();
  await store.close();
}

test("a block with a damaged page starts, reports what is lost when it is read, and serves the other block", async () => {
  const dir = folders.make();
  await writeBlocks(dir);
  const [first = ""] = files(dir, "blocks");
  flip(first, 20);
  const store = await openAt(dir);
  expect(await dump(store)).toEqual(["__name__:metric_0,instance:host-0 20000=99"]);
  expect(store.stats().lost).toEqual([expect.stringContaining("5 columns in page 0")]);
  await store.close();
});

test.each([
  [
    "cut",
    (file: string) => truncateSync(file, statSync(file).size - 10),
    "does not end as a block",
  ],
  ["flipped in its footer", (file: string) => flip(file, statSync(file).size - 100), "checksum"],
  ["missing", (file: string) => rmSync(file), "is missing"],
])(
  "a block that is %s is reported and left out, and the other is served",
  async (_what, harm, says) => {
    const dir = folders.make();
    await writeBlocks(dir);
    harm(files(dir, "blocks")[0] ?? "");
    const store = await openAt(dir);
    expect(store.stats().start.lost.join()).toContain(says);
    expect(await dump(store)).toEqual(["__name__:metric_0,instance:host-0 20000=99"]);
    await store.close();
    const again = await openAt(dir);
    expect(again.stats().start.lost).toEqual([]);
    await again.close();
  },
);

/** A block named by the manifest and its copy, and one more that only the newer manifest names. */
async function withOlderManifest(): Promise<string> {
  const dir = folders.make();
  const store = await openAt(dir);
  put(store, 1000, [[named("a"), 1]]);
  await store.seal();
  const older = readFileSync(path.join(dir, "manifest.json"));
  put(store, 2000, [
    [named("a"), 2],
    [named("b"), 2],
  ]);
  await store.seal();
  put(store, 3000, [[named("b"), 3]]);
  await store.close();
  writeFileSync(path.join(dir, "manifest.json"), older);
  return dir;
}

test("an older copy of the manifest is detected: all blocks are used, and nothing is deleted", async () => {
  const dir = await withOlderManifest();
  for (let start = 0; start < 2; start++) {
    const store = await openAt(dir);
    const { lost } = store.stats().start;
    if (start === 0) expect(lost.join()).toMatch(/manifest.json is an older copy/);
    else expect(lost).toEqual([]);
    expect(await dump(store)).toEqual(["__name__:a 1000=1 2000=2", "__name__:b 2000=2 3000=3"]);
    await store.close();
  }
});

test("a block that the manifest does not name is set aside where nothing proves that the manifest is current", async () => {
  const dir = await withOlderManifest();
  rmSync(path.join(dir, "wal", "acknowledged"));
  const store = await openAt(dir);
  expect(store.stats().start.lost.join()).toMatch(/0000000002.block is not named by the manifest/);
  expect(readdirSync(path.join(dir, "blocks"))).toContain("0000000002.block.unnamed");
  await store.close();
});

test("without its manifest a store is put together from the files that are there", async () => {
  const dir = folders.make();
  await writeBlocks(dir);
  const whole = await openAt(dir);
  const before = await dump(whole);
  await whole.close();
  rmSync(path.join(dir, "manifest.json"));
  const store = await openAt(dir);
  expect(store.stats().start.lost.join()).toContain("manifest.json is missing");
  expect(await dump(store)).toEqual(before);
  await store.close();
});

test("a flipped byte among the label sets loses series, not the store, and no sample moves to another series", async () => {
  const dir = folders.make();
  await writeBlocks(dir);
  const whole = await openAt(dir);
  const before = await dump(whole);
  await whole.close();
  flip(path.join(dir, "series-1.log"), 30);
  const store = await openAt(dir);
  expect(store.stats().start.lost.join()).toContain("lost");
  for (const line of await dump(store)) expect(before).toContain(line);
  put(store, 60_000, [[named("new"), 1]]);
  expect(await dump(store)).toContain("__name__:new 60000=1");
  await store.close();
});

test("a folder of format version 1 opens as it is, and is version 4 from then on", async () => {
  const dir = folders.make();
  writeVersion1(dir);
  for (const start of ["first", "second"]) {
    const store = await openAt(dir);
    expect(store.stats().lost, start).toEqual([]);
    expect(await dump(store)).toEqual(version1Lines);
    await store.close();
  }
  const manifest = readFileSync(path.join(dir, "manifest.json"), "utf8");
  expect(manifest).toMatch(/^\{"version":4,"storeId":"[0-9a-f]{16}"/);
});

test("a folder of format version 1 with a damaged series log serves what is left, and sets the file aside", async () => {
  const dir = folders.make();
  writeVersion1(dir);
  flip(path.join(dir, "series-1.log"), 150);
  const store = await openAt(dir);
  expect(store.stats()).toMatchObject({ lostSamples: 20 });
  expect(store.stats().lost.join()).toContain("have lost their labels");
  for (const line of await dump(store))
    expect(version1Lines.some((whole) => whole.startsWith(line.split(" ")[0] ?? ""))).toBe(true);
  await store.close();
  expect(readdirSync(dir)).toContain("series-1.log.damaged");
});
