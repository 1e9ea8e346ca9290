// Builds the stand-in for NVML and the worker that calls it, once per test process, and writes the stand-in's script.

import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath } from "node:url";

import { build } from "esbuild";

import { runProcess } from "../../engines/process.ts";

const repository = fileURLToPath(new URL("../..", import.meta.url));

export interface Stub {
  readonly library: string;
  /** The logged calls since logging was enabled: time, GPU and key. */
  calls(): readonly { readonly timeMs: number; readonly gpu: number; readonly key: string }[];
  logCalls(): void;
  /** Copies the library to another file, which reads its own script in its folder. */
  copyTo(file: string): void;
  /** Replaces the script; the next call uses the new one. */
  script(...lines: readonly string[]): void;
  remove(): void;
}

const stubFiles = {
  nvml: { source: "./nvml-stub.c", library: "libnvidia-ml.so.1" },
  cuda: { source: "./cuda-stub.c", library: "libcuda.so.1" },
} as const;

/** Needs the C compiler: check `findTool("gcc")` first. */
export async function buildStub(kind: keyof typeof stubFiles = "nvml"): Promise<Stub> {
  const folder = mkdtempSync(path.join(tmpdir(), `gpulse-${kind}-`));
  const library = path.join(folder, stubFiles[kind].library);
  const source = fileURLToPath(new URL(stubFiles[kind].source, import.meta.url));
  const built = await runProcess("gcc", ["-O1", "-shared", "-fPIC", "-o", library, source, "-ldl"]);
  if (built.code !== 0) throw new Error(`gcc failed: ${built.stderr}`);
  const scriptFile = path.join(folder, "script");
  const logFile = path.join(folder, "calls");
  const script = (...lines: readonly string[]): void => {
    // Replace the file atomically: the stand-in may be reading it.
    writeFileSync(`${scriptFile}.next`, `${lines.join("\n")}\n`);
    renameSync(`${scriptFile}.next`, scriptFile);
  };
  script();
  return {
    library,
    script,
    copyTo: (file) => copyFileSync(library, file),
    logCalls: () => writeFileSync(logFile, ""),
    calls: () =>
      readFileSync(logFile, "utf8")
        .split("\n")
        .filter((line) => line !== "")
        .map((line) => {
          const [timeMs = "0", gpu = "0", key = ""] = line.split(" ");
          return { timeMs: Number(timeMs), gpu: Number(gpu), key };
        }),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

const workerEntries = {
  "nvidia-worker": "src/sources/nvidia/worker.ts",
  "check-worker": "src/sources/nvidia/check/worker.ts",
} as const;

/** Builds the worker like the release build, in a folder from which koffi can be resolved. */
export async function buildWorker(
  name: keyof typeof workerEntries = "nvidia-worker",
): Promise<{ readonly file: string; remove(): void }> {
  const cache = path.join(repository, "node_modules", ".cache");
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(path.join(cache, "gpulse-worker-"));
  await build({
    absWorkingDir: repository,
    entryPoints: { [name]: workerEntries[name] },
    outdir: folder,
    bundle: true,
    format: "esm",
    platform: "node",
    external: ["koffi"],
    outExtension: { ".js": ".mjs" },
    logLevel: "silent",
  });
  return {
    file: path.join(folder, `${name}.mjs`),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}
