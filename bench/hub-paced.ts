/**
 * The series of 10,000 GPUs at one sample per 15 s, at that pace for a configured time: the cost of a hub and a VictoriaMetrics
 * that receive the same requests at the same times, and how far they fall behind the clock.
 */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { transformSync } from "esbuild";
import { fleetSeries, Instants, seriesPerGpu, seriesPerRequest } from "./hub-data.ts";
import {
  type Engine,
  peakBytes,
  startHubEngine,
  startVictoriaMetricsEngine,
} from "./hub-engines.ts";
import { Figures, grouped, head, mib, ms, quantile, row, say } from "./hub-print.ts";
import { startProbe } from "./hub-probing.ts";
import { ask } from "./hub-queries.ts";
import { processCost } from "./process-cost.ts";
import { WriteClient, WriteRequests } from "./remote-write.ts";

const intervalMs = 15_000;
/** Infrequent: at this pace a hub uses so little that frequent probes would be most of it. */
const probeEveryMs = 200;

interface Watched {
  readonly delayMs: { readonly p99: number; readonly most: number };
  readonly major: readonly number[];
  readonly minor: readonly number[];
  readonly memory: NodeJS.MemoryUsage;
  readonly fullMs: number;
}

/** One engine under load: the requests sent to it, and when it acknowledged them. */
class Receiver {
  readonly engine: Engine;
  readonly lagsMs: number[] = [];
  acknowledged = 0;
  refused = 0;
  readonly #client: WriteClient;
  readonly #open = new Set<Promise<void>>();

  constructor(engine: Engine) {
    this.engine = engine;
    this.#client = new WriteClient(engine.url);
  }

  /** Does not wait for the response: a slow engine must not slow the clock. */
  send(body: Buffer, samples: number, dueMs: number): void {
    const sending = this.#sendNow(body, samples, dueMs).then(() => void this.#open.delete(sending));
    this.#open.add(sending);
  }

  async #sendNow(body: Buffer, samples: number, dueMs: number): Promise<void> {
    const status = await this.#client.send(body).then(
      (answer) => answer.status,
      () => undefined,
    );
    if (status !== undefined && status < 300) this.acknowledged += samples;
    else this.refused += samples;
    this.lagsMs.push(performance.now() - dueMs);
  }

  async finish(): Promise<void> {
    await Promise.all(this.#open);
    this.#client.close();
  }
}

/** Requests are spread evenly over the interval, each with its due time, like scrapes of many targets. */
async function sendAll(
  gpus: number,
  rounds: number,
  receivers: readonly Receiver[],
): Promise<number> {
  const series = fleetSeries(gpus);
  const requests = new WriteRequests(series);
  const instants = new Instants(gpus);
  const slots = Math.ceil(series.length / seriesPerRequest);
  const [beganMs, wallMs] = [performance.now(), Date.now()];
  let pending = 0;
  for (let round = 0; round < rounds; round++) {
    instants.next();
    for (let slot = 0; slot < slots; slot++) {
      const sinceMs = round * intervalMs + Math.floor((slot * intervalMs) / slots);
      const early = beganMs + sinceMs - performance.now();
      if (early > 0) await sleep(early);
      const from = slot * seriesPerRequest;
      const to = Math.min(series.length, from + seriesPerRequest);
      const body = requests.encode(from, to, [wallMs + sinceMs], (i) => instants.row[i] ?? 0);
      pending += to - from;
      for (const receiver of receivers) receiver.send(body, to - from, beganMs + sinceMs);
    }
  }
  await sleep(Math.max(0, beganMs + rounds * intervalMs - performance.now()));
  return pending;
}

