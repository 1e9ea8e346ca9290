// The real cAdvisor: its own library behind the small program in engines/go/cadvisor, built once. It reads control groups and
// asks no container engine, so that what runs without one is seen as a container is.
// Not its newest release: since 0.60 the manager is a module of its own that is not published.

import path from "node:path";

import { goBuilt } from "./go.ts";
import { freePort } from "./ports.ts";
import { type RunningProcess, startProcess } from "./process.ts";

export interface CadvisorOptions {
  /** A free one where absent. */
  readonly port?: number;
  /** Groups to report, by how their path begins (`/gpulse-stack`); the root is always reported. All where absent. */
  readonly cgroups?: readonly string[];
}

export interface RunningCadvisor {
  readonly url: string;
  readonly process: RunningProcess;
  stop(): Promise<void>;
}

/** The program, built on first use; throws EngineMissingError where there is no Go that can. */
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
