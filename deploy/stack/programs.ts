// The stack's own programs and the application's, each as one JavaScript file: a process that compiles its TypeScript as it
// starts takes seconds longer and 40 MB more.

import { build } from "esbuild";
import path from "node:path";

import { repository } from "../../engines/program.ts";

/** Where the TypeScript of each begins. */
export const PROGRAMS = {
  gateway: "deploy/demo-app/gateway/main.ts",
  worker: "deploy/demo-app/worker/main.ts",
  ml: "deploy/demo-app/ml/main.ts",
  load: "deploy/demo-app/load/main.ts",
  mailbox: "deploy/stack/mailbox/main.ts",
  traces: "deploy/stack/traces/main.ts",
} as const;

export type ProgramName = keyof typeof PROGRAMS;

// Bundled CommonJS packages ask for Node's own modules by require(), which an ES module does not have.
const BANNER = `import { createRequire as __createRequire } from "node:module"; const require = __createRequire(import.meta.url);`;

export const programFile = (dataDir: string, name: ProgramName): string =>
  path.join(dataDir, "programs", `${name}.mjs`);

export async function buildPrograms(dataDir: string): Promise<void> {
  await build({
    absWorkingDir: repository,
    entryPoints: PROGRAMS,
    outdir: path.join(dataDir, "programs"),
    outExtension: { ".js": ".mjs" },
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node20.19",
    // Asked for and not needed: without it pg uses its own JavaScript.
    external: ["pg-native"],
    sourcemap: "linked",
    logLevel: "error",
    banner: { js: BANNER },
  });
}