export async function paced(scale: number, minutes: number): Promise<void> {
  const gpus = Math.round(10_000 * scale);
  const rounds = Math.max(1, Math.round((minutes * 60_000) / intervalMs));
  const millions = (gpus * seriesPerGpu) / 1e6;
  const folder = mkdtempSync(path.join(tmpdir(), "gpulse-bench-watch-"));
  const watchFile = path.join(folder, "watch.json");
  const watch = `NODE_OPTIONS=--import=${watchProgram(folder)}`;
  const engines = [
    await startHubEngine(["env", watch, `HUB_WATCH=${watchFile}`]),
    await startVictoriaMetricsEngine(),
  ];
  try {
    const receivers = engines.map((engine) => new Receiver(engine));
    const probes = engines.map(({ url }) => startProbe(url, probeEveryMs));
    const before = engines.map(({ pid }) => processCost(pid));
    const began = performance.now();
    const pending = await sendAll(gpus, rounds, receivers);
    const seconds = (performance.now() - began) / 1000;
    const costs = engines.map(({ pid }) => processCost(pid));
    const waits = await Promise.all(probes.map((probe) => probe.stop()));
    await Promise.all(receivers.map((receiver) => receiver.finish()));
    const figures = new Figures();
    for (const [i, { engine, lagsMs, acknowledged }] of receivers.entries()) {
      const put = (kind: string, value: number): void => figures.put(kind, engine.name, value);
      const cpuSeconds = (costs[i]?.cpuSeconds ?? NaN) - (before[i]?.cpuSeconds ?? NaN);
      put("acknowledged", acknowledged);
      put("kept", await countStored(engine, Math.ceil(seconds / 60) + 1));
      put("lag p99", quantile(lagsMs, 0.99));
      put("lag", Math.max(...lagsMs));
      put("cores", cpuSeconds / seconds / millions);
      put("memory", (costs[i]?.residentBytes ?? NaN) / millions);
      put("peak", peakBytes(engine.pid) / millions);
      for (const share of [0.5, 0.99, 1]) put(`wait ${share}`, quantile(waits[i] ?? [], share));
    }
    head(
      `${grouped(gpus)} GPUs, ${grouped(gpus * seriesPerGpu)} series, one sample each 15 s for ${minutes} minutes: ${grouped(pending)} samples pending`,
    );
    row("samples acknowledged", figures.of("acknowledged"), grouped);
    const lost = receivers.map(({ engine, refused }) => `${engine.name} ${grouped(refused)}`);
    say(`| samples refused or unanswered: ${lost.join(", ")} | | | | | |`);
    row("samples of `gpu_power_watts` read back", figures.of("kept"), grouped);
    row("answer behind the schedule, p99", figures.of("lag p99"), ms);
    row("answer behind the schedule, longest", figures.of("lag"), ms);
    row("cores a million series", figures.of("cores"), (value) => value.toFixed(3));
    row("resident memory a million series", figures.of("memory"), mib);
    row("resident memory a million series, most", figures.of("peak"), mib);
    row("`/-/healthy`, median", figures.of("wait 0.5"), ms);
    row("`/-/healthy`, p99", figures.of("wait 0.99"), ms);
    row("`/-/healthy`, longest", figures.of("wait 1"), ms);
    sayWatched(await watched(engines[0]?.pid ?? 0, watchFile));
  } finally {
    for (const engine of engines) await engine.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** hub-watch.ts as plain JavaScript: loading a compiler with it would count as the hub's memory. */
function watchProgram(folder: string): string {
  const source = readFileSync(new URL("./hub-watch.ts", import.meta.url), "utf8");
  const file = path.join(folder, "watch.mjs");
  writeFileSync(file, transformSync(source, { loader: "ts" }).code);
  return pathToFileURL(file).href;
}

/** The number of samples of one metric that can be read back. */
async function countStored(engine: Engine, minutes: number): Promise<number> {
  const query = `sum(count_over_time(gpu_power_watts[${minutes}m]))`;
  const { body } = await ask(engine, { name: query, query, timeMs: Date.now() });
  const { data } = JSON.parse(body) as { data: { result: { value: [number, string] }[] } };
  return Number(data.result[0]?.value[1]);
}

async function watched(pid: number, file: string): Promise<Watched> {
  process.kill(pid, "SIGUSR2");
  for (let tries = 0; !existsSync(file); tries++) {
    if (tries === 600) throw new Error("the hub's figures did not come within a minute");
    await sleep(100);
  }
  return JSON.parse(readFileSync(file, "utf8")) as Watched;
}

function sayWatched({ delayMs, major, minor, memory, fullMs }: Watched): void {
  const sum = (values: readonly number[]): number => values.reduce((all, one) => all + one, 0);
  say(
    `\nThe hub's event loop (its timer every 10 ms came late by): p99 ${ms(delayMs.p99 - 10)}, most ${ms(delayMs.most - 10)}.`,
  );
  say(
    `Garbage collections: ${minor.length} of the young (${ms(sum(minor))} in all, ${ms(Math.max(0, ...minor))} the longest), ${major.length} full (${ms(sum(major))} in all, ${ms(Math.max(0, ...major))} the longest); one more, forced at the end: ${ms(fullMs)}.`,
  );
  say(
    `JavaScript's heap ${mib(memory.heapUsed)} of ${mib(memory.heapTotal)}, array buffers ${mib(memory.arrayBuffers)}, resident ${mib(memory.rss)}.`,
  );
}
