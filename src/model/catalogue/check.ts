/** Results of `gpulse check`: what a GPU achieved under a load of known size. Written when a check ends, not on a schedule. */
import { device, yesNo } from "./device.ts";

const given = { nvidia: "gpulse check" } as const;

export const check = {
  checkPassed: yesNo("gpu_check_passed", {
    help: "1 if the last check measured correct results at the expected speed, 0 for wrong results or a slow or failing GPU. Absent if nothing was measured.",
    tier: "static",
    given,
  }),
  checkErrors: device("gpu_check_errors", {
    help: "Wrong results in the last check: digests of products and rates, words of memory.",
    tier: "static",
    resolution: 1,
    labels: [
      {
        name: "test",
        help: "Test that found them.",
        values: ["products", "memory", "tensor", "fp32"],
      },
    ],
    given,
  }),
  checkTensorFlops: device("gpu_check_tensor_flops", {
    help: "Sustained dense bf16 FLOP/s of the tensor cores, measured by the last check.",
    tier: "static",
    resolution: 1e6,
    plausible: [0, 1e18],
    labels: [
      {
        name: "instruction",
        help: "The instruction measured; each has its own peak.",
        values: ["wgmma", "mma.sync"],
      },
    ],
    given,
  }),
  checkFp32Flops: device("gpu_check_fp32_flops", {
    help: "Sustained FP32 FLOP/s with multiply-adds, measured by the last check.",
    tier: "static",
    resolution: 1e6,
    plausible: [0, 1e18],
    given,
  }),
  checkBandwidth: device("gpu_check_bandwidth_bytes_per_second", {
    help: "Copy bandwidth measured by the last check; within the device, both bytes read and bytes written count.",
    tier: "static",
    resolution: 1e3,
    labels: [
      {
        name: "path",
        help: "Source and destination; host memory is pinned.",
        values: ["device_copy", "host_to_device", "device_to_host"],
      },
    ],
    given,
  }),
  checkMemoryTested: device("gpu_check_memory_tested_bytes", {
    help: "Device memory that the last check wrote and read back with every pattern.",
    tier: "static",
    given,
  }),
} as const;
