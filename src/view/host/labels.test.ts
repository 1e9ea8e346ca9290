import { expect, test } from "vitest";
import { customLabelNames, customLabels } from "./labels.ts";

const gpu = { __name__: "gpu_info", host: "n1", uuid: "A", model: "H200", numa_node: "0" };

test("labels that were set stand in the order of places, then by name", () => {
  expect(
    customLabelNames([
      { ...gpu, team: "x", rack: "b7" },
      { ...gpu, room: "2", age: "1" },
    ]),
  ).toEqual(["room", "rack", "age", "team"]);
});

test("a machine has the labels on which its GPUs agree", () => {
  const one = { ...gpu, rack: "b7", pool: "a" };
  expect(customLabels([one, { ...one, uuid: "B", pool: "b" }])).toEqual({ rack: "b7" });
  expect(customLabels([])).toEqual({});
});
