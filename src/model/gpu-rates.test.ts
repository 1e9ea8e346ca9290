import { expect, test } from "vitest";
import {
  estimateDramBytes,
  estimateFlops,
  peakFlops,
  type Precision,
  ratesOf,
} from "./gpu-rates.ts";

/** Dense peak rates of the data sheets, in TFLOP/s. */
test.each([
  ["NVIDIA H200", "bf16", 989.5],
  ["NVIDIA H200", "fp8", 1_979],
  ["NVIDIA H200", "tf32", 494.7],
  ["NVIDIA H200", "fp32", 67],
  ["NVIDIA H200", "fp64", 33.5],
  ["NVIDIA H100 80GB HBM3", "fp16", 989.4],
  ["NVIDIA H100 PCIe", "bf16", 756],
  ["NVIDIA H100 PCIe", "fp32", 51.2],
  ["NVIDIA A100-SXM4-80GB", "bf16", 312],
  ["NVIDIA A100-SXM4-80GB", "fp64_tensor", 19.5],
  ["NVIDIA L4", "bf16", 121],
  ["NVIDIA L4", "fp32", 30.3],
  ["NVIDIA GeForce RTX 4090", "bf16", 165.2],
  ["NVIDIA GeForce RTX 4090", "fp32", 82.6],
  ["Tesla T4", "fp16", 65],
  ["AMD Instinct MI300X", "bf16", 1_307.4],
  ["AMD Instinct MI300X", "fp64", 81.7],
] as const)("%s reaches its data sheet's %s peak", (model, precision, teraflops) => {
  const rates = ratesOf(model);
  const peak = rates === undefined ? undefined : peakFlops(rates, precision);
  expect(Math.abs((peak ?? 0) / 1e12 / teraflops - 1)).toBeLessThan(0.01);
});

/** Measured on one H200: active share of cycles, mean SM clock in MHz, counted TFLOP/s. The last two are bursts of 14 and 70 ms. */
test.each([
  ["bf16", 0.926, 1_475, 662.1],
  ["fp16", 0.928, 1_421, 637.3],
  ["tf32", 0.922, 1_515, 342.4],
  ["fp8", 0.91, 1_357, 1_220.4],
  ["fp64_tensor", 0.961, 1_829, 59.4],
  ["fp32", 0.761, 1_980, 50.9],
  ["bf16", 0.332, 1_951, 317.9],
  ["bf16", 0.4152, 1_942, 394.9],
  ["bf16", 0.4398, 1_747, 394.6],
] as const satisfies readonly (readonly [Precision, number, number, number])[])(
  "the estimate of %s at %d and %d MHz is within 4 %% of the count",
  (precision, active, megahertz, teraflops) => {
    const rates = ratesOf("NVIDIA H200");
    const flops = rates && estimateFlops(rates, precision, active, megahertz * 1e6);
    expect(Math.abs((flops ?? 0) / 1e12 / teraflops - 1)).toBeLessThan(0.04);
  },
);

test.each([
  [0.88, 4_243],
  [0.899, 4_336],
  [0.895, 4_313],
])("DRAM at %d is within 0.5 %% of the bytes counted", (active, gigabytes) => {
  const rates = ratesOf("NVIDIA H200");
  const bytes = rates && estimateDramBytes(rates, active);
  expect(Math.abs((bytes ?? 0) / 1e9 / gigabytes - 1)).toBeLessThan(0.005);
});

test("a model that is not listed and an architecture that nobody calibrated have no estimate", () => {
  expect(ratesOf("NVIDIA H200 MIG 1g.18gb")).toBeUndefined();
  expect(ratesOf("constructor")).toBeUndefined();
  const a100 = ratesOf("NVIDIA A100-SXM4-80GB");
  expect(a100 && estimateFlops(a100, "bf16", 0.5, 1e9)).toBeUndefined();
});
