/**
 * The cost and benefit of rollups: `npm run bench:rollups`. Prints the bytes of a month of the simulated fleet and an estimate
 * for five years of 1,000 GPUs, the time of a query over a year of one GPU and whether its spikes match the raw samples, and the
 * processor time of ingestion with rollups on and off in turn. BENCH_ONLY=size|year|ingest|receive runs one part.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { silentLog } from "../src/base/log.ts";
import { labelValue } from "../src/model/labels.ts";
import type { QueryResult } from "../src/query/result.ts";
import { openSources } from "../src/sources/open.ts";
import { openStore, type Store } from "../src/storage/embedded/store.ts";
import { buildStoreWorker } from "../test/store/worker-file.ts";
import { startHub } from "../engines/hub.ts";
import { processCost } from "./process-cost.ts";
import { WriteClient, WriteRequests } from "./remote-write.ts";
import { FleetValues, fleetLabels } from "./store-data.ts";

const dayMs = 86_400_000;
const hourMs = 3_600_000;
const startMs = Date.UTC(2026, 0, 1);
const only = process.env["BENCH_ONLY"];
const folder = mkdtempSync(path.join(tmpdir(), "gpulse-bench-rollups-"));
const workerFile = await buildStoreWorker(folder);

const say = (what: string, figure: string): void => console.log(`${what.padEnd(70)} ${figure}`);
const gigabytes = (bytes: number): string => `${(bytes / 1e9).toFixed(1)} GB`;

/** The clock for retention is at the newest sample. */
function open(name: string, nowMs: () => number, rollupRetentionMs: number): Promise<Store> {
  return openStore({
    dir: path.join(folder, name),
    retentionMs: 400 * dayMs,
    rollupRetentionMs,
    memoryBytes: 256 * 2 ** 20,
    durability: "process",
    log: silentLog,
    nowMs,
    retentionNowMs: nowMs,
    workerFile,
    manual: true,
  });
}

/** Seals, rolls up and merges until nothing is left to do. */
async function settle(store: Store): Promise<void> {
  await store.seal();
  let before = "";
  for (;;) {
    await store.maintain();
    const { rollups, blocks } = store.stats();
    const now = JSON.stringify([rollups, blocks]);
    if (now === before) return;
    before = now;
  }
}

/** A month of the simulator's frames at 15 s, sealed every two hours as in a hub. */
async function fillMonth(store: Store, gpus: number, clock: { nowMs: number }): Promise<void> {
  const url = `sim:${gpus}?seed=7&speed=max&start=${new Date(startMs).toISOString()}&duration=30d&interval=15s`;
  const [opened] = await openSources([url], {
    host: "node-0",
    log: silentLog,
    nowMs: () => startMs,
    sysfs: "/sys",
    procfs: "/proc",
  });
  const source = opened?.source;
  if (source?.shape !== "streaming") throw new Error("BUG: speed=max streams");
  let sealAtMs = startMs + 2 * hourMs;
  await source.run(async (frame) => {
    clock.nowMs = frame.timeMs;
    store.appendFrame({ frame, source: "sim", tier: "stream" });
    if (frame.timeMs < sealAtMs) return;
    sealAtMs += 2 * hourMs;
    await store.seal();
    await store.maintain();
  }, new AbortController().signal);
  await source.close();
  await settle(store);
}

async function measureSize(): Promise<void> {
  const gpus = Number(process.env["BENCH_GPUS"] ?? 1);
  const clock = { nowMs: startMs };
  const store = await open("month", () => clock.nowMs, 5 * 365 * dayMs);
  await fillMonth(store, gpus, clock);
  const { series, blockBytes, blockSamples, rollups } = store.stats();
  await store.close();
  // Jobs and processes come and go: of all series, those with a sample at one instant are counted.
  const atOnce = blockSamples / ((30 * dayMs) / 15_000);
  const scale = (1_000 * 40) / atOnce;
  const [fine, coarse] = rollups.tiers.map(({ bytes }) => bytes * scale) as [number, number];
  const rawBytes = blockBytes * scale;
  // 30 days each: 5-minute rollups for a fifth of five years, hourly ones for all of it.
  const fineBytes = (fine * 365) / 30;
  const coarseBytes = (coarse * 5 * 365) / 30;
  say(
    `${gpus} simulated GPUs, 30 days at 15 s`,
    `${blockSamples} samples of ${series} series, ${atOnce.toFixed(1)} at once`,
  );
  say("raw bytes a sample", (blockBytes / blockSamples).toFixed(2));
  say("30 days raw, 1,000 GPUs x 40 series", gigabytes(rawBytes));
  say("1 year of 5-minute rollups, the same", gigabytes(fineBytes));
  say("5 years of hourly rollups, the same", gigabytes(coarseBytes));
  say("together (at most 60 GB)", gigabytes(rawBytes + fineBytes + coarseBytes));
}

