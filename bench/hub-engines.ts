/**
 * The hub and its two peers behind one interface: started empty, written to, settled, queried, and their cost read from /proc.
 */
import { readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { get } from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { startHub } from "../engines/hub.ts";
import { freePort } from "../engines/ports.ts";
import { startPrometheus } from "../engines/prometheus.ts";
import { findTool, type ToolName } from "../engines/tools.ts";
import { startVictoriaMetrics } from "../engines/victoria-metrics.ts";
import { processCost } from "./process-cost.ts";
import { WriteClient } from "./remote-write.ts";

export type EngineName = "hub" | "Prometheus" | "VictoriaMetrics";

export interface Engine {
  readonly name: EngineName;
  readonly url: string;
  /** Changes after `restart`. */
  readonly pid: number;
  /** Flushes everything to its final files; returns their bytes, samples and index together. */
  settle(): Promise<number>;
  /** Kills it and restarts it on the same data; returns the milliseconds until it answers queries. */
  restart(): Promise<number>;
  stop(): Promise<void>;
}

/** @param under a prefix of the hub's command, as in `env NAME=VALUE` */
export async function startHubEngine(under: readonly string[] = []): Promise<Engine> {
  const dataDir = await mkdtemp(path.join(tmpdir(), "gpulse-bench-hub-"));
  const port = await freePort();
  let hub = await startHub({ dataDir, port, under });
  return {
    name: "hub",
    url: hub.url,
    get pid() {
      return hub.process.pid;
    },
    settle: () => snapshotBytes(hub.url, dataDir),
    restart: async () => {
      await hub.kill();
      const took = answering(hub.url);
      hub = await startHub({ dataDir, port, under });
      return took;
    },
    stop: async () => {
      await hub.stop();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}

/** How often a restarted engine is asked. */
const askEveryMs = 5;
const longestStartMs = 60_000;

/** Milliseconds from now, while the engine is down, until it answers a query. */
async function answering(url: string): Promise<number> {
  const began = performance.now();
  for (;;) {
    const status = await statusOf(`${url}/api/v1/query?query=up`);
    const tookMs = performance.now() - began;
    if (status === 200) return tookMs;
    if (tookMs > longestStartMs) throw new Error(`${url} answers no query after a restart`);
    await sleep(askEveryMs);
  }
}

/** The status of the response; undefined if there is none. */
function statusOf(url: string): Promise<number | undefined> {
  return new Promise((resolve) => {
    get(url, (response) => {
      response.resume().once("end", () => resolve(response.statusCode));
    }).once("error", () => resolve(undefined));
  });
}

export async function startPrometheusEngine(flags: readonly string[] = []): Promise<Engine> {
  const prometheus = await startPrometheus({
    path: toolPath("prometheus"),
    config: {},
    logLevel: "warn",
    args: ["--storage.tsdb.retention.time=1y", "--query.max-samples=500000000", ...flags],
  });
  return {
    name: "Prometheus",
    url: prometheus.url,
    get pid() {
      return prometheus.process.pid;
    },
    settle: () => snapshotBytes(prometheus.url, prometheus.dataDir),
    restart: async () => {
      let took: Promise<number> | undefined;
      await prometheus.whileAway(async () => void (took = answering(prometheus.url)), "SIGKILL");
      return took ?? NaN;
    },
    stop: () => prometheus.stop(),
  };
}

export async function startVictoriaMetricsEngine(): Promise<Engine> {
  const peer = await startVictoriaMetrics(toolPath("victoria-metrics"));
  return {
    name: "VictoriaMetrics",
    url: peer.url,
    get pid() {
      return peer.pid;
    },
    restart: async () => {
      // VictoriaMetrics holds the newest samples only in memory: without a flush a kill would lose all of a short run.
      await (await fetch(`${peer.url}/internal/force_flush`)).arrayBuffer();
      let took: Promise<number> | undefined;
      await peer.whileAway(async () => void (took = answering(peer.url)));
      return took ?? NaN;
    },
    settle: async () => {
      for (const route of ["/internal/force_flush", "/internal/force_merge"])
        await (await fetch(peer.url + route)).arrayBuffer();
      const size = (): number =>
        folderBytes(path.join(peer.dataDir, "data")) +
        folderBytes(path.join(peer.dataDir, "indexdb"));
      // Merging continues in the background: it is over when the size has not changed for two seconds.
      for (let [last, same] = [-1, 0]; same < 4; await sleep(500)) {
        const now = size();
        same = now === last ? same + 1 : 0;
        last = now;
      }
      return size();
    },
    stop: () => peer.stop(),
  };
}

/** The snapshot first writes the newest samples into a block, and returns the folder's name. */
async function snapshotBytes(url: string, dataDir: string): Promise<number> {
  const response = await fetch(`${url}/api/v1/admin/tsdb/snapshot`, { method: "POST" });
  const { data } = (await response.json()) as { data: { name: string } };
  const folder = path.join(dataDir, "snapshots", data.name);
  const bytes = folderBytes(folder);
  rmSync(folder, { recursive: true });
  return bytes;
}

function folderBytes(folder: string): number {
  let bytes = 0;
  for (const entry of readdirSync(folder, { withFileTypes: true, recursive: true })) {
    if (!entry.isFile()) continue;
    try {
      bytes += statSync(path.join(entry.parentPath, entry.name)).size;
    } catch {
      // The file was merged away meanwhile.
    }
  }
  return bytes;
}

function toolPath(name: ToolName): string {
  const found = findTool(name);
  if ("path" in found) return found.path;
  throw new Error(found.missing);
}

export interface IngestCost {
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly residentBytes: number;
  readonly peakBytes: number;
}

/** Sends everything, each sender its requests sequentially, and measures the engine's cost. */
export async function ingest(
  engine: Engine,
  senders: readonly (readonly Buffer[])[],
): Promise<IngestCost> {
  const client = new WriteClient(engine.url);
  const before = processCost(engine.pid);
  const began = performance.now();
  await Promise.all(
    senders.map(async (bodies) => {
      for (const body of bodies) {
        const { status, text } = await client.send(body);
        if (status >= 300) throw new Error(`${engine.name} answered ${status}: ${text}`);
      }
    }),
  );
  const seconds = (performance.now() - began) / 1000;
  client.close();
  const after = processCost(engine.pid);
  return {
    seconds,
    cpuSeconds: after.cpuSeconds - before.cpuSeconds,
    residentBytes: after.residentBytes,
    peakBytes: peakBytes(engine.pid),
  };
}

export function peakBytes(pid: number): number {
  const peak = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
  return Number(peak) * 1024;
}
