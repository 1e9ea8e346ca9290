/**
 * The performance of the embedded store, alone in this process: `node scripts/run-ts.mjs bench/store.ts [trace|fleet|large]`.
 * Prints ingestion, bytes per sample, reading, memory and collection at 400,000 series, start-up, and the event loop's delay
 * while a worker seals.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { silentLog } from "../src/base/log.ts";
import { hashWords, LabelHasher } from "../src/formats/samples/label-hash.ts";
import { type LabelSet, labelSet } from "../src/model/labels.ts";
import { openStore, type Store } from "../src/storage/embedded/store.ts";
import { buildStoreWorker } from "../test/store/worker-file.ts";
import { FleetValues, fleetLabels, traceColumns } from "./store-data.ts";
import { type PeerSeries, victoriaBytesPerSample } from "./store-peer.ts";

setFlagsFromString("--expose_gc");
const collect = runInNewContext("gc") as () => void;
const folder = mkdtempSync(path.join(tmpdir(), "gpulse-bench-store-"));
const workerFile = await buildStoreWorker(folder);
const startMs = 1_790_000_000_000;

const open = (name: string): Promise<Store> =>
  openStore({
    dir: path.join(folder, name),
    retentionMs: 3650 * 86_400_000,
    memoryBytes: 512 * 2 ** 20,
    durability: "process",
    log: silentLog,
    nowMs: () => startMs + 86_400_000,
    workerFile,
    manual: true,
  });

const say = (what: string, figure: string): void => console.log(`${what.padEnd(66)} ${figure}`);
const millions = (count: number, ms: number): string => `${(count / ms / 1e3).toFixed(2)} M/s`;

/** Label bytes as in a request. */
function rawLabels(labels: readonly LabelSet[]): { bytes: Buffer; ends: Uint32Array } {
  const ends = new Uint32Array(labels.length);
  let at = 0;
  const parts = labels.map((set, i) => {
    const part = Buffer.from(set.map(([name, value]) => `\n\u0010${name}\u0012${value}`).join(""));
    at += part.length;
    ends[i] = at;
    return part;
  });
  return { bytes: Buffer.concat(parts), ends };
}

interface Fill {
  readonly store: Store;
  readonly labels: readonly LabelSet[];
  readonly metrics: number;
  readonly steps: number;
  readonly stepMs: number;
}

/** Returns the time spent in the store alone. */
async function fill({ store, labels, metrics, steps, stepMs }: Fill): Promise<number> {
  const { bytes, ends } = rawLabels(labels);
  const hasher = new LabelHasher();
  const hash = new Uint32Array(hashWords);
  const values = new FleetValues(labels.length, metrics);
  const appender = store.appender();
  const row = new Float64Array(labels.length);
  let spentMs = 0;
  for (let step = 0; step < steps; step++) {
    for (let i = 0; i < row.length; i++) row[i] = values.value(i);
    const timeMs = startMs + step * stepMs;
    const began = performance.now();
    for (let i = 0; i < row.length; i++) {
      const set = labels[i] as LabelSet;
      const from = i === 0 ? 0 : (ends[i - 1] as number);
      hasher.hash(bytes, from, ends[i] as number, hash, 0);
      const ref = appender.rawRef(hash, 0, () => set);
      appender.add(ref, timeMs, row[i] as number);
    }
    appender.commit();
    spentMs += performance.now() - began;
    if (step % 16 === 15) await new Promise(setImmediate);
  }
  return spentMs;
}

async function fleet(): Promise<void> {
  console.log("\nFleet: 64 GPUs x 40 metrics x 6 h at 5 s");
  const labels = fleetLabels(64, 40);
  let store = await open("fleet");
  const samples = labels.length * 4320;
  const spentMs = await fill({ store, labels, metrics: 40, steps: 4320, stepMs: 5000 });
  say("ingest, warm raw labels, log written", millions(samples, spentMs));
  const { headBytes, headTimebases } = store.stats();
  say("head, bytes a sample", `${(headBytes / samples).toFixed(2)} (${headTimebases} timebases)`);
  await read(store, "head", samples);
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  const began = performance.now();
  await store.seal();
  const tookMs = performance.now() - began;
  delay.disable();
  say("sealing in a worker", `${millions(samples, tookMs)}, ${Math.round(tookMs)} ms`);
  say(
    "event loop's delay meanwhile, p99 / most",
    `${ms(delay.percentile(99))} / ${ms(delay.max)} ms`,
  );
  const { blockBytes, blockSamples } = store.stats();
  say("blocks, bytes a sample", (blockBytes / blockSamples).toFixed(3));
  await besideVictoria(blockBytes / blockSamples, fleetSeries(labels, 4320, 5000));
  await read(store, "blocks, cold", samples);
  await read(store, "blocks, warm", samples);
  await store.close();
  const opening = performance.now();
  store = await open("fleet");
  say("start-up, 2,560 series sealed", `${Math.round(performance.now() - opening)} ms`);
  await store.close();
}

async function read(store: Store, what: string, samples: number): Promise<void> {
  const began = performance.now();
  const all = await store.select([{ name: "job", op: "=", value: "gpulse" }], 0, Infinity);
  const tookMs = performance.now() - began;
  const got = all.reduce((sum, { column }) => sum + column.values.length, 0);
  if (got !== samples) throw new Error(`read ${got} samples, not ${samples}`);
  say(`reading all of it, ${what}`, `${millions(samples, tookMs)}, ${Math.round(tookMs)} ms`);
}

