import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { GpulseError } from "../../../base/error.ts";
import { faultNames } from "../fleet/faults.ts";
import { scenarios } from "../scenarios/scenarios.ts";
import { loadScenario, parseScenario } from "./load.ts";
import { namesGpu } from "./schema.ts";

test.each(Object.keys(scenarios))("the scenario %s is valid and says what it is", (name) => {
  expect(loadScenario(name).says).toMatch(/\.$/);
});

test("the scenario faults has every fault", () => {
  const { faults } = loadScenario("faults");
  expect(new Set(faults.map(({ fault }) => fault))).toEqual(new Set(faultNames));
});

test.each([
  ["ambiant: 20", 'unknown key "ambiant". Did you mean "ambient"?'],
  ["fleet: [{ model: H300 }]", '"fleet.0.model" must be one of H200'],
  ["faults: [{ fault: fan-fail }]", '"faults.0.fault" must be one of fan-failure'],
  ["faults: [{ fault: xid, gpus: 1 }]", 'unknown key "faults.0.gpus". Did you mean "gpu"?'],
  ["workloads: [{ run: mining }]", '"workloads.0.run" must be one of idle'],
  ["workloads: [{ run: idle, gpus: some }]", '"workloads.0.gpus" must be all, an index'],
  ["ambient: hot", '"ambient" must be a number from -20 to 60, not "hot"'],
  ["start: yesterday", '"start" must be a time such as'],
  ["queue: { jobs: [] }", '"queue.jobs" must be a list of at least one job'],
  ["fleet: [", "Scenario test: "],
])("%s is refused in one sentence", (text, says) => {
  expect(() => parseScenario(text, "test")).toThrow(GpulseError);
  expect(() => parseScenario(text, "test")).toThrow(says);
});

test.each([
  ["stres", 'Did you mean "stress"?'],
  ["nonsense-name", "There are default, stress"],
  ["./no/such/file.yaml", "does not exist"],
])("the name %s is refused with a hint", (name, says) =>
  expect(() => loadScenario(name)).toThrow(says),
);

test("a user's file is read from its path", () => {
  const file = join(mkdtempSync(join(tmpdir(), "gpulse-scenario-")), "lab.yaml");
  writeFileSync(file, "ambient: 31\nfleet: [{ model: RTX 4090, count: 2 }]\n");
  expect(loadScenario(file)).toMatchObject({
    ambient: 31,
    fleet: [{ model: "RTX 4090", count: 2 }],
  });
});

test.each([
  ["all", 7, true],
  ["3", 3, true],
  ["3", 4, false],
  ["0,2,5-7", 6, true],
  ["0,2,5-7", 4, false],
])("%s names GPU %i: %s", (list, index, named) => expect(namesGpu(list, index)).toBe(named));
