/** Retention and the clock: what a wrong clock, an agent's wrong clock, a restart and a size limit may remove. */
import { existsSync, readdirSync } from "node:fs";
import path from "node:path";
import { afterEach, expect, test } from "vitest";
import type { Log, LogFields } from "../../src/base/log.ts";
import type { StoreOptions } from "../../src/storage/embedded/options.ts";
import type { Store } from "../../src/storage/embedded/store.ts";
import { dayMs, dump, Folders, named, nowMs, openAt, put } from "./folder.ts";

const folders = new Folders();
afterEach(() => folders.remove());

const hourMs = 3_600_000;

/** Clocks that a test sets, and the lines that the store logs. */
function lab(options: Partial<StoreOptions> = {}) {
  const time = { wallMs: nowMs, monotonicMs: 1_000 };
  const lines: { level: string; message: string; fields: LogFields }[] = [];
  const at =
    (level: string) =>
    (message: string, fields: LogFields = {}): void =>
      void lines.push({ level, message, fields });
  const log: Log = { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
  const dir = folders.make();
  const open = (more: Partial<StoreOptions> = {}): Promise<Store> =>
    openAt(dir, {
      retentionMs: 30 * dayMs,
      nowMs: () => time.wallMs,
      monotonicMs: () => time.monotonicMs,
      log,
      ...options,
      ...more,
    });
  const pass = async (store: Store, ms: number): Promise<void> => {
    for (let done = 0; done < ms; done += 5_000) {
      time.wallMs += 5_000;
      time.monotonicMs += 5_000;
      await store.maintain();
    }
  };
  const removals = () => lines.filter(({ message }) => message.includes("were removed from"));
  const blockFiles = () => readdirSync(path.join(dir, "blocks"));
  return { dir, time, lines, open, pass, removals, blockFiles };
}

/** 20,000 samples: 20 series every 40 minutes over the retention of 30 days, in several blocks and the head. */
async function fill(store: Store): Promise<void> {
  for (let i = 1000; i > 0; i--) {
    put(
      store,
      nowMs - i * 40 * 60_000,
      Array.from({ length: 20 }, (_, gpu) => [named("power", { gpu: String(gpu) }), i + gpu]),
    );
    if (i % 150 === 0) await store.seal();
  }
}

const samplesOf = (lines: readonly string[]): number =>
  lines.reduce((sum, line) => sum + line.split(" ").length - 1, 0);

test("a clock that is 40 days ahead for 12 seconds deletes none of 20,000 samples, and refuses none", async () => {
  const { time, open, pass, lines } = lab();
  let store = await open();
  await fill(store);
  await pass(store, 10_000);
  time.wallMs += 40 * dayMs;
  // The hub's own metrics carry the wrong time meanwhile.
  put(store, time.wallMs, [[named("up"), 1]]);
  await pass(store, 15_000);
  expect(store.problems()).toEqual([expect.stringContaining("40d ahead")]);
  expect(lines.filter(({ level }) => level === "warn").length).toBe(1);
  expect(put(store, nowMs + 20_000, [[named("late"), 1]])).toMatchObject({ stored: 1 });
  await store.seal();
  await store.maintain();
  await store.close();
  store = await open();
  await pass(store, 15_000);
  time.wallMs -= 40 * dayMs;
  await pass(store, 15_000);
  expect(samplesOf(await dump(store))).toBe(20_002);
  expect(store.problems()).toEqual([]);
  await store.close();
});

test("an agent whose clock is 40 days ahead causes no deletion", async () => {
  const { open, pass } = lab();
  const store = await open();
  await fill(store);
  put(store, nowMs + 40 * dayMs, [[named("future"), 1]]);
  await store.seal();
  await pass(store, 60_000);
  expect(samplesOf(await dump(store))).toBe(20_001);
  await store.close();
});

test("a store that receives nothing deletes nothing", async () => {
  const { open } = lab({ retentionNowMs: () => nowMs + 300 * dayMs });
  const store = await open();
  put(store, nowMs + 271 * dayMs, [[named("a"), 1]]);
  await store.seal();
  await store.maintain();
  expect(samplesOf(await dump(store))).toBe(1);
  await store.close();
});

test("after a year off, nothing is deleted for the first day", async () => {
  const { time, open, pass, removals } = lab();
  let store = await open();
  await fill(store);
  await store.close();
  time.wallMs += 365 * dayMs;
  store = await open();
  put(store, time.wallMs, [[named("up"), 1]]);
  await pass(store, hourMs);
  expect(samplesOf(await dump(store))).toBe(20_001);
  await pass(store, 24 * hourMs);
  expect(samplesOf(await dump(store))).toBe(1);
  expect(removals().reduce((sum, { fields }) => sum + Number(fields["samples"]), 0)).toBe(20_000);
  await store.close();
}, 60_000);

test("a removal is logged with its extent, its files stay for the grace period, also over a restart", async () => {
  let clockMs = nowMs;
  const { time, open, removals, blockFiles, lines } = lab({ retentionNowMs: () => clockMs });
  let store = await open();
  put(store, nowMs - 29 * dayMs, [[named("old"), 1]]);
  await store.seal();
  clockMs += 10 * dayMs;
  put(store, clockMs, [[named("new"), 2]]);
  await store.maintain();
  expect(removals().map(({ fields }) => fields)).toMatchObject([
    {
      blocks: 1,
      ids: "1",
      from: new Date(nowMs - 29 * dayMs).toISOString(),
      to: new Date(nowMs - 29 * dayMs).toISOString(),
      samples: 1,
      why: "older than the retention of 30d",
      filesDeletedIn: "1h",
    },
  ]);
  expect(await dump(store)).toEqual([`__name__:new ${clockMs}=2`]);
  time.monotonicMs += hourMs - 1;
  await store.maintain();
  await store.close();
  store = await open();
  time.monotonicMs += hourMs - 1;
  await store.maintain();
  expect(blockFiles()).toEqual(["0000000001.block"]);
  expect(store.stats()).toMatchObject({ removedBlocks: 1, blocks: 0 });
  time.monotonicMs += 1;
  await store.maintain();
  expect(blockFiles()).toEqual([]);
  expect(lines.map(({ message }) => message)).toContain("the files of removed blocks were deleted");
  expect(store.stats()).toMatchObject({ removedBlocks: 0, series: 1 });
  await store.close();
});

test("within the grace period a longer retention brings blocks back", async () => {
  let clockMs = nowMs;
  const { open, dir } = lab({ retentionNowMs: () => clockMs });
  let store = await open();
  put(store, nowMs - 29 * dayMs, [[named("old"), 1]]);
  await store.seal();
  clockMs += 10 * dayMs;
  put(store, clockMs, [[named("new"), 2]]);
  await store.maintain();
  await store.close();
  store = await open({ retentionMs: 60 * dayMs });
  await store.maintain();
  expect(samplesOf(await dump(store))).toBe(2);
  expect(existsSync(path.join(dir, "blocks", "0000000001.block"))).toBe(true);
  await store.close();
});

test("a size limit removes the oldest blocks at once and says so", async () => {
  const { open, removals, blockFiles } = lab({ retentionBytes: 20_000 });
  const store = await open();
  for (let block = 0; block < 20; block++) {
    for (let i = 0; i < 300; i++)
      put(store, nowMs - 10 * dayMs + (block * 300 + i) * 1000, [
        [named("a"), Math.sin(i * block)],
      ]);
    await store.seal();
    await store.maintain();
  }
  const { blockBytes, blocks, maxTimeMs } = store.stats();
  expect(blockBytes).toBeLessThanOrEqual(20_000);
  expect(maxTimeMs).toBe(nowMs - 10 * dayMs + 5_999_000);
  expect(blockFiles().length).toBe(blocks);
  expect(removals().at(0)?.fields["why"]).toBe("the oldest of a store larger than 20000 bytes");
  await store.close();
});
