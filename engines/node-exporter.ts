// Prometheus's node exporter on a free loopback port: a real scrape target and the agent's peer in benchmarks.

import { freePort } from "./ports.ts";
import { type RunningProcess, startProcess } from "./process.ts";

export interface RunningNodeExporter {
  readonly url: string;
  readonly process: RunningProcess;
  stop(): Promise<void>;
}

/** @param file the program's path from `findTool("node-exporter")` */
export async function startNodeExporter(file: string): Promise<RunningNodeExporter> {
  const address = `127.0.0.1:${await freePort()}`;
  const url = `http://${address}`;
  const exporter = startProcess(file, [`--web.listen-address=${address}`], {
    name: "node exporter",
  });
  const stop = async (): Promise<void> => void (await exporter.stop());
  try {
    await exporter.waitForUrl(`${url}/metrics`);
  } catch (error) {
    await stop();
    throw error;
  }
  return { url, process: exporter, stop };
}
