/**
 * Reads the default rules and their runbook: from beside the bundle in a built program, else from deploy/ and docs/ of the
 * repository. They are plain Prometheus files and are returned unchanged.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

export interface PackFile {
  readonly name: string;
  readonly text: string;
}

const at = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url));

/** The folder that `scripts/build.mjs` copies them to. */
const builtDir = at("./pack");
const isBuilt = existsSync(path.join(builtDir, "rules"));
const rulesDir = isBuilt ? path.join(builtDir, "rules") : at("../../../deploy/prometheus/rules");
const runbookFile = isBuilt
  ? path.join(builtDir, "runbook.md")
  : at("../../../docs/runbook/README.md");

const stackRunbookFile = isBuilt
  ? path.join(builtDir, "runbook-stack.md")
  : at("../../../docs/runbook/stack.md");

/** The files unchanged, for a Prometheus server or for a copy. */
export function packRuleFiles(): readonly PackFile[] {
  return readdirSync(rulesDir)
    .filter((name) => name.endsWith(".yml"))
    .sort()
    .map((name) => ({ name, text: readFileSync(path.join(rulesDir, name), "utf8") }));
}

export const packRunbook = (): string => readFileSync(runbookFile, "utf8");

/** The runbook of the rules of deploy/prometheus/rules/stack, which are not among the default ones. */
export const stackRunbook = (): string => readFileSync(stackRunbookFile, "utf8");
