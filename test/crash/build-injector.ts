// inject.ts as one file that Node loads before the program (`--import`).

import path from "node:path";
import { build } from "esbuild";

export async function buildInjector(outfile: string): Promise<void> {
  await build({
    entryPoints: [path.join(import.meta.dirname, "inject.ts")],
    outfile,
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node20.19",
    logLevel: "silent",
  });
}
