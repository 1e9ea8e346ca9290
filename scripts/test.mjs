// `npm test`: from a clean clone to a result. Installs packages and, if allowed, promtool.

import { ensureBuilt, ensureInstalled } from "./bootstrap.mjs";
import { runMain } from "./progress.mjs";
import { Run } from "./steps.mjs";
import { ensureSystemTools } from "./system-tools.mjs";

await runMain(async () => {
  await ensureInstalled();
  const run = new Run();
  // promtool validates what we write for Prometheus; all other tools are for the engine tests.
  await run.attempt("system tools", () => ensureSystemTools(["promtool"]));
  await run.attempt("build", ensureBuilt);
  await run.staticChecks();
  await run.tests("test");
  return run.close();
});
