import { expect, test } from "vitest";
import type { RunDevice } from "./run.ts";
import { formatBounds, formatFlops, formatMfu, type ReadColumn, workFlop } from "./activity.ts";

const columns =
  (given: Readonly<Record<string, readonly number[]>>): ReadColumn =>
  (name) =>
    given[name] ?? [];

const h200: RunDevice = {
  uuid: "A",
  index: 0,
  vendor: "nvidia",
  model: "NVIDIA H200",
  simulated: false,
  host: "h",
  power: "board",
  energy: {},
};

test("bounds are shares of the time in which a word was known", () => {
  const read = columns({ gpu_bound_idle: [1, 0, 0, 0], gpu_bound_tensor: [1, 1, 1] });
  expect(formatBounds(read)).toBe("bound by tensor 75 %, idle 25 %");
  expect(formatBounds(columns({}))).toBeUndefined();
});

test("the estimate names the precision that it assumes", () => {
  expect(formatFlops(columns({ gpu_tensor_flops_estimate_fp8: [1.2e15, 1.24e15] }))).toBe(
    "about 1.22e+3 TFLOP/s on tensor cores (as fp8)",
  );
});

/** 662.1 TFLOP/s for ten seconds at 1475 MHz, as measured on an H200. */
test("model FLOP utilisation is held against the data sheet's peak and that at the clock held", () => {
  const run = {
    work: { amount: 6_621, unit: "TFLOP", from: "flag" as const },
    durationSeconds: 10,
    devices: [h200],
  };
  const read = columns({
    gpu_clock_hertz_sm: [1.475e9],
    gpu_tensor_flops_estimate_bf16: [6.6e14],
  });
  expect(formatMfu(run, () => read)).toBe(
    "model FLOP utilisation 66.9 % of the dense bf16 peak (989.4 TFLOP/s), 83.0 % of the peak at the clock held",
  );
  expect(formatMfu({ ...run, devices: [{ ...h200, model: "H900" }] }, () => read)).toBeUndefined();
});

test.each([
  ["FLOP", 2],
  ["gflops", 2e9],
  ["images", undefined],
])("work in %s", (unit, flop) => {
  expect(workFlop({ work: { amount: 2, unit } })).toBe(flop);
});
