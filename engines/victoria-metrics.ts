// A real VictoriaMetrics (single node) on a free loopback port with its data in a temporary folder.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

import { freePort } from "./ports.ts";
import { startProcess } from "./process.ts";
import type { RunningProcess } from "./process.ts";

export interface RunningVictoriaMetrics {
  readonly url: string;
  readonly dataDir: string;
  readonly process: RunningProcess;
  stop(): Promise<void>;
}

/** @param file the program, as `findTool("victoria-metrics")` gives it */
export async function startVictoriaMetrics(
  file: string,
  args: readonly string[] = [],
): Promise<RunningVictoriaMetrics> {
  const dataDir = await mkdtemp(path.join(tmpdir(), "gpulse-victoria-metrics-"));
  const address = `127.0.0.1:${await freePort()}`;
  const url = `http://${address}`;
  const server = startProcess(
    file,
    [
      `-storageDataPath=${dataDir}`,
      `-httpListenAddr=${address}`,
      "-retentionPeriod=100y",
      // Otherwise answers near the present are held back for thirty seconds.
      "-search.latencyOffset=0s",
      ...args,
    ],
    { name: "victoria-metrics" },
  );
  const stop = async (): Promise<void> => {
    await server.stop(15_000);
    await rm(dataDir, { recursive: true, force: true });
  };
  try {
    await server.waitForUrl(`${url}/health`);
  } catch (error) {
    await stop();
    throw error;
  }
  return { url, dataDir, process: server, stop };
}
