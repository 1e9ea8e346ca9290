// The real cAdvisor: its library behind the small program in engines/go/cadvisor, built once. It reads control groups without a
// container engine, so that processes outside containers are reported like containers. Not its newest release: since 0.60 the
// manager is a separate module that is not published.

import path from "node:path";

import { goBuilt } from "./go.ts";
import { freePort } from "./ports.ts";
import { type RunningProcess, startProcess } from "./process.ts";

export interface CadvisorOptions {
  /** A free port if absent. */
  readonly port?: number;
  /**
   * The groups to report, by the beginning of their path (`/gpulse-stack`); the root is always reported. All groups if absent.
   */
  readonly cgroups?: readonly string[];
}

export interface RunningCadvisor {
  readonly url: string;
  readonly process: RunningProcess;
  stop(): Promise<void>;
}

/** Returns the program, built on first use; throws EngineMissingError without a suitable Go. */
export async function findCadvisor(): Promise<string> {
  return path.join(await goBuilt("cadvisor"), "cadvisor");
}

export function cadvisorArgs(port: number, cgroups: readonly string[] = []): readonly string[] {
  return [`--listen=127.0.0.1:${port}`, `--cgroups=${cgroups.join(",")}`];
}

export async function startCadvisor(options: CadvisorOptions = {}): Promise<RunningCadvisor> {
  const program = await findCadvisor();
  const port = options.port ?? (await freePort());
  const url = `http://127.0.0.1:${port}`;
  const server = startProcess(program, cadvisorArgs(port, options.cgroups), { name: "cadvisor" });
  const stop = async (): Promise<void> => void (await server.stop());
  try {
    await server.waitForUrl(`${url}/healthz`, 60_000);
  } catch (error) {
    await stop();
    throw error;
  }
  return { url, process: server, stop };
}