/** Two GPUs x 40 series for a year, one sample a minute: a spike lasts one sample. */
async function measureYear(): Promise<void> {
  const gpus = 2;
  const clock = { nowMs: startMs };
  const store = await open("year", () => clock.nowMs, 5 * 365 * dayMs);
  const labels = fleetLabels(gpus, 40);
  const values = new FleetValues(labels.length, 40);
  const appender = store.appender();
  const refs = labels.map((one) => appender.ref(one));
  const endMs = startMs + 365 * dayMs;
  for (let timeMs = startMs; timeMs < endMs; timeMs += 60_000) {
    refs.forEach((ref, i) => appender.add(ref, timeMs, values.value(i)));
    appender.commit();
    clock.nowMs = timeMs;
    if (timeMs % dayMs !== 0) continue;
    await store.seal();
    await store.maintain();
  }
  await settle(store);
  const uuid = labelValue(labels[0] ?? [], "uuid") ?? "";
  const stepMs = 6 * hourMs;
  const names = labels.slice(0, 40).map((one) => labelValue(one, "__name__") ?? "");
  // One query after another for the charts of one GPU, as the web page sends them.
  const ask = async (): Promise<QueryResult[]> => {
    const results: QueryResult[] = [];
    for (const name of names) {
      const query = `max_over_time(${name}{uuid="${uuid}"}[6h])`;
      results.push(await store.range(query, startMs + stepMs, clock.nowMs, stepMs));
    }
    return results;
  };
  const [results, coldMs] = await timed(ask);
  const warmMs: number[] = [];
  for (let round = 0; round < 15; round++) warmMs.push((await timed(ask))[1]);
  warmMs.sort((x, y) => x - y);
  const infos = [...new Set(results.flatMap((result) => result.infos))];
  let [points, wrong] = [0, 0];
  const [, rawMs] = await timed(async () => {
    for (const [i, name] of names.entries()) {
      const matchers = [
        { name: "__name__", op: "=", value: name },
        { name: "uuid", op: "=", value: uuid },
      ] as const;
      const [raw] = await store.select(matchers, startMs, endMs);
      const peaks = new Map<number, number>();
      const { times, values: samples } = raw?.column ?? { times: [], values: [] };
      times.forEach((timeMs, at) => {
        const end = Math.ceil(timeMs / stepMs) * stepMs;
        peaks.set(end, Math.max(peaks.get(end) ?? -Infinity, samples[at] as number));
      });
      const data = results[i]?.data;
      if (data?.type !== "matrix") throw new Error("BUG: a range query has a matrix");
      for (const found of data.series)
        found.values.forEach((value, at) => {
          points++;
          if (peaks.get(found.times[at] as number) !== value) wrong++;
        });
    }
  });
  say("a year of one GPU, 40 series, from", infos.join("; "));
  say(
    "median of 15 (at most 60 ms), and the first",
    `${middle(warmMs)} ms, ${coldMs.toFixed(0)} ms`,
  );
  say("the same from raw samples, one a minute", `${rawMs.toFixed(0)} ms`);
  say("points whose spike is not that of the raw samples", `${wrong} of ${points}`);
  await store.close();
}

const middle = (sorted: readonly number[]): string =>
  (sorted[Math.floor(sorted.length / 2)] ?? Number.NaN).toFixed(1);

async function timed<Result>(work: () => Promise<Result>): Promise<[Result, number]> {
  const began = performance.now();
  const result = await work();
  return [result, performance.now() - began];
}

/** 33 days: eight rollups of four days, and a merge of the hourly ones. Samples of all series at one instant, 15 s apart. */
const ingestedMs = 33 * dayMs;
const ingestedSeries = 200;

/**
 * 33 days of 5 GPUs x 40 series, appended directly to the store: receiving requests costs more, which would make the share
 * smaller.
 */
