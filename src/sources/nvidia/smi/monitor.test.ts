import { describe, expect, test } from "vitest";
import { parseDmon } from "./dmon.ts";
import {
  ownCapture,
  publicFolder,
  publicSection,
  readingsOf,
} from "../../../../test/fixtures/sources/nvidia-smi.ts";
import type { SmiReading } from "./gpu.ts";
import { parsePmon } from "./pmon.ts";

const MIB = 1_048_576;

/** By name, as the other tests write readings. */
function named(readings: readonly SmiReading[] | undefined): Record<string, number | string> {
  const device = { uuid: "a", index: 0, vendor: "nvidia", model: "m", simulated: false } as const;
  return readingsOf({ device, readings: readings ?? [], processes: [] });
}

test("pmon under load gives the one process its share", () => {
  expect(parsePmon(ownCapture("load.pmon.txt"))).toEqual(new Map([["0/507", 0.98]]));
});

test.for(["idle", "after"])("pmon gives nobody a share %s", (phase) => {
  expect(parsePmon(ownCapture(`${phase}.pmon.txt`))).toEqual(new Map());
});

/** The last of three rows. */
test.for([
  ["idle", 37, 1, 0, 0],
  ["load", 47, 1140, 16e6, 7e6],
  ["after", 41, 1, 0, 0],
] as const)("dmon, %s", ([phase, memoryCelsius, mib, received, sent]) => {
  const found = parseDmon(ownCapture(`${phase}.dmon.txt`));
  expect([...found.keys()]).toEqual([0]);
  expect(named(found.get(0))).toEqual({
    "gpu_temperature_celsius{sensor=memory}": memoryCelsius,
    gpu_encoder_utilization_ratio: 0,
    gpu_decoder_utilization_ratio: 0,
    gpu_memory_visible_used_bytes: mib * MIB,
    "gpu_pcie_throughput_bytes_per_second{direction=receive}": received,
    "gpu_pcie_throughput_bytes_per_second{direction=transmit}": sent,
  });
});

test("rows follow the header above them, and a cell that is no number is said to be none", () => {
  const text = "# gpu enc rxpci\n# Idx % MB/s\n 0 5 x\n# gpu dec\n# Idx %\n 1 7\n 2\n 3 -\n";
  const found = parseDmon(text);
  expect(named(found.get(0))).toEqual({
    gpu_encoder_utilization_ratio: 0.05,
    "gpu_pcie_throughput_bytes_per_second{direction=receive}": "failed",
  });
  expect(named(found.get(1))).toEqual({ gpu_decoder_utilization_ratio: 0.07 });
  expect(found.has(2)).toBe(false);
  expect(named(found.get(3))).toEqual({});
});

test("text that is no table gives nothing", () => {
  for (const text of ["", "Not supported on the device(s)", "0 1 2", "# gpu\n"]) {
    expect(parsePmon(text)).toEqual(new Map());
    expect([...parseDmon(text).values()].flat()).toEqual([]);
  }
});

describe("captures from ../shared/captures/public", () => {
  const ada = "ngpuexp_linux-x86_64__nvidia-geforce-rtx-4080-super__595.71.05.txt";
  const hopper = "ngpuexp_linux-x86_64__nvidia-h100-mig__590.48.01.txt";
  const turing = "ngpuexp_windows-x86_64__nvidia-geforce-rtx-2080-super__610.62.txt";

  /** The last share told in five samples. */
  test.for([
    [ada, "idle", {}],
    [ada, "load", { "0/5021": 0.02, "0/5022": 0.03 }],
    [hopper, "idle", {}],
    [hopper, "load", {}],
    [turing, "idle", {}],
    [turing, "load", { "0/12940": 0.03, "0/13820": 0.03 }],
  ] as const)("pmon: %s, %s", ([name, phase, wanted], context) => {
    const text = publicSection(name, `${phase} :: pmon`);
    if (text === undefined) return context.skip(`${publicFolder} is not here`);
    expect(Object.fromEntries(parsePmon(text))).toEqual(wanted);
  });

  test.for([
    [ada, "idle", { gpu_encoder_utilization_ratio: 0, gpu_decoder_utilization_ratio: 0 }],
    [turing, "idle", { gpu_encoder_utilization_ratio: 0, gpu_decoder_utilization_ratio: 0 }],
    [ada, "load", { gpu_encoder_utilization_ratio: 0.7, gpu_decoder_utilization_ratio: 0 }],
    [hopper, "idle", { "gpu_temperature_celsius{sensor=memory}": 48 }],
    [hopper, "load", { "gpu_temperature_celsius{sensor=memory}": 62 }],
    [turing, "load", { gpu_encoder_utilization_ratio: 1, gpu_decoder_utilization_ratio: 0 }],
  ] as const)("dmon: %s, %s", ([name, phase, wanted], context) => {
    const text = publicSection(name, `${phase} :: dmon`);
    if (text === undefined) return context.skip(`${publicFolder} is not here`);
    const read = named(parseDmon(text).get(0));
    for (const [key, value] of Object.entries(wanted)) expect(read[key]).toBeCloseTo(value, 9);
    expect(Object.keys(read)).toEqual(Object.keys(wanted));
  });
});
