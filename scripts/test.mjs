// `npm test`: from a clean clone to a verdict. Installs packages and, where it may, the programs tests need.

import { ensureBuilt, ensureInstalled } from "./bootstrap.mjs";
import { runMain } from "./progress.mjs";
import { Run } from "./steps.mjs";
import { ensureSystemTools } from "./system-tools.mjs";

await runMain(async () => {
  await ensureInstalled();
  const run = new Run();
  await run.attempt("system tools", ensureSystemTools);
  await run.attempt("build", ensureBuilt);
  await run.staticChecks();
  await run.tests("test");
  return run.close();
});
