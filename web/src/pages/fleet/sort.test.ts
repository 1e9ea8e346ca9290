import { expect, test } from "vitest";
import { sampleGpu } from "../../../../test/fixtures/web/sample-gpu.ts";
import { nextSort, sortFleet, type SortKey } from "./sort.ts";

const fleet = [
  sampleGpu({ index: 2, readings: { power: 300, temperatureEdge: 60 }, row: { job: "b-job" } }),
  sampleGpu({ index: 10, readings: { power: "failed", temperatureEdge: 70 } }),
  sampleGpu({ index: 0, readings: { power: 500, temperatureEdge: 60 }, row: { job: "a-job" } }),
];
const order = (key: SortKey, descending: boolean) =>
  sortFleet(fleet, { key, descending }).map(({ device }) => device.index);

test.each<[SortKey, boolean, number[]]>([
  ["gpu", false, [0, 2, 10]],
  ["gpu", true, [10, 2, 0]],
  ["power", true, [0, 2, 10]],
  ["power", false, [2, 0, 10]],
  ["temperature", true, [10, 0, 2]],
  ["job", false, [0, 2, 10]],
  ["job", true, [2, 0, 10]],
])("by %s, descending %s, gives %j: absent last, ties by index", (key, descending, indexes) => {
  expect(order(key, descending)).toEqual(indexes);
});

test("hosts sort as people count", () => {
  const hosts = ["node-10", "node-9"].map((host) => sampleGpu({ host }));
  expect(
    sortFleet(hosts, { key: "gpu", descending: false }).map(({ device }) => device.host),
  ).toEqual(["node-9", "node-10"]);
});

test("the same column again turns round; numbers start with the most, names with A", () => {
  expect(nextSort({ key: "gpu", descending: false }, "power")).toEqual({
    key: "power",
    descending: true,
  });
  expect(nextSort({ key: "power", descending: true }, "power")).toEqual({
    key: "power",
    descending: false,
  });
  expect(nextSort({ key: "power", descending: true }, "job")).toEqual({
    key: "job",
    descending: false,
  });
});
