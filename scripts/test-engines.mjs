// `npm run test:engines`: the tests against real engines, browsers and many processes; with --full also those that take long.

import path from "node:path";

import { ensureBuilt, ensureInstalled, root } from "./bootstrap.mjs";
import { runNode } from "./command.mjs";
import { PlainError, runMain } from "./progress.mjs";
import { Run } from "./steps.mjs";
import { ensureSystemTools } from "./system-tools.mjs";

/** Before the tests, whose time limits are not made for downloads; near-instant when everything is there. It reports its progress itself.
 * @param {boolean} full the long builds too */
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
    // The same tests once more, with every parser fuzzed as long as is promised.
    process.env.FUZZ_INPUTS = "200000";
    await run.tests("test");
  }
  return run.close();
});
