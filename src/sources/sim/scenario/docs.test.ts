import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { keysAt } from "../../../config/check.ts";
import { faultNames } from "../fleet/faults.ts";
import { models } from "../models/index.ts";
import { scenarios } from "../scenarios/scenarios.ts";
import { parseScenario } from "./load.ts";
import { scenarioSchema } from "./schema.ts";

const docs = (page: string): string =>
  readFileSync(new URL(`../../../../docs/${page}`, import.meta.url), "utf8");
const reference = docs("reference/sim-scenarios.md");

test("the reference page lists every key, scenario and fault", () => {
  const keys = [[], ["fleet", 0], ["queue"], ["workloads", 0], ["faults", 0]].flatMap((path) =>
    keysAt(scenarioSchema, path),
  );
  const jobKeys = keysAt(scenarioSchema, ["queue", "jobs", 0]).map((key) => `jobs.${key}`);
  expect(keys.length).toBeGreaterThan(20);
  for (const name of [...keys, ...jobKeys, ...Object.keys(scenarios), ...faultNames])
    expect(reference).toContain(`| \`${name}\` |`);
});

test("the scenario shown there is valid", () => {
  const shown = /```yaml\n(.*?)```/s.exec(reference)?.[1] ?? "";
  expect(parseScenario(shown, "docs").faults).toHaveLength(1);
});

test("the guide lists every model with its power limit and boost clock", () => {
  const guide = docs("guides/simulator.md");
  for (const { name, power, clocks } of models) {
    const row = guide.split("\n").find((line) => line.startsWith(`| ${name}`));
    expect(row, name).toContain(`${power.limitWatts} W`);
    expect(row, name).toContain(`${clocks.boostHertz / 1e6} MHz`);
  }
});