async function besideVictoria(ours: number, series: Iterable<PeerSeries>): Promise<void> {
  const theirs = await victoriaBytesPerSample(series);
  if (theirs === undefined) return say("the same in VictoriaMetrics", "not installed here");
  say(
    "the same in VictoriaMetrics / ours over theirs",
    `${theirs.toFixed(3)} / ${(ours / theirs).toFixed(2)}`,
  );
}

/** The samples that `fill` appended, series by series. */
function* fleetSeries(
  labels: readonly LabelSet[],
  steps: number,
  stepMs: number,
): Iterable<PeerSeries> {
  const values = new FleetValues(labels.length, 40);
  const columns = labels.map(() => new Float64Array(steps));
  for (let step = 0; step < steps; step++)
    columns.forEach((column, i) => (column[step] = values.value(i)));
  const times = Float64Array.from({ length: steps }, (_, step) => startMs + step * stepMs);
  for (const [i, set] of labels.entries())
    yield { labels: set, times, values: columns[i] ?? times };
}

async function trace(): Promise<void> {
  console.log("\nThe trace of a real H200, 155 s at 20 Hz");
  const store = await open("trace");
  const appender = store.appender();
  for (const { name, times, values } of traceColumns()) {
    const ref = appender.ref(labelSet({ __name__: name, uuid: "GPU-0" }));
    for (let i = 0; i < times.length; i++)
      appender.add(ref, times[i] as number, values[i] as number);
  }
  appender.commit();
  await store.seal();
  const { blockBytes, blockSamples } = store.stats();
  say(
    "blocks, bytes a sample, instants and directory included",
    (blockBytes / blockSamples).toFixed(3),
  );
  await besideVictoria(
    blockBytes / blockSamples,
    traceColumns().map(({ name, ...column }) => ({
      labels: labelSet({ __name__: name, uuid: "GPU-0" }),
      ...column,
    })),
  );
  await store.close();
}

/** The minimum of five collections, after one that removes earlier garbage. */
function collection(): number {
  collect();
  return Math.min(
    ...[1, 2, 3, 4, 5].map(() => {
      const began = performance.now();
      collect();
      return performance.now() - began;
    }),
  );
}

async function large(): Promise<void> {
  console.log("\n10,000 GPUs: 400,000 series at 15 s for ten minutes");
  const emptyMs = collection();
  const before = process.memoryUsage();
  const labels = fleetLabels(10_000, 40);
  let store = await open("large");
  const createdMs = await fill({ store, labels, metrics: 40, steps: 1, stepMs: 15_000 });
  say("the first sample of each, series made", `${Math.round(createdMs)} ms`);
  const { indexBytes } = store.stats();
  say("index, bytes a series", (indexBytes / labels.length).toFixed(0));
  const spentMs = await fill({
    store,
    labels,
    metrics: 40,
    steps: 40,
    stepMs: 15_000,
  });
  say("ingest", millions(labels.length * 40, spentMs));
  const { headBytes } = store.stats();
  say(
    "head, bytes a series / a sample",
    `${(headBytes / labels.length).toFixed(0)} / ${(headBytes / labels.length / 40).toFixed(1)}`,
  );
  labels.length = 0;
  say(
    "a full collection, before / with the series",
    `${emptyMs.toFixed(1)} / ${collection().toFixed(1)} ms`,
  );
  const after = process.memoryUsage();
  const mb = (bytes: number): string => (bytes / 2 ** 20).toFixed(0);
  say(
    "memory, resident growth / JavaScript heap",
    `${mb(after.rss - before.rss)} / ${mb(after.heapUsed)} MiB`,
  );
  for (const what of ["first", "again"]) {
    const instant = performance.now();
    const got = await store.select(
      [{ name: "__name__", op: "=", value: "gpu_metric_4_watts" }],
      startMs + 500_000,
      startMs + 600_000,
    );
    const tookMs = performance.now() - instant;
    say(`selecting ${got.length} series, 100 s, ${what}`, `${Math.round(tookMs)} ms`);
  }
  await store.close();
  const replaying = performance.now();
  store = await open("large");
  const { start } = store.stats();
  say(
    "start-up from the log alone",
    `${Math.round(performance.now() - replaying)} ms, ${start.logSamples} samples`,
  );
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  const sealing = performance.now();
  await store.seal();
  delay.disable();
  say("sealing in a worker", `${Math.round(performance.now() - sealing)} ms`);
  say(
    "event loop's delay meanwhile, p99 / most",
    `${ms(delay.percentile(99))} / ${ms(delay.max)} ms`,
  );
  const { blockBytes, blockSamples } = store.stats();
  say("blocks, bytes a sample (40 samples a series)", (blockBytes / blockSamples).toFixed(3));
  await store.close();
  const opening = performance.now();
  store = await open("large");
  say("start-up, sealed", `${Math.round(performance.now() - opening)} ms`);
  await store.close();
}

const ms = (nanoseconds: number): string => (nanoseconds / 1e6).toFixed(1);

try {
  const only = process.argv[2];
  if (only === undefined || only === "trace") await trace();
  if (only === undefined || only === "fleet") await fleet();
  if (only === undefined || only === "large") await large();
} finally {
  rmSync(folder, { recursive: true, force: true });
}
