/**
 * The program's side of the NVML process. A crash in NVML ends only that process, and pending requests are rejected with the
 * reason. A call that never returns leaves its promise pending: callers set a deadline, and `close` kills the process.
 */
import { within } from "../../base/retry.ts";
import { type ChildProcess, fork } from "node:child_process";
import { existsSync } from "node:fs";
import { isSea } from "node:sea";
import { fileURLToPath } from "node:url";
import type {
  WorkerResponse,
  ResponseEnvelope,
  RequestEnvelope,
  WorkerRequest,
  WorkerSettings,
} from "./protocol.ts";

const closePatienceMs = 1_000;
/**
 * The process holds a few kilobytes; without limits V8 lets the young generation alone grow to 16 MB. Worker threads would cost it 1 MB.
 */
const heapBounds = "--max-old-space-size=32 --max-semi-space-size=1 --v8-pool-size=0";

/**
 * Makes V8 release memory left from loading after 1 s instead of 8: 1.5 MB less in the first seconds. The flag works only at
 * startup and only in Node 20; a single-file program would take it for one of its own arguments.
 */
const startFlags =
  process.versions.v8.startsWith("11.") && !isSea()
    ? ["--gc-memory-reducer-start-delay-ms=1000"]
    : [];

/** Paths of the driver's library to try if the loader does not find it by name. */
export const usualPaths: readonly string[] =
  process.platform === "win32"
    ? ["nvml.dll", "C:\\Program Files\\NVIDIA Corporation\\NVSMI\\nvml.dll"]
    : [
        "libnvidia-ml.so.1",
        "/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1",
        "/usr/lib/aarch64-linux-gnu/libnvidia-ml.so.1",
        "/usr/lib64/libnvidia-ml.so.1",
        "/usr/lib/wsl/lib/libnvidia-ml.so.1",
        "/run/nvidia/driver/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1",
        "/run/nvidia/driver/usr/lib64/libnvidia-ml.so.1",
        "/usr/local/nvidia/lib64/libnvidia-ml.so.1",
      ];

/** The worker's file is beside the executable; this code may be in the executable itself or in a chunk one folder down. */
export function findWorkerFile(name = "nvidia-worker"): string | undefined {
  return [`./${name}.js`, `../${name}.js`]
    .map((place) => fileURLToPath(new URL(place, import.meta.url)))
    .find((file) => existsSync(file));
}

export class NvmlConnection {
  readonly #process: ChildProcess;
  readonly #waiting = new Map<
    number,
    { resolve: (answer: WorkerResponse) => void; reject: (error: Error) => void }
  >();
  readonly #atExit = (): void => void this.#process.kill("SIGKILL");
  #endedBy: Error | undefined;
  #nextId = 1;

  constructor(workerFile: string, libraries: readonly string[], sysfs = "/sys") {
    const settings: WorkerSettings = { libraries, sysfs };
    this.#process = fork(workerFile, [JSON.stringify(settings)], {
      // Drop flags of this process, such as a debugger's port; a single-file program takes flags only from NODE_OPTIONS.
      env: { ...process.env, NODE_OPTIONS: heapBounds, MALLOC_ARENA_MAX: "1" },
      execArgv: startFlags,
      serialization: "advanced",
      // Keep the worker's output off standard output, which may be parsed by other programs.
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    });
    this.#release();
    this.#process.on("message", ({ id, answer }: ResponseEnvelope) => {
      const waiting = this.#waiting.get(id);
      this.#waiting.delete(id);
      if (this.#waiting.size === 0) this.#release();
      waiting?.resolve(answer);
    });
    this.#process.on("error", (error) => this.#end(error));
    this.#process.on("exit", (code, signal) => {
      const how = signal === null ? `exited with code ${code}` : `was ended by ${signal}`;
      this.#end(new Error(`the NVML process ${how}`));
    });
    process.on("exit", this.#atExit);
  }

  /** Why the process ended; undefined while it runs. */
  get endedBy(): Error | undefined {
    return this.#endedBy;
  }

  async ask(request: WorkerRequest): Promise<WorkerResponse> {
    if (this.#endedBy !== undefined) throw this.#endedBy;
    const envelope: RequestEnvelope = { id: this.#nextId++, request };
    return new Promise<WorkerResponse>((resolve, reject) => {
      this.#waiting.set(envelope.id, { resolve, reject });
      // A response is pending: keep this process alive for it.
      this.#process.ref();
      this.#process.channel?.ref();
      this.#process.send(envelope, (error) => {
        if (error !== null) this.#end(error);
      });
    });
  }

  /** Ends the process: by request if it responds, otherwise by SIGKILL. */
  async close(): Promise<void> {
    if (this.#endedBy !== undefined) return;
    const ended = new Promise<void>((resolve) => this.#process.once("exit", () => resolve()));
    this.ask({ kind: "close" }).catch(() => undefined);
    await within(ended, closePatienceMs);
    this.#process.kill("SIGKILL");
    this.#release();
  }

  #release(): void {
    this.#process.unref();
    this.#process.channel?.unref();
  }

  #end(error: Error): void {
    this.#endedBy ??= error;
    process.off("exit", this.#atExit);
    for (const { reject } of this.#waiting.values()) reject(this.#endedBy);
    this.#waiting.clear();
  }
}

const shared = new Map<string, NvmlConnection>();

/**
 * Returns one connection per library and worker file. `doctor` and the source created after it share it, so that a hanging driver
 * holds one process and not two.
 */
export function connect(
  libraries: readonly string[],
  workerFile: string,
  sysfs: string,
): NvmlConnection {
  const key = JSON.stringify([workerFile, libraries, sysfs]);
  const known = shared.get(key);
  if (known !== undefined && known.endedBy === undefined) return known;
  const made = new NvmlConnection(workerFile, libraries, sysfs);
  shared.set(key, made);
  return made;
}
