/** Kills a writing store over and over, then checks every sample it ever acknowledged. */
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { build } from "esbuild";
import { expect } from "vitest";
import { silentLog } from "../../src/base/log.ts";
import { equalHistograms, type Histogram } from "../../src/model/histogram/histogram.ts";
import { labelKey } from "../../src/model/labels.ts";
import { openStore, type Store } from "../../src/storage/embedded/store.ts";
import {
  batchHistogram,
  batchLabels,
  sparseBatchMs,
  batchSeries,
  batchValue,
  briefRule,
  firstHistogramSeries,
} from "./batches.ts";
import { buildStoreWorker } from "./worker-file.ts";

export async function killInALoop(kills: number, seed: number): Promise<void> {
  const folder = mkdtempSync(path.join(tmpdir(), "gpulse-kill-"));
  try {
    const workerFile = await buildStoreWorker(folder);
    const writer = path.join(folder, "writer.mjs");
    await build({
      entryPoints: [path.join(import.meta.dirname, "writer.ts")],
      outfile: writer,
      bundle: true,
      format: "esm",
      platform: "node",
      target: "node20.19",
      logLevel: "silent",
    });
    const dir = path.join(folder, "data");
    let state = seed;
    let acknowledged = -1;
    let runsThatWrote = 0;
    for (let kill = 0; kill < kills; kill++) {
      state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
      const reported = await runAndKill(
        [writer, dir, String(acknowledged + 1), workerFile],
        30 + (state % 450),
        kill % 2 === 0,
      );
      const wrong = reported.filter((line) => /^(wrong|lost)/.test(line));
      expect(wrong).toEqual([]);
      const last = reported.filter((line) => /^\d+$/.test(line)).at(-1);
      if (last !== undefined) {
        acknowledged = Number(last);
        runsThatWrote++;
      }
    }
    expect(runsThatWrote).toBeGreaterThanOrEqual(Math.floor(kills / 2));
    await verifyStore(dir, acknowledged);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Every other kill is counted from the start, so that it may fall into it; the rest from the first acknowledgement on. */
function runAndKill(args: string[], afterMs: number, fromStart: boolean): Promise<string[]> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "pipe"] });
    let [output, errors] = ["", ""];
    let timer: NodeJS.Timeout | undefined;
    const arm = (): void => {
      timer ??= setTimeout(() => child.kill("SIGKILL"), afterMs);
    };
    child.stdout.on("data", (chunk) => {
      output += String(chunk);
      if (/^\d+\n/m.test(output)) arm();
    });
    child.stderr.on("data", (chunk) => (errors += String(chunk)));
    if (fromStart) arm();
    child.on("close", (_code, signal) => {
      clearTimeout(timer);
      // The last line may be cut by the kill itself; a batch counts from its line break on.
      if (signal === "SIGKILL") resolve(output.split("\n").slice(0, -1));
      else reject(new Error(`the writer ended by itself: ${errors}`));
    });
  });
}

/** Every hour that is rolled up counts each sample once. */
async function verifyRollups(
  store: Store,
  got: ReadonlyMap<string, ReadonlyMap<number, unknown>>,
): Promise<void> {
  const hourMs = 3_600_000;
  // A killed process rarely lives long enough to roll up: what it left is done now.
  await store.seal();
  for (let round = 0; round < 10; round++) await store.maintain();
  const { rolledToMs } = store.stats().rollups;
  expect(rolledToMs).toBeGreaterThan(sparseBatchMs(0));
  const firstMs = Math.ceil(sparseBatchMs(0) / hourMs) * hourMs;
  const { data, infos } = await store.range(
    "sum(count_over_time(kept[1h]))",
    firstMs,
    rolledToMs ?? 0,
    hourMs,
  );
  expect(infos.join()).toContain("1h rollups answered");
  const want = new Map<number, number>();
  for (const samples of got.values())
    for (const timeMs of samples.keys()) {
      const end = Math.ceil(timeMs / hourMs) * hourMs;
      if (end <= (rolledToMs ?? 0)) want.set(end, (want.get(end) ?? 0) + 1);
    }
  const [found] = data.type === "matrix" ? data.series : [];
  const counted = [...(found?.times ?? [])].map((timeMs, i) => [timeMs, found?.values[i]]);
  expect(counted).toEqual([...want].sort(([a], [b]) => a - b));
}

