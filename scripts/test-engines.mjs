// `npm run test:engines`: the tests with real engines, browsers and many processes; with --full also the slow ones.

import path from "node:path";

import { ensureBuilt, ensureInstalled, root } from "./bootstrap.mjs";
import { runNode } from "./command.mjs";
import { PlainError, runMain } from "./progress.mjs";
import { Run } from "./steps.mjs";
import { ensureSystemTools } from "./system-tools.mjs";

/**
 * Runs before the tests, whose time limits do not allow for downloads; near-instant if everything is installed. Reports its
 * progress itself.
 * @param {boolean} full includes the long builds
 */
async function bringEngines(full) {
  const tsx = path.join(root, "node_modules", "tsx", "dist", "cli.mjs");
  const bring = path.join(root, "engines", "bring.ts");
  const { code } = await runNode(tsx, [bring, ...(full ? ["--full"] : [])], {
    cwd: root,
    show: true,
  });
  if (code !== 0) throw new PlainError(`engines/bring.ts ended with exit code ${code}`);
}

await runMain(async () => {
  await ensureInstalled();
  const run = new Run();
  const full = process.argv.includes("--full");
  await run.attempt("system tools", () => ensureSystemTools());
  await run.attempt("engines", () => bringEngines(full));
  await run.attempt("build", ensureBuilt);
  await run.tests(full ? "engines-full" : "engines");
  if (full) {
    // Repeats these tests with the promised number of fuzzing inputs for every parser.
    process.env.FUZZ_INPUTS = "200000";
    await run.tests("test");
  }
  return run.close();
});
