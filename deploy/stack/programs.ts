// The programs of the stack and of the application, each as one JavaScript file: a process that compiles its TypeScript at start
// takes seconds longer and 40 MB more.

import { build } from "esbuild";
import path from "node:path";

import { repository } from "../../engines/program.ts";

/** The TypeScript entry file of each program. */
const PROGRAMS = {
  gateway: "deploy/demo-app/gateway/main.ts",
  worker: "deploy/demo-app/worker/main.ts",
  ml: "deploy/demo-app/ml/main.ts",
  load: "deploy/demo-app/load/main.ts",
  mailbox: "deploy/stack/mailbox/main.ts",
  traces: "deploy/stack/traces/main.ts",
} as const;

export type ProgramName = keyof typeof PROGRAMS;

// Bundled CommonJS packages load Node's own modules with require(), which an ES module does not have.
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
    // Imported but optional: without it pg uses its own JavaScript.
    external: ["pg-native"],
    sourcemap: "linked",
    logLevel: "error",
    banner: { js: BANNER },
  });
}
