/** Builds worker threads as the program's build does, for what runs from source. */
import path from "node:path";
import { build } from "esbuild";

export const buildStoreWorker = (folder: string): Promise<string> =>
  buildWorker(folder, "store-worker.mjs", "storage/embedded/blocks/worker.ts");

export const buildQueryWorker = (folder: string): Promise<string> =>
  buildWorker(folder, "query-worker.mjs", "storage/embedded/offload/worker.ts");

export const buildDecodeWorker = (folder: string): Promise<string> =>
  buildWorker(folder, "decode-worker.mjs", "hub/receive/decode/thread.ts");

async function buildWorker(folder: string, name: string, entry: string): Promise<string> {
  const outfile = path.join(folder, name);
  await build({
    entryPoints: [path.join(import.meta.dirname, "../../src", entry)],
    outfile,
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node20.19",
    logLevel: "silent",
  });
  return outfile;
}
