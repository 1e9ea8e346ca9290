// `npm run check`: format, lint, types and every test that needs no engine. Installs nothing on the system.

import { ensureBuilt, ensureInstalled } from "./bootstrap.mjs";
import { runMain } from "./progress.mjs";
import { Run } from "./steps.mjs";

await runMain(async () => {
  await ensureInstalled();
  const run = new Run();
  await run.attempt("build", ensureBuilt);
  await run.staticChecks();
  await run.tests("test");
  return run.close();
});