async function ingestSeconds(name: string, rollupRetentionMs: number): Promise<number> {
  const clock = { nowMs: startMs };
  const store = await open(name, () => clock.nowMs, rollupRetentionMs);
  const labels = fleetLabels(ingestedSeries / 40, 40);
  const values = new FleetValues(labels.length, 40);
  const appender = store.appender();
  const refs = labels.map((one) => appender.ref(one));
  const row = new Float64Array(labels.length);
  let seconds = 0;
  for (let timeMs = startMs; timeMs < startMs + ingestedMs; timeMs += 15_000) {
    for (let i = 0; i < row.length; i++) row[i] = values.value(i);
    clock.nowMs = timeMs;
    const before = process.cpuUsage();
    refs.forEach((ref, i) => appender.add(ref, timeMs, row[i] as number));
    appender.commit();
    if (timeMs % (2 * hourMs) === 0) {
      await store.seal();
      await store.maintain();
    }
    seconds += cpuSeconds(before);
  }
  const before = process.cpuUsage();
  await settle(store);
  seconds += cpuSeconds(before);
  await store.close();
  return seconds;
}

/**
 * The same samples received by the built hub: remote-write 1.0 in requests of 1,600 samples. Processor time of the hub's process,
 * from its start until everything is sealed and rolled up.
 */
async function receiveSeconds(rollupRetention: string): Promise<number> {
  const dataDir = mkdtempSync(path.join(folder, "hub-"));
  const args = ["--retention", "400d", "--rollup-retention", rollupRetention];
  const hub = await startHub({ dataDir, args });
  try {
    const labels = fleetLabels(ingestedSeries / 40, 40);
    const values = new FleetValues(labels.length, 40);
    const requests = new WriteRequests(labels);
    const client = new WriteClient(hub.url);
    const firstMs = Math.floor((Date.now() - ingestedMs) / hourMs) * hourMs;
    const before = processCost(hub.process.pid).cpuSeconds;
    for (let timeMs = firstMs; timeMs < firstMs + ingestedMs; timeMs += 8 * 15_000) {
      const instants = Array.from({ length: 8 }, (_, i) => timeMs + i * 15_000);
      const { status, text } = await client.send(
        requests.encode(0, labels.length, instants, (series) => values.value(series)),
      );
      if (status >= 300) throw new Error(`the hub answered ${status} ${text}`);
    }
    client.close();
    await fetch(`${hub.url}/api/v1/admin/tsdb/snapshot`, { method: "POST" });
    // Each round of maintenance, every 5 s, rolls up four days; without rollups, waits for the same time.
    await sleep(60_000);
    const page = await (await fetch(`${hub.url}/metrics`)).text();
    const rollupBytes = Number(
      /^gpulse_store_rollup_bytes\S* (\d+)/m.exec(page)?.[1] ?? Number.NaN,
    );
    if (rollupBytes > 0 !== (rollupRetention !== "0"))
      throw new Error(`${rollupBytes} bytes of rollups with --rollup-retention ${rollupRetention}`);
    return processCost(hub.process.pid).cpuSeconds - before;
  } finally {
    await hub.stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

async function measureReceive(): Promise<void> {
  const [on, off]: [number[], number[]] = [[], []];
  for (let round = 0; round < Number(process.env["BENCH_ROUNDS"] ?? 2); round++) {
    off.push(await receiveSeconds("0"));
    on.push(await receiveSeconds("5y"));
  }
  for (const list of [on, off]) list.sort((a, b) => a - b);
  say("processor time of a hub that receives them by remote-write, off", `${middle(off)} s`);
  say("rollups on", `${middle(on)} s`);
  say("ratio (at most 1.05)", ratio(on, off));
}

const ratio = (on: readonly number[], off: readonly number[]): string =>
  (Number(middle(on)) / Number(middle(off))).toFixed(3);

function cpuSeconds(before: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e6;
}

async function measureIngest(): Promise<void> {
  const [on, off]: [number[], number[]] = [[], []];
  await ingestSeconds("warm", 0);
  for (let round = 0; round < 5; round++) {
    off.push(await ingestSeconds(`off-${round}`, 0));
    on.push(await ingestSeconds(`on-${round}`, 5 * 365 * dayMs));
  }
  for (const list of [on, off]) list.sort((a, b) => a - b);
  const samples = `${((ingestedMs / 15_000) * ingestedSeries) / 1e6} million samples`;
  say(`processor time of ${samples} appended to the store, rollups off`, `${middle(off)} s`);
  say("rollups on", `${middle(on)} s`);
  say("ratio (smaller where requests are received, below)", ratio(on, off));
}

try {
  if (only === undefined || only === "size") await measureSize();
  if (only === undefined || only === "year") await measureYear();
  if (only === undefined || only === "ingest") await measureIngest();
  if (only === undefined || only === "receive") await measureReceive();
} finally {
  rmSync(folder, { recursive: true, force: true });
}
