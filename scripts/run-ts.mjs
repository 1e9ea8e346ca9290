// Runs a TypeScript tool of this repository after bringing the checkout up to date:
// `node scripts/run-ts.mjs FILE [--tools] [arguments]`. With --tools system programs are installed too.

import path from "node:path";

import { ensureBuilt, ensureInstalled, root } from "./bootstrap.mjs";
import { runNode } from "./command.mjs";
import { PlainError, runMain } from "./progress.mjs";
import { ensureSystemTools } from "./system-tools.mjs";

await runMain(async () => {
  const [file, ...rest] = process.argv.slice(2);
  if (file === undefined) throw new PlainError("name the file to run.");
  await ensureInstalled();
  if (rest[0] === "--tools") {
    rest.shift();
    await ensureSystemTools();
    await ensureBuilt();
  }
  const tsx = path.join(root, "node_modules", "tsx", "dist", "cli.mjs");
  const { code } = await runNode(tsx, [path.join(root, file), ...rest], { show: true });
  return code;
});
