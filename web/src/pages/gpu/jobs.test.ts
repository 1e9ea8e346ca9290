import { expect, test } from "vitest";
import { jobsIn, processesIn } from "./jobs.ts";

const grid = { startMs: 0, endMs: 40, stepMs: 10, warnings: [] };
const series = (workload: string, ...values: number[]) => ({
  labels: { workload },
  values: Float64Array.from(values),
});
const none = Number.NaN;

test("a job lasts from its first to its last sight, newest first, and runs if it is there at the end", () => {
  const jobs = jobsIn({
    ...grid,
    series: [series("old", 1, 1, none, none, none), series("new", none, none, 1, none, 1)],
  });
  expect(
    jobs.map(({ labels, fromMs, toMs, running }) => [labels["workload"], fromMs, toMs, running]),
  ).toEqual([
    ["new", 20, 40, true],
    ["old", 0, 10, false],
  ]);
  expect(jobsIn(undefined)).toEqual([]);
});

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
