// `npm run test:engines`: the tests that run against real engines; with --full also those that take long.

import { ensureBuilt, ensureInstalled } from "./bootstrap.mjs";
import { runMain } from "./progress.mjs";
import { Run } from "./steps.mjs";
import { ensureSystemTools } from "./system-tools.mjs";

await runMain(async () => {
  await ensureInstalled();
  const run = new Run();
  await run.attempt("system tools", ensureSystemTools);
  await run.attempt("build", ensureBuilt);
  const full = process.argv.includes("--full");
  await run.tests(full ? "engines-full" : "engines");
  if (full) {
    // The same tests once more, with every parser fuzzed as long as is promised.
    process.env.FUZZ_INPUTS = "200000";
    await run.tests("test");
  }
  return run.close();
});
