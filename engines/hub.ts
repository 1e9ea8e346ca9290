// The built hub on a free loopback port. Started from its bundle, not through bin/gpulse, so that a test that kills it at any
// moment never kills a build.

import { fileURLToPath } from "node:url";

import { freePort } from "./ports.ts";
import { type RunningProcess, startProcess } from "./process.ts";

export const hubProgram = fileURLToPath(new URL("../dist/gpulse/main.js", import.meta.url));

export interface HubProcessOptions {
  readonly dataDir: string;
  /** A fixed port, for a hub that restarts under the same address. */
  readonly port?: number;
  readonly args?: readonly string[];
  /** How long it retains samples; practically for ever if absent. */
  readonly retention?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** A prefix of the command, as in `prlimit --fsize=1000 --`. */
  readonly under?: readonly string[];
}

export interface RunningHub {
  readonly url: string;
  readonly process: RunningProcess;
  ready(timeoutMs?: number): Promise<void>;
  /** Sends SIGKILL and waits for the exit. */
  kill(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts it without waiting; use `ready` to wait. */
export async function launchHub(options: HubProcessOptions): Promise<RunningHub> {
  const port = options.port ?? (await freePort());
  const url = `http://127.0.0.1:${port}`;
  const [command, ...before] = [...(options.under ?? []), process.execPath] as const;
  const hub = startProcess(
    command,
    [
      ...before,
      hubProgram,
      "hub",
      "--host=127.0.0.1",
      `--port=${port}`,
      `--data=${options.dataDir}`,
      `--retention=${options.retention ?? "100y"}`,
      "--no-self-scrape",
      ...(options.args ?? []),
    ],
    { name: "gpulse hub", ...(options.env && { env: options.env }) },
  );
  return {
    url,
    process: hub,
    ready: (timeoutMs) => hub.waitForUrl(`${url}/-/ready`, timeoutMs),
    kill: async () => {
      if (hub.exited() === undefined) process.kill(hub.pid, "SIGKILL");
      await hub.waitForExit();
    },
    stop: async () => void (await hub.stop(20_000)),
  };
}

export async function startHub(options: HubProcessOptions): Promise<RunningHub> {
  const hub = await launchHub(options);
  try {
    await hub.ready(60_000);
  } catch (error) {
    await hub.stop();
    throw error;
  }
  return hub;
}
