/** Runs every script of a folder and prints a table: `node scripts/run-ts.mjs test/promql/table.ts FOLDER [--native] [--early-names]`. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createEngine } from "../../src/query/engine.ts";
import { runScript } from "./run.ts";

const folder = process.argv[2] ?? new URL("./scripts", import.meta.url).pathname;
const showNative = process.argv.includes("--native");
const engine = createEngine({ delayedNameRemoval: !process.argv.includes("--early-names") });

let failed = 0;
for (const file of readdirSync(folder)
  .filter((name) => name.endsWith(".test"))
  .sort()) {
  const results = await runScript(readFileSync(join(folder, file), "utf8"), engine);
  const floats = results.filter(({ native }) => !native);
  const native = results.filter((result) => result.native);
  const passed = (list: typeof results): number =>
    list.filter(({ problem }) => problem === undefined).length;
  failed += floats.length - passed(floats);
  process.stdout.write(
    `${file.padEnd(28)} floats ${passed(floats)}/${floats.length}   native ${passed(native)}/${native.length}\n`,
  );
  for (const { line, query, problem } of showNative ? results : floats) {
    if (problem !== undefined)
      process.stdout.write(`   ${file}:${line} ${query}\n      ${problem}\n`);
  }
}
process.exitCode = failed === 0 ? 0 : 1;
