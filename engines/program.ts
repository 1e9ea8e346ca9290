// Starts gpulse in tests through bin/gpulse, as a user does, on the Node version under test.

import { fileURLToPath } from "node:url";

import { freePort } from "./ports.ts";
import { type FinishedProcess, type RunningProcess, runProcess, startProcess } from "./process.ts";

export const repository = fileURLToPath(new URL("..", import.meta.url));
export const program = fileURLToPath(new URL("../bin/gpulse", import.meta.url));

/** Brings dist/ up to date with the sources; near-instant if it already is. */
export async function ensureBuild(): Promise<void> {
  const bootstrap = fileURLToPath(new URL("../scripts/bootstrap.mjs", import.meta.url));
  const done = await runProcess(process.execPath, [bootstrap], { timeoutMs: 300_000 });
  if (done.code !== 0) throw new Error(`the build failed: ${done.stderr.trim()}`);
}

export interface RunningAgent {
  readonly url: string;
  readonly port: number;
  readonly process: RunningProcess;
  stop(): Promise<void>;
}

/** Runs a gpulse command to its end. */
export async function runGpulse(
  args: readonly string[],
  options: { readonly node?: string; readonly timeoutMs?: number } = {},
): Promise<FinishedProcess> {
  const { node = process.execPath, ...rest } = options;
  return runProcess(node, [program, ...args], rest);
}

/** Starts an agent on a free loopback port and waits until its sources report. */
export async function startAgent(
  args: readonly string[],
  options: { readonly node?: string } = {},
): Promise<RunningAgent> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const listen = ["--port", String(port), "--host", "127.0.0.1"];
  const agent = startProcess(
    options.node ?? process.execPath,
    [program, "agent", ...args, ...listen],
    { name: "gpulse agent" },
  );
  try {
    await agent.waitForUrl(`${url}/readyz`, 60_000);
  } catch (error) {
    await agent.stop();
    throw error;
  }
  return { url, port, process: agent, stop: async () => void (await agent.stop()) };
}