/** The series with a rule has all samples within its retention, none that is wrong, and few beyond it. */
async function verifyBrief(store: Store, acknowledged: number): Promise<void> {
  const [found] = await store.select(briefRule.matchers, 0, Infinity);
  const { times, values } = found?.column ?? { times: [], values: [] };
  const batches = new Set<number>();
  times.forEach((timeMs, i) => {
    expect(timeMs).toBe(sparseBatchMs(values[i] ?? Number.NaN));
    batches.add(values[i] ?? Number.NaN);
  });
  expect(batches.size).toBe(times.length);
  // Retention follows the newest sample, which may be of a batch that was not acknowledged any more, and is at most 10 minutes ahead.
  const newestMs = Math.max(sparseBatchMs(acknowledged), ...times);
  const cutoffMs = newestMs + 600_000 - briefRule.retentionMs;
  // The bucket that retention has cut into is read as a rollup: its first and last sample.
  const fromMs = Math.ceil(cutoffMs / 300_000) * 300_000;
  for (let batch = 0; batch <= acknowledged; batch++)
    if (sparseBatchMs(batch) > fromMs) expect(batches).toContain(batch);
}

async function verifyStore(dir: string, acknowledged: number): Promise<void> {
  const store = await openStore({
    dir,
    retentionMs: 1e15,
    memoryBytes: 1e8,
    durability: "process",
    log: silentLog,
    nowMs: () => Date.now(),
    workerFile: false,
    manual: true,
    rollupRetentionMs: 1e15,
    rollEveryMs: 3_600_000,
    retentionRules: [briefRule],
    removalGraceMs: 0,
    retentionNowMs: () => Date.now(),
  });
  const { lost } = store.stats();
  expect(lost).toEqual([]);
  const selected = await store.select([{ name: "__name__", op: "=", value: "kept" }], 0, Infinity);
  const got = new Map<string, Map<number, number | Histogram>>();
  for (const { labels, column } of selected) {
    const samples = new Map<number, number | Histogram>();
    column.times.forEach((time, i) =>
      samples.set(time, column.histograms?.[i] ?? (column.values[i] as number)),
    );
    expect(samples.size).toBe(column.times.length);
    got.set(labelKey(labels), samples);
  }
  let [missing, wrong, seen] = [0, 0, 0];
  const check = (key: string, time: number, want: number | Histogram, must: boolean): void => {
    const value = got.get(key)?.get(time);
    if (value === undefined) missing += must ? 1 : 0;
    else if (!isSame(value, want)) wrong++;
    else seen++;
  };
  // A batch or two after the last acknowledged one may be there as well.
  for (let batch = 0; batch <= acknowledged + 10; batch++)
    for (let series = 0; series < batchSeries; series++) {
      const key = labelKey(batchLabels(batch, series));
      const isHistogram = series >= firstHistogramSeries;
      const want = (isLate: boolean): number | Histogram =>
        isHistogram
          ? batchHistogram(batch, series, isLate)
          : batchValue(batch, series) + (isLate ? 0.5 : 0);
      check(key, sparseBatchMs(batch), want(false), batch <= acknowledged);
      if (batch % 10 === 9)
        check(key, sparseBatchMs(batch) - 500, want(true), batch <= acknowledged);
    }
  const total = [...got.values()].reduce((sum, samples) => sum + samples.size, 0);
  await verifyBrief(store, acknowledged);
  await verifyRollups(store, got);
  // As with rollups: what is due by the rule and was left is done by now.
  await verifyBrief(store, acknowledged);
  expect(store.stats().rules()[0]?.removedBeforeMs).toBeGreaterThan(sparseBatchMs(0));
  await store.close();
  expect({ missing, wrong, unexplained: total - seen }).toEqual({
    missing: 0,
    wrong: 0,
    unexplained: 0,
  });
  expect(seen).toBeGreaterThan(1000);
}

const isSame = (got: number | Histogram, want: number | Histogram): boolean =>
  typeof got === "number" || typeof want === "number" ? got === want : equalHistograms(got, want);
