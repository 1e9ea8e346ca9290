// A real Prometheus on a free loopback port with its data in a temporary folder.

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

import { freePort } from "./ports.ts";
import { type RunningProcess, startProcess } from "./process.ts";

export interface PrometheusOptions {
  /** The program's path from `findTool("prometheus")`. */
  readonly path: string;
  /** The content of prometheus.yml; written as JSON, which is valid YAML. */
  readonly config: Readonly<Record<string, unknown>>;
  /** Further flags. */
  readonly args?: readonly string[];
  readonly logLevel?: "debug" | "warn";
  /** Enables the remote-write receiver; true by default. */
  readonly receiver?: boolean;
}

export interface PrometheusSample {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: readonly [number, string];
}

export interface PrometheusTarget {
  readonly scrapePool: string;
  readonly health: string;
  readonly lastError: string;
}

export interface RunningPrometheus {
  readonly url: string;
  readonly dataDir: string;
  readonly process: RunningProcess;
  query(expression: string): Promise<readonly PrometheusSample[]>;
  targets(): Promise<readonly PrometheusTarget[]>;
  log(): string;
  /** Stops it, with SIGKILL if requested, runs `work`, and restarts it on the same data and address. */
  whileAway(work: () => Promise<void>, signal?: "SIGTERM" | "SIGKILL"): Promise<void>;
  stop(): Promise<void>;
}

export async function startPrometheus(options: PrometheusOptions): Promise<RunningPrometheus> {
  const folder = await mkdtemp(path.join(tmpdir(), "gpulse-prometheus-"));
  const config = path.join(folder, "prometheus.yml");
  await writeFile(config, JSON.stringify(options.config));
  const address = `127.0.0.1:${await freePort()}`;
  const url = `http://${address}`;
  const dataDir = path.join(folder, "data");
  const launch = (): RunningProcess =>
    startProcess(
      options.path,
      [
        `--config.file=${config}`,
        `--storage.tsdb.path=${dataDir}`,
        `--web.listen-address=${address}`,
        ...(options.receiver === false ? [] : ["--web.enable-remote-write-receiver"]),
        "--web.enable-admin-api",
        `--log.level=${options.logLevel ?? "debug"}`,
        ...(options.args ?? []),
      ],
      { name: "prometheus" },
    );
  let server = launch();
  const stop = async (): Promise<void> => {
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  };
  try {
    await server.waitForUrl(`${url}/-/ready`);
  } catch (error) {
    await stop();
    throw error;
  }
  const get = async (route: string): Promise<unknown> => {
    const response = await fetch(`${url}${route}`);
    const body = (await response.json()) as { status: string; data?: unknown; error?: string };
    if (body.status !== "success")
      throw new Error(`prometheus answered ${body.error ?? "an error"}`);
    return body.data;
  };
  return {
    url,
    dataDir,
    get process() {
      return server;
    },
    whileAway: async (work, signal = "SIGTERM") => {
      process.kill(server.pid, signal);
      await server.waitForExit();
      await work();
      server = launch();
      await server.waitForUrl(`${url}/-/ready`);
    },
    stop,
    log: () => server.output(),
    query: async (expression) => {
      const data = await get(`/api/v1/query?query=${encodeURIComponent(expression)}`);
      return (data as { result: readonly PrometheusSample[] }).result;
    },
    targets: async () => {
      const data = await get("/api/v1/targets?state=active");
      return (data as { activeTargets: readonly PrometheusTarget[] }).activeTargets;
    },
  };
}
