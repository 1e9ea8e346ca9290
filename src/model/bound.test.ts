import { expect, test } from "vitest";
import { type BoundInputs, findBound } from "./bound.ts";

/** PCIe 5.0 x16, one direction. */
const linkMebibytes = 63.015e9 / 1_048_576;

/**
 * Measured on one H200, six seconds each: MHz, shares in percent and the busier direction of PCIe in MiB/s. `capped`: at the
 * power limit of 700 W, with the clock below boost.
 */
type Measured = readonly [
  work: string,
  megahertz: number,
  capped: boolean,
  busy: number,
  sm: number,
  tensor: number,
  integer: number,
  fp32: number,
  memory: number,
  link: number,
  word: string,
];
const measured: readonly Measured[] = [
  ["idle, clocks up", 1_980, false, 0, 0, 0, 0, 0, 0, 2, "idle"],
  ["bf16 8192³ products", 1_475, true, 99, 95.4, 92.6, 1.3, 0, 17.3, 13, "tensor"],
  ["fp16", 1_421, true, 99.1, 95.6, 92.8, 1.3, 0, 16.6, 12, "tensor"],
  ["tf32", 1_515, true, 98.9, 95.4, 92.2, 10.1, 0.1, 17.4, 12, "tensor"],
  ["fp8 (e4m3)", 1_357, true, 98.9, 96.9, 91, 3.8, 23.1, 16.6, 15, "tensor"],
  ["int8", 1_850, true, 99.1, 95.3, 73.2, 7.8, 0, 17, 11, "tensor"],
  ["fp64 (tensor)", 1_829, true, 98.9, 97.6, 96.1, 6.4, 0, 11.1, 4, "tensor"],
  ["fp32 (no tf32)", 1_980, false, 99.2, 96.1, 0, 5.7, 76.1, 4.7, 2, "fp32"],
  ["device copy", 1_980, false, 99.1, 98.6, 0, 7.9, 0, 88, 28, "memory"],
  ["elementwise fp32", 1_980, false, 99, 98.7, 0, 5.1, 1.1, 89.9, 20, "memory"],
  ["matrix × vector", 1_980, false, 99, 88.5, 3.5, 1.3, 0, 89.5, 49, "memory"],
  ["128,000 tiny kernels a second", 1_980, false, 26.8, 0.03, 0, 0, 0, 0, 216, "host"],
  ["host to device, pinned", 1_980, false, 0, 0, 0, 0, 0, 1.1, 56_409, "link"],
  ["device to host, pinned", 1_980, false, 0, 0, 0, 0, 0, 1.1, 57_179, "link"],
  ["bf16 products, half the time", 1_951, false, 40.5, 34.2, 33.2, 0.5, 0, 8.3, 6, "host"],
  ["one block spinning", 1_980, false, 99.6, 0.75, 0, 0, 0, 0, 0, "latency"],
];

for (const row of measured) {
  const [work, megahertz, capped, busyPercent, sm, tensor, integer, fp32, memory, link, word] = row;
  test(`${work} is bound by: ${word}`, () => {
    const found = findBound({
      busy: busyPercent / 100,
      sm: sm / 100,
      tensor: tensor / 100,
      integer: integer / 100,
      fp32: fp32 / 100,
      memory: memory / 100,
      link: link / linkMebibytes,
      powerCapped: Number(capped),
      thermallyCapped: 0,
      clock: megahertz / 1_980,
    });
    expect(found).toBe(word);
  });
}

const busy: BoundInputs = { busy: 1, sm: 0.9, tensor: 0.5, memory: 0.4, clock: 0.8 };

test.each<readonly [string, BoundInputs, string | undefined]>([
  ["no unit is full at the power limit", { ...busy, powerCapped: 1 }, "power"],
  [
    "full units at a low power limit",
    { ...busy, tensor: 0.9, powerCapped: 1, clock: 0.45 },
    "power",
  ],
  [
    "heat costs speed though a unit is full",
    { ...busy, tensor: 0.9, thermallyCapped: 0.8 },
    "thermal",
  ],
  ["heat that costs nothing", { ...busy, tensor: 0.9, thermallyCapped: 1, clock: 0.98 }, "tensor"],
  ["a cap for a tenth of the time", { ...busy, powerCapped: 0.1 }, "latency"],
  ["a capped GPU that waits for the host", { ...busy, busy: 0.4, powerCapped: 1 }, "host"],
  ["hashes", { ...busy, tensor: 0, integer: 0.85 }, "integer"],
  ["the vector FP64 units", { ...busy, tensor: 0, fp64: 0.9 }, "fp64"],
  ["links that carry more than half under a waiting kernel", { ...busy, link: 0.7 }, "link"],
  ["a full unit over a busy link", { ...busy, tensor: 0.8, link: 0.7 }, "tensor"],
  ["slow copies and no kernel", { busy: 0, sm: 0, link: 0.2 }, "host"],
  ["utilisation alone, low", { busy: 0.3 }, "host"],
  ["utilisation alone, nothing runs", { busy: 0 }, "idle"],
  ["utilisation alone, full: nobody can say", { busy: 1 }, undefined],
  ["utilisation and a full memory controller", { busy: 1, memory: 0.95 }, "memory"],
  ["utilisation and a power cap", { busy: 1, memory: 0.2, powerCapped: 0.9 }, "power"],
  ["one die of eight that is busy all the time", { busy: 0.125, busiestDie: 1 }, "latency"],
  [
    "the same, on a GPU in partitions",
    { busy: 0.125, busiestDie: 1, isPartitioned: true },
    undefined,
  ],
  ["one die of eight that waits", { busy: 0.04, busiestDie: 0.32 }, "host"],
  ["eight dies that wait together", { busy: 0.5, busiestDie: 0.74 }, "host"],
  ["eight busy dies: nobody can say", { busy: 1, busiestDie: 1 }, undefined],
  ["nothing reported", {}, undefined],
])("%s", (_, inputs, word) => {
  expect(findBound(inputs)).toBe(word);
});
