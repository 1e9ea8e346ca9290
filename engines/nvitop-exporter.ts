// The real nvitop-exporter from PyPI with a fake NVML library, on a free loopback port.

import path from "node:path";

import { freePort } from "./ports.ts";
import { type RunningProcess, startProcess } from "./process.ts";
import { pythonPackages } from "./python.ts";

const packages = [
  "nvitop-exporter==1.7.2",
  "nvitop==1.7.2",
  "nvidia-ml-py==13.615.71",
  "prometheus_client==0.26.0",
  "psutil==7.2.2",
];

export interface RunningNvitopExporter {
  /** host:port, as in a scrape configuration. */
  readonly address: string;
  readonly process: RunningProcess;
  stop(): Promise<void>;
}

/** @param library the `libnvidia-ml.so.1` to load */
export async function startNvitopExporter(
  library: string,
  hostName: string,
): Promise<RunningNvitopExporter> {
  const { python } = await pythonPackages("nvitop-exporter", packages);
  const port = await freePort();
  const address = `127.0.0.1:${port}`;
  const server = startProcess(
    python,
    ["-m", "nvitop_exporter", "--hostname", hostName, "--bind-address=127.0.0.1", `--port=${port}`],
    { name: "nvitop-exporter", env: { LD_LIBRARY_PATH: path.dirname(library) } },
  );
  const stop = async (): Promise<void> => void (await server.stop());
  try {
    await server.waitForUrl(`http://${address}/metrics`, 60_000);
  } catch (error) {
    await stop();
    throw error;
  }
  return { address, process: server, stop };
}
