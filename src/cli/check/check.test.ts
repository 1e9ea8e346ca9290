import { expect, test } from "vitest";
import type { Device } from "../../model/device.ts";
import type { CheckVerdict, GpuCheck } from "../../sources/nvidia/check/verdict.ts";
import { checkJson, formatCheck } from "./report.ts";
import { exitCodeOf, parseCheckOptions } from "./run.ts";
import { checkFrame } from "./send.ts";

const gpu: Device = {
  uuid: "GPU-1",
  index: 2,
  vendor: "nvidia",
  model: "NVIDIA H200",
  simulated: false,
};

const check: GpuCheck = {
  gpu,
  verdict: "fail",
  reasons: ["memory: 1 wrong word."],
  results: [
    {
      test: "tensor",
      status: "ok",
      value: 660e12,
      unit: "FLOP/s",
      reference: {
        value: 700e12,
        unit: "FLOP/s",
        basis: "4096 FLOP per cycle and SM at the clock held",
      },
      ratio: 0.943,
      note: "wgmma, 1400 MHz held",
      measurement: {
        test: "tensor",
        instruction: "wgmma",
        flopsPerSecond: 660e12,
        flopsPerCycleAndSm: 3_900,
        heldHertz: 1.4e9,
        seconds: 5,
        wrong: { count: 0, sms: [] },
      },
    },
    {
      test: "memory",
      status: "wrong",
      value: 140e9,
      unit: "bytes",
      measurement: {
        test: "memory",
        bytes: 140e9,
        patterns: 6,
        passes: 2,
        seconds: 4,
        wrongWords: 1,
      },
    },
  ],
};

test.for([
  [["pass", "pass"], 0],
  [["pass", "busy"], 4],
  [["unsupported"], 4],
  [["slow", "busy"], 3],
  [["pass", "slow", "fail", "stopped"], 1],
] as const satisfies readonly (readonly [readonly CheckVerdict[], number])[])(
  "verdicts %j exit with %i",
  ([verdicts, code]) =>
    expect(exitCodeOf(verdicts.map((verdict) => ({ ...check, verdict })))).toBe(code),
);

test.for([
  [{ seconds: "0" }, "--seconds must be a number from 1 to 3600"],
  [{ seconds: "soon" }, "--seconds must be a number"],
  [{ only: "tensor,gaming" }, '--only has no test "gaming". Tests: device_copy, '],
  [{ selfTest: "-1" }, "--self-test must be a number from 1"],
] as const)("%j is a usage error", ([flags, sentence]) =>
  expect(() => parseCheckOptions(flags)).toThrow(sentence),
);

test("--only keeps the order in which tests run", () => {
  expect(parseCheckOptions({ only: "memory, tensor" }).tests).toEqual(["tensor", "memory"]);
});

test("the table has a row per test and the verdict with its reasons", () => {
  const text = formatCheck([check]);
  expect(text).toContain("GPU 2  NVIDIA H200  GPU-1");
  expect(text).toMatch(/bf16 tensor +660\.0 TFLOP\/s +700\.0 TFLOP\/s \(.*\) +94\.3 % +ok/);
  expect(text).toMatch(/memory patterns +140\.0 GB .*wrong/);
  expect(text).toContain("did 3300.0 TFLOP\n");
  expect(text).toContain("verdict: fail\n  memory: 1 wrong word.\n");
});

test("JSON has units beside values", () => {
  const parsed = JSON.parse(checkJson([check])) as {
    gpus: { uuid: string; results: { value: number; unit: string }[] }[];
  };
  expect(parsed.gpus[0]?.uuid).toBe("GPU-1");
  expect(parsed.gpus[0]?.results.map(({ value, unit }) => [value, unit])).toEqual([
    [660e12, "FLOP/s"],
    [140e9, "bytes"],
  ]);
});

test("the frame carries the verdict, the rates and the errors, and nothing for what was not measured", () => {
  const valuesOf = (given: GpuCheck): Record<string, number> => {
    const { layout, values } = checkFrame(given, "h", 1_000);
    return Object.fromEntries(
      layout.series.map(({ metric, labels }, slot) => {
        const own = labels.filter(([name]) => ["test", "instruction", "path"].includes(name));
        return [
          `${metric.name}${own.map(([, value]) => `:${value}`).join("")}`,
          values[slot] ?? -1,
        ];
      }),
    );
  };
  expect(valuesOf(check)).toEqual({
    gpu_info: 1,
    gpu_check_passed: 0,
    "gpu_check_tensor_flops:wgmma": 660e12,
    "gpu_check_errors:tensor": 0,
    gpu_check_memory_tested_bytes: 140e9,
    "gpu_check_errors:memory": 1,
  });
  expect(valuesOf({ ...check, verdict: "busy", results: [] })).toEqual({ gpu_info: 1 });
});
