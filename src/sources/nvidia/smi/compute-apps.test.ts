import { describe, expect, test } from "vitest";
import { parseComputeApps } from "./compute-apps.ts";
import {
  ownCapture,
  publicFolder,
  publicSection,
} from "../../../../test/fixtures/sources/nvidia-smi.ts";

const MIB = 1_048_576;
const h200 = "GPU-11111111-2222-3333-4444-555555555555";

test("load.apps.csv names the one process", () => {
  expect(parseComputeApps(ownCapture("load.apps.csv"))).toEqual(
    new Map([[h200, [{ pid: 507, kind: "compute", memoryBytes: 1130 * MIB, name: "python3" }]]]),
  );
});

test.for(["idle", "after"])("%s.apps.csv is a list of nobody", (phase) => {
  expect(parseComputeApps(ownCapture(`${phase}.apps.csv`))).toEqual(new Map());
});

test("text that is no list says nothing about who is there", () => {
  for (const text of ["", "No running processes found", "a,b\n1,2"])
    expect(parseComputeApps(text)).toBeUndefined();
});

test("a name with commas moves no column, and memory that is not told is no number", () => {
  const text = "pid, process_name, gpu_uuid, used_gpu_memory [MiB]\n7, a, b, c, GPU-a, [N/A]\n";
  expect(parseComputeApps(text)?.get("GPU-a")).toEqual([
    { pid: 7, kind: "compute", memoryBytes: Number.NaN, name: "a," },
  ]);
});

describe("captures from ../shared/captures/public", () => {
  test.for([
    [
      "ngpuexp_linux-x86_64__nvidia-geforce-rtx-4080-super__595.71.05.txt",
      "idle",
      [[2165, 25 * MIB]],
    ],
    [
      "ngpuexp_linux-x86_64__nvidia-geforce-rtx-4080-super__595.71.05.txt",
      "load",
      [
        [2165, 25 * MIB],
        [5022, 503 * MIB],
        [5021, 360 * MIB],
      ],
    ],
    ["ngpuexp_linux-x86_64__nvidia-h100-mig__590.48.01.txt", "idle", []],
    [
      "ngpuexp_linux-x86_64__nvidia-h100-mig__590.48.01.txt",
      "load",
      [
        [21_180, 2296 * MIB],
        [21_181, 1272 * MIB],
        [21_198, 7484 * MIB],
      ],
    ],
  ] as const)("%s, %s", ([name, phase, wanted], context) => {
    const text = publicSection(name, `${phase} :: query-compute-apps`);
    if (text === undefined) return context.skip(`${publicFolder} is not here`);
    const found = [...(parseComputeApps(text)?.values() ?? [])].flat();
    expect(found.map(({ pid, memoryBytes }) => [pid, memoryBytes])).toEqual(wanted);
  });

  test.for([
    ["idle", 19],
    ["load", 21],
  ] as const)("on Windows, %s: %i processes, none with its memory", ([phase, count], context) => {
    const name = "ngpuexp_windows-x86_64__nvidia-geforce-rtx-2080-super__610.62.txt";
    const text = publicSection(name, `${phase} :: query-compute-apps`);
    if (text === undefined) return context.skip(`${publicFolder} is not here`);
    const found = [...(parseComputeApps(text)?.values() ?? [])].flat();
    expect(found).toHaveLength(count);
    expect(found.every(({ memoryBytes }) => Number.isNaN(memoryBytes))).toBe(true);
  });
});
