/** Flipped bits in files with native histograms: each is as it was sent or not there at all, and what is missing is reported. */
import { cpSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import { equalHistograms } from "../../src/model/histogram/histogram.ts";
import type { Store } from "../../src/storage/embedded/store.ts";
import { batchHistogram, batchMs } from "./batches.ts";
import { Folders, named, openAt } from "./folder.ts";

const folders = new Folders();
const masters = new Folders();
const series = 12;
const batches = 60;
const masterOf = { wal: "", blocks: "" };

/** Of each series: floats and stale markers among the histograms. */
function write(store: Store): void {
  for (let batch = 0; batch < batches; batch++) {
    const appender = store.appender();
    for (let one = 0; one < series; one++) {
      const ref = appender.ref(named("latency_seconds", { series: String(one) }));
      if ((batch + one) % 17 === 0) appender.addStale(ref, batchMs(batch));
      else if ((batch + one) % 13 === 0) appender.add(ref, batchMs(batch), batch * 100 + one);
      else appender.addHistogram(ref, batchMs(batch), batchHistogram(batch, one));
    }
    expect(appender.commit().stored).toBe(series);
  }
}

beforeAll(async () => {
  for (const where of ["wal", "blocks"] as const) {
    masterOf[where] = masters.make();
    const store = await openAt(masterOf[where], { segmentBytes: 32_768 });
    write(store);
    if (where === "blocks") await store.seal();
    await store.close();
  }
});
afterEach(() => folders.remove());
afterAll(() => masters.remove());

/** How many samples are served; every one of them must be the one that was sent. */
async function verify(store: Store): Promise<number> {
  let count = 0;
  for (const { labels, column } of await store.select(
    [{ name: "__name__", op: "=", value: "latency_seconds" }],
    0,
    Infinity,
  )) {
    const one = Number(labels.find(([name]) => name === "series")?.[1]);
    column.times.forEach((timeMs, i) => {
      const batch = (timeMs - batchMs(0)) / 1_000;
      const histogram = column.histograms?.[i];
      count++;
      if ((batch + one) % 17 === 0) expect(column.stale?.[i]).toBe(1);
      else if ((batch + one) % 13 === 0) expect(column.values[i]).toBe(batch * 100 + one);
      else
        expect(
          histogram !== undefined && equalHistograms(histogram, batchHistogram(batch, one)),
        ).toBe(true);
    });
  }
  return count;
}

const filesOf = (dir: string, where: "wal" | "blocks"): string[] =>
  readdirSync(path.join(dir, where))
    .filter((file) => /\.(wal|block)$/.test(file))
    .map((file) => path.join(dir, where, file))
    .filter((file) => readFileSync(file).some((byte) => byte !== 0));

test.each(["wal", "blocks"] as const)(
  "a folder whose %s are whole serves all of it",
  async (where) => {
    const dir = folders.make();
    cpSync(masterOf[where], dir, { recursive: true });
    const store = await openAt(dir);
    expect(await verify(store)).toBe(series * batches);
    expect(store.stats().lost).toEqual([]);
    await store.close();
  },
);

test.each(["wal", "blocks"] as const)(
  "a bit flipped anywhere in the %s loses histograms whole, and is reported",
  async (where) => {
    for (let round = 0; round < 40; round++) {
      const dir = folders.make();
      cpSync(masterOf[where], dir, { recursive: true });
      const files = filesOf(dir, where);
      const file = files[round % files.length] ?? "";
      const bytes = readFileSync(file);
      const end = bytes.findLastIndex((byte) => byte !== 0) + 1;
      const at = Math.floor((end * (round + 0.5)) / 40);
      bytes[at] = (bytes[at] ?? 0) ^ (1 << (round % 8));
      writeFileSync(file, bytes);
      const store = await openAt(dir);
      const served = await verify(store);
      const { lost, lostSamples } = store.stats();
      if (served < series * batches) expect(lost.length).toBeGreaterThan(0);
      if (where === "wal") expect(served + lostSamples).toBe(series * batches);
      await store.close();
    }
  },
  60_000,
);
