/**
 * The unix socket beside a lock file. It listens as long as its process lives: the kernel accepts connections even while the
 * process is busy, and refuses them once the process has ended, from every PID and network namespace.
 */
import { closeSync, openSync } from "node:fs";
import { createServer } from "node:net";
import path from "node:path";
import { Worker } from "node:worker_threads";
import { removeLeftover } from "./atomic.ts";

const probeTimeoutMs = 5_000;

export interface LockSocket {
  close(): void;
}

const socketName = (token: string): string => `lock-${token}.sock`;

/** A socket path is limited to 107 bytes; a path through the folder's descriptor is always short. */
const shortPath = (folder: number, token: string): string =>
  `/proc/self/fd/${folder}/${socketName(token)}`;

export function removeSocket(dir: string, token: string): void {
  removeLeftover(path.join(dir, socketName(token)));
}

/** Undefined if the system or the file system does not support such sockets. */
export function listenOnSocket(dir: string, token: string): LockSocket | undefined {
  if (process.platform !== "linux") return undefined;
  const folder = openSync(dir, "r");
  const server = createServer((socket) => socket.destroy());
  server.on("error", () => undefined);
  server.listen({ path: shortPath(folder, token), exclusive: true });
  const close = (): void => {
    server.close();
    closeSync(folder);
    removeSocket(dir, token);
  };
  if (!server.listening) {
    closeSync(folder);
    return undefined;
  }
  server.unref();
  return { close };
}

const alive = 1;
const refused = 2;
const probe = `
const { connect } = require("node:net");
const { workerData } = require("node:worker_threads");
const finish = (found) => { Atomics.store(workerData.result, 0, found); Atomics.notify(workerData.result, 0); };
connect(workerData.path)
  .on("connect", function () { finish(${alive}); this.destroy(); })
  .on("error", ({ code }) => finish(code === "ECONNREFUSED" ? ${refused} : 3));
`;

/** Connects from a thread, because taking a lock is synchronous. */
export function probeSocket(dir: string, token: string): "alive" | "dead" | "unknown" {
  if (process.platform !== "linux" || !/^[0-9a-f]+$/.test(token)) return "unknown";
  const folder = openSync(dir, "r");
  try {
    const result = new Int32Array(new SharedArrayBuffer(4));
    const worker = new Worker(probe, {
      eval: true,
      workerData: { path: shortPath(folder, token), result },
      execArgv: [],
      env: {},
    });
    worker.unref();
    Atomics.wait(result, 0, 0, probeTimeoutMs);
    void worker.terminate();
    const found = Atomics.load(result, 0);
    return found === alive ? "alive" : found === refused ? "dead" : "unknown";
  } finally {
    closeSync(folder);
  }
}
