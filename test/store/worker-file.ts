/** Builds the store's worker as the program's build does, for what runs from source. */
import path from "node:path";
import { build } from "esbuild";

export async function buildStoreWorker(folder: string): Promise<string> {
  const outfile = path.join(folder, "store-worker.mjs");
  await build({
    entryPoints: [path.join(import.meta.dirname, "../../src/storage/embedded/blocks/worker.ts")],
    outfile,
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node20.19",
    logLevel: "silent",
  });
  return outfile;
}
