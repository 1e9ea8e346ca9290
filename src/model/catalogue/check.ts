/** Results of `gpulse check`: what a GPU achieved under a load of known size. Written when a check ends, not on a schedule. */
import { device, yesNo } from "./device.ts";

const given = { nvidia: "gpulse check" } as const;

export const check = {
  checkPassed: yesNo("gpu_check_passed", {
    help: "1 if the last check found right results at the expected speed, 0 if it found wrong results or a slow or failing GPU. Absent where nothing was measured.",
    tier: "static",
    given,
  }),
  checkErrors: device("gpu_check_errors", {
    help: "Wrong results the last check found: digests of products and rates, words of memory.",
    tier: "static",
    resolution: 1,
    labels: [
      {
        name: "test",
        help: "Which test found them.",
        values: ["products", "memory", "tensor", "fp32"],
      },
    ],
    given,
  }),
  checkTensorFlops: device("gpu_check_tensor_flops", {
    help: "Sustained dense bf16 FLOP/s the last check measured on the tensor cores.",
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
    help: "Sustained FP32 FLOP/s the last check measured with multiply-adds.",
    tier: "static",
    resolution: 1e6,
    plausible: [0, 1e18],
    given,
  }),
  checkBandwidth: device("gpu_check_bandwidth_bytes_per_second", {
    help: "Copy bandwidth the last check measured; within the device, bytes read and written are both counted.",
    tier: "static",
    resolution: 1e3,
    labels: [
      {
        name: "path",
        help: "From where to where; the host's memory is pinned.",
        values: ["device_copy", "host_to_device", "device_to_host"],
      },
    ],
    given,
  }),
  checkMemoryTested: device("gpu_check_memory_tested_bytes", {
    help: "Device memory the last check wrote and read back with every pattern.",
    tier: "static",
    given,
  }),
} as const;
