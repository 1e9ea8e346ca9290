/** The hub's receivers beside engines that receive the same requests or scrape the same pages. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { startHub } from "../../engines/hub.ts";
import { requiredTool } from "../../engines/cache.ts";
import { startPrometheus } from "../../engines/prometheus.ts";
import {
  type Engine,
  startHubEngine,
  startPrometheusEngine,
  startVictoriaMetricsEngine,
} from "../hub-engines.ts";
import { framesPath } from "../ingest-frames.ts";
import { configOf, Pages, perPage, warmUpSeconds } from "../ingest-scrape.ts";
import { type IngestFigures, ingestPath } from "../ingest-send.ts";
import { influxPath, type IngestPath, makeFleet, remoteWritePath } from "../ingest-paths.ts";
import { cpuSeconds, residentBytes } from "./cost.ts";
import { type Area, type Context, line } from "./measurement.ts";

const write = "remote-write 1.0";
const scraping = "200 targets of eight GPUs scraped";

const parsing =
  "the hub reads HTTP, text and protobuf in JavaScript; Prometheus and VictoriaMetrics are compiled Go.";
const requests =
  "an agent's push is one frame of eight GPUs, 320 samples, and remote-write has 2,000 samples a request: what a request costs counts six times. A plain Node HTTP server that answers the same requests and stores nothing takes 0.36 s a million samples. Out of a spool several frames go in one.";
const scrapes =
  "no floor: a plain Node program that requests and decompresses the same pages and reads nothing in them takes 0.2 s a million samples. Hub and Prometheus are measured in the same seconds on the same two cores, and windows differ by up to a third. Beside what Prometheus does the hub finds GPUs by their names, books the energy of jobs and keeps health and curves of the page.";
const heap =
  "Node's program is 41 MiB of it, and every target keeps the series of its last page, to end those that are gone.";

export const receive: Area = {
  name: "receive",
  title: "Ingestion by protocol",
  about:
    "200 GPUs × 40 series × 400 instants, the same 3.2 million samples by every protocol, about 2,000 a request, four senders, each engine started empty and the first quarter not counted; what agents push beside remote-write of the same samples; and 200 targets of eight GPUs scraped every 2 s by the hub and by Prometheus at the same time, for 30 s before the first window of 6 s.",
  more: "npm run bench:ingest",
  measurements: [
    line(
      "receive.write.vm",
      `processor per million samples, ${write}`,
      "VictoriaMetrics",
      "processor",
      "s",
      { behind: parsing },
    ),
    line(
      "receive.write.prometheus",
      `processor per million samples, ${write}`,
      "Prometheus",
      "processor",
      "s",
    ),
    line(
      "receive.influx.vm",
      "processor per million samples, Influx line",
      "VictoriaMetrics",
      "processor",
      "s",
      {
        behind: "text is read in JavaScript, field by field; VictoriaMetrics does it in Go.",
      },
    ),
    line(
      "receive.frames.cpu",
      "processor per million samples, pushed by agents",
      `VictoriaMetrics by ${write}`,
      "processor",
      "s",
      { behind: requests },
    ),
    line(
      "receive.frames.wire",
      "bytes on the wire a sample, pushed by agents",
      write,
      "bytes",
      "bytes",
    ),
    line(
      "receive.scrape.cpu",
      `processor per million samples, ${scraping}`,
      "Prometheus",
      "processor",
      "s",
      { behind: scrapes },
    ),
    line("receive.scrape.memory", `resident memory, ${scraping}`, "Prometheus", "memory", "MiB", {
      behind: heap,
    }),
  ],
  measure: async (context) => {
    const { full, put, progress } = context;
    const [rounds, steps] = full ? [5, 800] : [3, 400];
    const fleet = makeFleet(steps, Math.floor(Date.now() / 1_000) * 1_000);
    const [remoteWrite, influx] = [remoteWritePath(fleet), influxPath(fleet)];
    const frames = framesPath("frames", fleet, 1);
    for (let round = 0; round < rounds; round++) {
      progress(`round ${round + 1} of ${rounds}: requests`);
      const took = new Map<string, IngestFigures>();
      const jobs: [string, () => Promise<Engine>, IngestPath][] = [
        ["hub", () => startHubEngine(), remoteWrite],
        ["vm", startVictoriaMetricsEngine, remoteWrite],
        ["prometheus", startPrometheusEngine, remoteWrite],
        ["hub influx", () => startHubEngine(), influx],
        ["vm influx", startVictoriaMetricsEngine, influx],
        ["frames", () => startHubEngine(), frames],
      ];
      for (const [name, start, way] of round % 2 === 0 ? jobs : jobs.toReversed())
        took.set(name, await once(start, way));
      const cpu = (name: string): number => took.get(name)?.cpuSecondsPerMillion ?? Number.NaN;
      const wire = (name: string): number => took.get(name)?.wireBytesPerSample ?? Number.NaN;
      put("receive.write.vm", cpu("hub"), cpu("vm"));
      put("receive.write.prometheus", cpu("hub"), cpu("prometheus"));
      put("receive.influx.vm", cpu("hub influx"), cpu("vm influx"));
      put("receive.frames.cpu", cpu("frames"), cpu("vm"));
      put("receive.frames.wire", wire("frames"), wire("hub"));
    }
    await scrape(context);
  },
};

async function once(start: () => Promise<Engine>, way: IngestPath): Promise<IngestFigures> {
  const engine = await start();
  try {
    return await ingestPath(engine, way);
  } finally {
    await engine.stop();
  }
}

async function scrape({ full, put, progress }: Context): Promise<void> {
  const [rounds, seconds] = full ? [6, 20] : [4, 6];
  const every = 2;
  const folder = mkdtempSync(path.join(tmpdir(), "gpulse-bench-scrape-"));
  const pages = [new Pages(), new Pages()] as const;
  const stops: (() => Promise<unknown>)[] = pages.map((one) => () => one.close());
  try {
    const configs = [];
    for (const one of pages) configs.push(configOf(await one.listen(), every));
    const [hubConfig = {}, prometheusConfig = {}] = configs;
    const file = path.join(folder, "prometheus.yml");
    writeFileSync(file, JSON.stringify(hubConfig));
    const hub = await startHub({
      dataDir: path.join(folder, "data"),
      args: [`--prometheus-config=${file}`, "--no-default-rules"],
    });
    stops.unshift(() => hub.stop());
    const prometheus = await startPrometheus({
      path: requiredTool("prometheus"),
      config: prometheusConfig,
      logLevel: "warn",
    });
    stops.unshift(() => prometheus.stop());
    const pids = [hub.process.pid, prometheus.process.pid] as const;
    await sleep(warmUpSeconds * 1_000);
    for (let round = 0; round < rounds; round++) {
      progress(`round ${round + 1} of ${rounds}: ${seconds} s of scrapes`);
      const before = pids.map(cpuSeconds);
      const served = pages.map((one) => one.served);
      await sleep(seconds * 1_000);
      const [own = Number.NaN, other = Number.NaN] = pids.map((pid, at) => {
        const samples = ((pages[at]?.served ?? 0) - (served[at] ?? 0)) * perPage;
        return ((cpuSeconds(pid) - (before[at] ?? 0)) / samples) * 1e6;
      });
      put("receive.scrape.cpu", own, other);
      const [ownBytes = 0, otherBytes = 0] = pids.map((pid) => residentBytes(pid) / 2 ** 20);
      put("receive.scrape.memory", ownBytes, otherBytes);
    }
  } finally {
    for (const stop of stops) await stop();
    rmSync(folder, { recursive: true, force: true });
  }
}
