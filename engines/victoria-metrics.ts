// A real VictoriaMetrics (single node) on a free loopback port with its data in a temporary folder.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

import { freePort } from "./ports.ts";
import { type RunningProcess, startProcess } from "./process.ts";

export interface RunningVictoriaMetrics {
  readonly url: string;
  readonly dataDir: string;
  /** Changes after `restart`. */
  readonly pid: number;
  /**
   * Stops it with SIGTERM and restarts it on the same data. It holds acknowledged samples in memory for up to five seconds, so a
   * SIGKILL would lose samples without any sender noticing.
   */
  restart(): Promise<void>;
  /** Stops it, runs `work`, and restarts it on the same data and address. */
  whileAway(work: () => Promise<void>): Promise<void>;
  stop(): Promise<void>;
}

/** @param file the program's path from `findTool("victoria-metrics")` */
export async function startVictoriaMetrics(
  file: string,
  args: readonly string[] = [],
): Promise<RunningVictoriaMetrics> {
  const dataDir = await mkdtemp(path.join(tmpdir(), "gpulse-victoria-metrics-"));
  const address = `127.0.0.1:${await freePort()}`;
  const url = `http://${address}`;
  const launch = async (): Promise<RunningProcess> => {
    const server = startProcess(
      file,
      [
        `-storageDataPath=${dataDir}`,
        `-httpListenAddr=${address}`,
        "-retentionPeriod=100y",
        // By default query results near the present are delayed by thirty seconds.
        "-search.latencyOffset=0s",
        ...args,
      ],
      { name: "victoria-metrics" },
    );
    try {
      await server.waitForUrl(`${url}/health`);
    } catch (error) {
      await server.stop();
      throw error;
    }
    return server;
  };
  let server = await launch();
  return {
    url,
    dataDir,
    get pid() {
      return server.pid;
    },
    restart: async () => {
      await server.stop(15_000);
      server = await launch();
    },
    whileAway: async (work) => {
      await server.stop(15_000);
      await work();
      server = await launch();
    },
    stop: async () => {
      await server.stop(15_000);
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}
