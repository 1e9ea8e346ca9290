// llama.cpp's HTTP server from PyPI, with a tiny model of random weights on the CPU.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

import { freePort } from "./ports.ts";
import { startProcess } from "./process.ts";
import { pythonPackages, type PythonPackages } from "./python.ts";

const START_TIMEOUT_MS = 60_000;

/** A wheel with llama.cpp and its server inside, and the writer of model files; about 190 MB, downloaded once. */
export const llamaCpp = (): Promise<PythonPackages> =>
  pythonPackages("llamacpp", ["xllamacpp==2026.10.11549", "gguf==0.19.0"]);

export interface RunningLlamaCpp {
  /** host:port of its API; its metrics are at /metrics. */
  readonly address: string;
  stop(): Promise<void>;
}

export async function startLlamaCpp(): Promise<RunningLlamaCpp> {
  const { python } = await llamaCpp();
  const folder = mkdtempSync(path.join(tmpdir(), "gpulse-llamacpp-"));
  const port = await freePort();
  const script = fileURLToPath(new URL("../test/engines/llamacpp.py", import.meta.url));
  const server = startProcess(python, [script, path.join(folder, "tiny.gguf"), String(port)], {
    name: "llama.cpp",
  });
  const stop = async (): Promise<void> => {
    await server.stop();
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    await server.waitForUrl(`http://127.0.0.1:${port}/health`, START_TIMEOUT_MS);
  } catch (error) {
    const output = server.output();
    await stop();
    throw new Error(`llama.cpp does not start: ${output.slice(-2_000)}`, { cause: error });
  }
  return { address: `127.0.0.1:${port}`, stop };
}
