// A real Alertmanager on a free loopback port, standalone and with its data in a temporary folder; and amtool, its client.

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";

import { freePort } from "./ports.ts";
import { type FinishedProcess, type RunningProcess, runProcess, startProcess } from "./process.ts";

export interface RunningAlertmanager {
  readonly url: string;
  readonly process: RunningProcess;
  stop(): Promise<void>;
}

/** @param file the program's path from `findTool("alertmanager")` */
export async function startAlertmanager(
  file: string,
  config: string,
): Promise<RunningAlertmanager> {
  const folder = await mkdtemp(path.join(tmpdir(), "gpulse-alertmanager-"));
  const configFile = path.join(folder, "alertmanager.yml");
  await writeFile(configFile, config);
  const address = `127.0.0.1:${await freePort()}`;
  const url = `http://${address}`;
  const server = startProcess(
    file,
    [
      `--config.file=${configFile}`,
      `--storage.path=${path.join(folder, "data")}`,
      `--web.listen-address=${address}`,
      "--cluster.listen-address=",
      "--log.level=debug",
    ],
    { name: "alertmanager" },
  );
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
  return { url, process: server, stop };
}

/** Runs amtool against an address, without any amtool configuration of this machine. */
export async function amtool(
  file: string,
  url: string,
  args: readonly string[],
): Promise<FinishedProcess> {
  return runProcess(file, [...args, `--alertmanager.url=${url}`], {
    env: { HOME: "/nonexistent" },
    timeoutMs: 20_000,
  });
}
