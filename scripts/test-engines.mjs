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
  await run.tests(process.argv.includes("--full") ? "engines-full" : "engines");
  return run.close();
});
