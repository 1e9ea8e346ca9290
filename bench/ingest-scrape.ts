/** 200 targets of eight GPUs each, scraped by the hub and by Prometheus with the same prometheus.yml. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { startHub } from "../engines/hub.ts";
import { startPrometheus } from "../engines/prometheus.ts";
import { findTool } from "../engines/tools.ts";
import { fleetSeries, Instants, seriesPerGpu } from "./hub-data.ts";
import type { EngineName } from "./hub-engines.ts";
import type { IngestFigures } from "./ingest-send.ts";
import { processCost } from "./process-cost.ts";

export const targets = 200;
const gpusPerTarget = 8;
export const perPage = gpusPerTarget * seriesPerGpu;
/**
 * The number of pages of each target that are prepared in advance, one for each second. With four of them counters went back at every
 * second scrape, which no machine does, and each time is a reset for the hub's job ledger.
 */
const variants = 32;
/** Time until the series exist and V8 has compiled the hub's code. */
export const warmUpSeconds = 30;

/** @param seconds how long each engine is measured */
export async function scrapeTargets(
  seconds: number,
  intervalSeconds: number,
): Promise<Map<EngineName, IngestFigures>> {
  const pages = new Pages();
  const address = await pages.listen();
  const config = configOf(address, intervalSeconds);
  const found = new Map<EngineName, IngestFigures>();
  const folder = mkdtempSync(path.join(tmpdir(), "gpulse-bench-scrape-"));
  try {
    const file = path.join(folder, "prometheus.yml");
    writeFileSync(file, JSON.stringify(config));
    const hub = await startHub({
      dataDir: path.join(folder, "data"),
      // Prometheus has no rules to evaluate either.
      args: [`--prometheus-config=${file}`, "--no-default-rules"],
    });
    try {
      found.set("hub", await watch(pages, hub.process.pid, seconds));
    } finally {
      await hub.stop();
    }
    const tool = findTool("prometheus");
    if ("missing" in tool) return found;
    const prometheus = await startPrometheus({ path: tool.path, config, logLevel: "warn" });
    try {
      found.set("Prometheus", await watch(pages, prometheus.process.pid, seconds));
    } finally {
      await prometheus.stop();
    }
    return found;
  } finally {
    await pages.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function watch(pages: Pages, pid: number, seconds: number): Promise<IngestFigures> {
  await sleep(warmUpSeconds * 1_000);
  const before = processCost(pid);
  const [served, bytes] = [pages.served, pages.bytes];
  const began = performance.now();
  await sleep(seconds * 1_000);
  const elapsedSeconds = (performance.now() - began) / 1_000;
  const samples = (pages.served - served) * perPage;
  if (samples === 0) throw new Error("nothing was scraped");
  return {
    samplesPerSecond: samples / elapsedSeconds,
    cpuSecondsPerMillion: ((processCost(pid).cpuSeconds - before.cpuSeconds) / samples) * 1e6,
    wireBytesPerSample: (pages.bytes - bytes) / samples,
  };
}

export const configOf = (
  address: string,
  intervalSeconds: number,
): Readonly<Record<string, unknown>> => ({
  global: { scrape_interval: `${intervalSeconds}s`, scrape_timeout: `${intervalSeconds}s` },
  scrape_configs: [
    {
      job_name: "gpulse",
      honor_labels: true,
      static_configs: Array.from({ length: targets }, (_, target) => ({
        targets: [address],
        labels: { __metrics_path__: `/${target}/metrics`, instance: `node-${target}:9400` },
      })),
    },
  ],
});

/** Compressed in advance, so that serving costs next to nothing. */
export class Pages {
  served = 0;
  bytes = 0;
  readonly #server: Server;
  readonly #pages: readonly (readonly Buffer[])[];

  constructor() {
    this.#pages = preparePages();
    this.#server = createServer((request, response) => {
      const target = Number(request.url?.split("/")[1]);
      const page =
        this.#pages[Math.floor(Date.now() / 1_000) % variants]?.[target] ?? Buffer.alloc(0);
      response.writeHead(200, {
        "content-type": "text/plain; version=0.0.4; charset=utf-8",
        "content-encoding": "gzip",
        "content-length": page.length,
      });
      response.end(page);
      this.served++;
      // Approximate size of the status line and headers.
      this.bytes += page.length + 200;
    });
  }

  listen(): Promise<string> {
    return new Promise((resolve) => {
      this.#server.listen(0, "127.0.0.1", () => {
        resolve(`127.0.0.1:${(this.#server.address() as AddressInfo).port}`);
      });
    });
  }

  close(): Promise<void> {
    this.#server.closeAllConnections();
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }
}

let prepared: readonly (readonly Buffer[])[] | undefined;

/** By instant and target; the same for all engines. */
function preparePages(): readonly (readonly Buffer[])[] {
  if (prepared !== undefined) return prepared;
  const instants = new Instants(targets * gpusPerTarget);
  const series = fleetSeries(targets * gpusPerTarget).map((labels) => {
    const name = labels.find(([label]) => label === "__name__")?.[1] ?? "";
    const inside = labels
      .filter(([label]) => !["__name__", "job", "instance"].includes(label))
      .map(([label, value]) => `${label}="${value}"`);
    return `${name}{${inside.join(",")}} `;
  });
  prepared = Array.from({ length: variants }, () => {
    instants.next();
    return Array.from({ length: targets }, (_, target) => {
      const from = target * perPage;
      const lines = series
        .slice(from, from + perPage)
        .map((head, i) => `${head}${instants.row[from + i] ?? 0}\n`);
      return gzipSync(lines.sort().join(""));
    });
  });
  return prepared;
}
