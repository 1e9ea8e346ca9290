/**
 * The default rules and their runbook, read from where they stand: beside the bundle in a built program, in deploy/ and
 * docs/ of the repository otherwise. They are plain Prometheus files; nothing here changes what they mean.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";

export interface PackFile {
  readonly name: string;
  readonly text: string;
}

const at = (relative: string): string => fileURLToPath(new URL(relative, import.meta.url));

/** `scripts/build.mjs` puts a copy there. */
const builtDir = at("./pack");
const isBuilt = existsSync(path.join(builtDir, "rules"));
const rulesDir = isBuilt ? path.join(builtDir, "rules") : at("../../../deploy/prometheus/rules");
const runbookFile = isBuilt
  ? path.join(builtDir, "runbook.md")
  : at("../../../docs/runbook/README.md");

const stackRunbookFile = isBuilt
  ? path.join(builtDir, "runbook-stack.md")
  : at("../../../docs/runbook/stack.md");

/** As they are on disk, for `--rules` of a real Prometheus or a copy. */
export function packRuleFiles(): readonly PackFile[] {
  return readdirSync(rulesDir)
    .filter((name) => name.endsWith(".yml"))
    .sort()
    .map((name) => ({ name, text: readFileSync(path.join(rulesDir, name), "utf8") }));
}

export const packRunbook = (): string => readFileSync(runbookFile, "utf8");

/** Of the rules of deploy/prometheus/rules/stack, which are not among the default ones. */
export const stackRunbook = (): string => readFileSync(stackRunbookFile, "utf8");
