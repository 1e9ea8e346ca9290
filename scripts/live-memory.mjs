// Loaded into the hub under soak (NODE_OPTIONS=--import): at SIGUSR2 it collects garbage and writes how many bytes are still
// in use, so that a leak is distinguished from memory that V8 and malloc keep for reuse.

import { renameSync, writeFileSync } from "node:fs";
import process from "node:process";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { isMainThread } from "node:worker_threads";

const file = process.env["GPULSE_SOAK_MEMORY"];

if (isMainThread && file !== undefined)
  process.on("SIGUSR2", () => {
    setFlagsFromString("--expose-gc");
    const collect = /** @type {() => void} */ (runInNewContext("gc"));
    // The first collection runs finalizers whose memory only the second returns.
    collect();
    collect();
    const { heapUsed, external, arrayBuffers } = process.memoryUsage();
    // Shared buffers are in `arrayBuffers` alone, ordinary ones in both.
    writeFileSync(`${file}.tmp`, String(heapUsed + Math.max(external, arrayBuffers)));
    renameSync(`${file}.tmp`, file);
  });
