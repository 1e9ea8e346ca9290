// Loaded into the hub during a soak test (NODE_OPTIONS=--import): on SIGUSR2 it collects garbage and writes the number of bytes
// in use, to distinguish a leak from memory that V8 and malloc keep for reuse.

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
    // The first collection runs finalizers whose memory only the second frees.
    collect();
    collect();
    const { heapUsed, external, arrayBuffers } = process.memoryUsage();
    // Shared buffers are only in `arrayBuffers`, ordinary ones in both.
    writeFileSync(`${file}.tmp`, String(heapUsed + Math.max(external, arrayBuffers)));
    renameSync(`${file}.tmp`, file);
  });
