import { expect, test } from "vitest";
import { sampleGpu } from "../../../../test/fixtures/web/sample-gpu.ts";
import { groupGpus, groupings, summarizeGroup } from "./group.ts";

const gpus = [
  sampleGpu({ index: 0, host: "b", readings: { utilization: 0.5, power: 100 } }),
  sampleGpu({ index: 1, host: "a10", readings: { utilization: 0, power: 50 } }),
  sampleGpu({ index: 2, host: "a9", readings: { up: 0, utilization: "failed" } }),
  sampleGpu({ index: 3, host: "b" }),
];
const labels = { rack: "r1", uuid: "x", gpu: "0", job: "node" };

test("groups stand in the order people count, GPUs keep theirs", () => {
  const found = groupGpus(gpus, "host", () => undefined);
  expect(found.map(({ name, gpus: own }) => [name, own.length])).toEqual([
    ["a9", 1],
    ["a10", 1],
    ["b", 2],
  ]);
});

test("a label of the store groups as well, and who has none is a group too", () => {
  const first = gpus[0]?.id;
  const found = groupGpus(gpus, "rack", (id) => (id === first ? labels : undefined));
  expect(found.map(({ name }) => name)).toEqual(["no rack", "r1"]);
});

test("labels that distinguish single GPUs are no grouping", () => {
  const names = groupings([labels]);
  expect(names).toContain("rack");
  expect(names).not.toContain("uuid");
  expect(names.filter((name) => name === "job")).toHaveLength(1);
});

test("a group's sums leave out GPUs that do not report, and no report is not zero", () => {
  expect(summarizeGroup({ name: "", gpus })).toMatchObject({
    count: 4,
    active: 1,
    lost: 1,
    utilizationRatio: 0.25,
    powerWatts: 150,
    hottestCelsius: undefined,
  });
});
