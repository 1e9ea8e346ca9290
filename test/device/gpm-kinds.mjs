// The kinds of work of kinds.py: what gpulse must find for each, and what a real H200 reported for it once, for the stand-in of NVML.

/** @typedef {(name: string, labels?: Record<string, string>) => number | undefined} Read */

/**
 * @typedef {object} Kind
 * @property {string | undefined} word The bound; undefined where it is not judged.
 * @property {(read: Read) => number | undefined} [flops] The estimate to hold against the count.
 * @property {boolean} [isMemory]
 * @property {{ mhz: number, gpm: Record<number, number>, capped?: boolean, teraflops?: number, gigabytes?: number }} stub
 */

/** The agent assumes bf16; a program that knows better scales by the dense rate. */
const tensor = (/** @type {number} */ overBf16) => (/** @type {Read} */ read) => {
  const flops = read("gpu_tensor_flops_estimate", { precision: "bf16" });
  return flops === undefined ? undefined : flops * overBf16;
};

/** Ids: 1 graphics, 2 SM, 3 occupancy, 4 integer, 5 tensor, 6 FP64 tensor, 7 half tensor, 9 INT8 tensor, 10 DRAM, 12 FP32, 20 PCIe tx, 21 rx. */
const gpm = (
  /** @type {number} */ graphics,
  /** @type {number} */ sm,
  /** @type {number} */ integer,
  /** @type {number} */ dram,
  /** @type {Record<number, number>} */ more = {},
) => ({
  1: graphics,
  2: sm,
  3: 10,
  4: integer,
  5: 0,
  6: 0,
  7: 0,
  9: 0,
  10: dram,
  11: 0,
  12: 0,
  13: 0,
  20: 2,
  21: 1,
  ...more,
});

/** @type {Record<string, Kind>} */
export const kinds = {
  idle: { word: "idle", stub: { mhz: 1980, gpm: gpm(0, 0, 0, 0) } },
  bf16: {
    word: "tensor",
    flops: tensor(1),
    stub: {
      mhz: 1475,
      capped: true,
      teraflops: 662.1,
      gpm: gpm(99, 95.4, 1.3, 17.3, { 5: 92.6, 7: 92.6 }),
    },
  },
  fp16: {
    word: "tensor",
    flops: tensor(1),
    stub: {
      mhz: 1421,
      capped: true,
      teraflops: 637.3,
      gpm: gpm(99.1, 95.6, 1.3, 16.6, { 5: 92.8, 7: 92.8 }),
    },
  },
  tf32: {
    word: "tensor",
    flops: tensor(0.5),
    stub: {
      mhz: 1515,
      capped: true,
      teraflops: 342.4,
      gpm: gpm(98.9, 95.4, 10.1, 17.4, { 5: 92.2, 7: 92.2, 12: 0.1 }),
    },
  },
  fp8: {
    word: "tensor",
    flops: tensor(2),
    stub: {
      mhz: 1357,
      capped: true,
      teraflops: 1220.4,
      gpm: gpm(98.9, 96.9, 3.8, 16.6, { 5: 91, 7: 91, 12: 23.1 }),
    },
  },
  int8: {
    word: "tensor",
    stub: {
      mhz: 1850,
      capped: true,
      teraflops: 889.8,
      gpm: gpm(99.1, 95.3, 7.8, 17, { 5: 73.2, 9: 73.2 }),
    },
  },
  fp64: {
    word: "tensor",
    flops: (read) => read("gpu_tensor_flops_estimate", { precision: "fp64" }),
    stub: {
      mhz: 1829,
      capped: true,
      teraflops: 59.4,
      gpm: gpm(98.9, 97.6, 6.4, 11.1, { 5: 96.1, 6: 96.1 }),
    },
  },
  fp32: {
    word: "fp32",
    flops: (read) => read("gpu_fp32_flops_estimate"),
    stub: { mhz: 1980, teraflops: 50.9, gpm: gpm(99.2, 96.1, 5.7, 4.7, { 12: 76.1 }) },
  },
  copy: {
    word: "memory",
    isMemory: true,
    stub: { mhz: 1980, gigabytes: 4243, gpm: gpm(99.1, 98.6, 7.9, 88) },
  },
  elementwise: {
    word: "memory",
    isMemory: true,
    stub: { mhz: 1980, gigabytes: 4336, gpm: gpm(99, 98.7, 5.1, 89.9, { 12: 1.1 }) },
  },
  vector: {
    word: "memory",
    isMemory: true,
    stub: { mhz: 1980, gigabytes: 4313, gpm: gpm(99, 88.5, 1.3, 89.5, { 5: 3.5, 7: 3.5 }) },
  },
  tiny: { word: "host", stub: { mhz: 1980, gpm: gpm(26.8, 0.03, 0, 0, { 20: 25, 21: 216 }) } },
  h2d: { word: "link", stub: { mhz: 1980, gpm: gpm(0, 0, 0, 1.1, { 20: 3368, 21: 56409 }) } },
  d2h: { word: "link", stub: { mhz: 1980, gpm: gpm(0, 0, 0, 1.1, { 20: 57179, 21: 0 }) } },
  half: {
    word: "host",
    flops: tensor(1),
    stub: { mhz: 1951, teraflops: 317.9, gpm: gpm(40.5, 34.2, 0.5, 8.3, { 5: 33.2, 7: 33.2 }) },
  },
  spin: { word: "latency", stub: { mhz: 1980, gpm: gpm(99.6, 0.75, 0, 0) } },
  sine_fp64: { word: undefined, stub: { mhz: 1980, gpm: gpm(99, 95, 20, 20, { 11: 80 }) } },
};

/** What the stand-in of NVML is to report for a kind of work. */
export function stubScript(/** @type {string} */ kind) {
  const { mhz, capped = false, gpm: values } = kinds[kind]?.stub ?? { mhz: 1980, gpm: {} };
  return [
    "gpus 1",
    "0.name NVIDIA H200",
    `0.clock_sm ${mhz}`,
    `0.clock_graphics ${mhz}`,
    "0.clock_max_sm 1980",
    "0.clock_max_graphics 1980",
    `0.reasons ${capped ? 4 : 0}`,
    `0.utilization ${Math.round(values[1] ?? 0)}`,
    ...Object.entries(values).map(([id, value]) => `0.gpm_${id} ${value}`),
    "",
  ].join("\n");
}
