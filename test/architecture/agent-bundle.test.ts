// The agent stays light: its bundle's file list from the build contains nothing of the hub.

import { readFileSync } from "node:fs";
import path from "node:path";
import { beforeAll, expect, test } from "vitest";

import { ensureBuild, repository } from "../../engines/program.ts";

interface BundleInputs {
  readonly static: readonly string[];
  readonly lazy: readonly string[];
  readonly importedBy: Readonly<Record<string, string>>;
}

const HEAVY = [
  // The schema of `hub.store` is one of the settings that every command reads.
  /^src\/storage\/(?!remote\/(schema|address)\.ts)/,
  /^src\/(query|alerting|lake\/analyses|hub|top)\/|^src\/cli\/(?!command\/)/,
  /^web\//,
  /node_modules\/(fastify|@fastify|pino|@duckdb|kafkajs|@platformatic)\//,
];

let agent: BundleInputs;

beforeAll(async () => {
  await ensureBuild();
  const file = path.join(repository, "dist", "agent", "inputs.json");
  agent = JSON.parse(readFileSync(file, "utf8")) as BundleInputs;
});

function isHeavy(file: string): boolean {
  return HEAVY.some((pattern) => pattern.test(file));
}

/** The chain of imports from the entry to a file, so that the failure shows which file imported it. */
function chain(file: string): string {
  const steps = [file];
  for (let at = agent.importedBy[file]; at !== undefined; at = agent.importedBy[at]) {
    steps.unshift(at);
  }
  return steps.join(" -> ");
}

test("the agent's bundle loads nothing heavy when it starts", () => {
  expect(agent.static).toContain("src/agent/main.ts");
  expect(agent.static.filter(isHeavy).map(chain)).toEqual([]);
});

test("the agent's bundle does not even carry the hub for later", () => {
  expect(
    agent.lazy
      .filter((file) =>
        /^src\/(hub|storage|query|top)\/|^src\/cli\/(?!command\/)|^web\//.test(file),
      )
      .map(chain),
  ).toEqual([]);
});
