import { expect, test } from "vitest";
import { processesIn } from "./processes.ts";

test("memory and utilisation of a process are one row, and values that are not reported stay absent", () => {
  const sample = (name: string, pid: string, value: number) => ({
    labels: { __name__: name, pid },
    timeMs: 0,
    value,
    text: "",
  });
  const rows = processesIn([
    sample("gpu_process_memory_bytes", "1", 10),
    sample("gpu_process_memory_bytes", "2", 20),
    sample("gpu_process_utilization_ratio", "1", 0.5),
    sample("gpu_process_info", "3", 1),
  ]);
  expect(
    rows.map(({ key, memoryBytes, utilizationRatio }) => [key, memoryBytes, utilizationRatio]),
  ).toEqual([
    ["2", 20, undefined],
    ["1", 10, 0.5],
    ["3", undefined, undefined],
  ]);
});
