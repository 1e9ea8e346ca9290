import { expect, test } from "vitest";
import { busyAt, findKernelName, kernels } from "./kernels.ts";

test.each([
  ["idle", "idle"],
  ["matmul_bf16", "matmul_bf16"],
  ["gemm-fp16", "matmul_fp16"],
  ["GEMM float64", "matmul_fp64"],
  ["matmul", "matmul_bf16"],
  ["tf32", "matmul_tf32"],
  ["matmul_duty50", "matmul_bf16"],
  ["small matmul", "matmul_small"],
  ["memcpy_d2d", "memcopy"],
  ["copy", "memcopy"],
  ["h2d", "transfer"],
  ["training", "train"],
  ["train-fp32", "train_fp32"],
  ["inference", "infer_medium"],
  ["inference_light", "infer_light"],
  ["llm_serving_heavy", "infer_heavy"],
  ["gpu_burn", "stress"],
  ["cool-down", "idle"],
])("%s is %s", (name, kernel) => expect(findKernelName(name)).toBe(kernel));

test("a name that says nothing is not guessed at", () =>
  expect(findKernelName("phase-7")).toBeUndefined());

test("training stalls between its bursts of steps", () => {
  expect(busyAt(kernels.train.pattern, 5_000)).toBe(0.98);
  expect(busyAt(kernels.train.pattern, 6_500)).toBe(0);
});
