import { describe, expect, test } from "vitest";
import {
  ownCapture,
  processesOf,
  publicFolder,
  publicSection,
  readingsOf,
} from "../../../../test/fixtures/sources/nvidia-smi.ts";
import { parseSmiText } from "./query-text.ts";
import { parseSmiXml } from "./query-xml.ts";
import { smiRules } from "./table.ts";
import { xmlPaths } from "./text-names.ts";

const MIB = 1_048_576;

/** What changed between the two commands of one capture: everything else must be the same in both. By hand from the text. */
const moved = {
  idle: {
    "gpu_pcie_throughput_bytes_per_second{direction=transmit}": 1_622_000,
    "gpu_pcie_throughput_bytes_per_second{direction=receive}": 402_000,
    gpu_temperature_margin_celsius: 48,
    gpu_power_watts: 133.75,
    gpu_power_average_watts: 133.75,
    gpu_power_instant_watts: 133.62,
    gpu_memory_power_watts: 45.47,
    "gpu_clock_hertz{domain=graphics}": 1980e6,
    "gpu_clock_hertz{domain=sm}": 1980e6,
    "gpu_clock_hertz{domain=video}": 1545e6,
  },
  load: {
    "gpu_pcie_throughput_bytes_per_second{direction=transmit}": 7_157_000,
    "gpu_pcie_throughput_bytes_per_second{direction=receive}": 15_675_000,
    "gpu_throttle_seconds_total{reason=power_cap}": 4.008544,
    gpu_power_watts: 692.89,
    gpu_power_average_watts: 692.89,
    gpu_power_instant_watts: 683.06,
    gpu_memory_power_watts: 116.19,
    "gpu_clock_hertz{domain=graphics}": 1455e6,
    "gpu_clock_hertz{domain=sm}": 1455e6,
    "gpu_clock_hertz{domain=video}": 1485e6,
  },
  after: {
    "gpu_pcie_throughput_bytes_per_second{direction=transmit}": 969_000,
    "gpu_pcie_throughput_bytes_per_second{direction=receive}": 565_000,
    gpu_power_watts: 83.01,
    gpu_power_average_watts: 83.01,
    gpu_power_instant_watts: 82.65,
    gpu_memory_power_watts: 44.93,
  },
} as const;

test.for(["idle", "load", "after"] as const)(
  "%s.q.txt tells what %s.q.xml tells, absences and all",
  (phase) => {
    const [text, ...others] = parseSmiText(ownCapture(`${phase}.q.txt`));
    const [xml] = parseSmiXml(ownCapture(`${phase}.q.xml`));
    expect(others).toEqual([]);
    expect(text?.device).toEqual(xml?.device);
    expect(text?.processes).toEqual(xml?.processes);
    expect(readingsOf(text)).toEqual({ ...readingsOf(xml), ...moved[phase] });
  },
);

test("every place in the XML that the rules read has a line in the text", () => {
  const known = new Set(xmlPaths.values());
  const unread = smiRules.filter(
    ({ xml, sum = [] }) => ![...xml, ...sum].some((path) => known.has(path)),
  );
  expect(unread).toEqual([]);
});

const instances = `Driver Version                        : 590.48.01
GPU 00000000:C1:00.0
    Product Name                      : NVIDIA Test
    GPU UUID                          : GPU-a
    MIG Device
        GPU Instance ID               : 2
        Compute Instance ID           : 0
        Shared FB Memory Usage
            Total                     : 100 MiB
            Used                      : 11 MiB
    Power Readings
        Power Draw                    : 12.50 W
        Enforced Power Limit          : 70.00 W
    Clocks Throttle Reasons
        SW Power Cap                  : Active
    Temperature
        GPU Slowdown Temp             : 93 C
    Processes
        GPU instance ID               : 2
        Process ID                    : 7
            Type                      : C+G
            Name                      : odd : name
            Used GPU Memory           : 5 MiB
`;

test("instances, older names and processes in an instance are read as in the XML", () => {
  const [card, instance, ...others] = parseSmiText(instances);
  expect(others).toEqual([]);
  expect(card?.device).toMatchObject({
    uuid: "GPU-a",
    pciBusId: "0000:c1:00.0",
    driver: "590.48.01",
  });
  expect(readingsOf(card)).toMatchObject({
    gpu_power_watts: 12.5,
    gpu_power_limit_watts: 70,
    "gpu_temperature_limit_celsius{limit=slowdown}": 93,
    "gpu_throttle_active{reason=power_cap}": 1,
  });
  expect(instance?.device).toMatchObject({ uuid: "MIG-GPU-a/2/0", parent: "GPU-a" });
  expect(readingsOf(instance)).toEqual({
    gpu_memory_total_bytes: 100 * MIB,
    gpu_memory_used_bytes: 11 * MIB,
  });
  expect(processesOf(instance)).toEqual([
    { pid: 7, kind: "both", memoryBytes: 5 * MIB, name: "odd", gpuInstance: "2" },
  ]);
});

test("processes that are not told are not none", () => {
  const [card] = parseSmiText("GPU 0000:C1:00.0\n    GPU UUID : GPU-a\n");
  expect(card?.processes).toBe("unsupported");
});

test("text that is no answer gives no GPU", () => {
  for (const text of ["", "No devices were found", "GPU 0", "<nvidia_smi_log/>", " : ", "\0"])
    expect(parseSmiText(text)).toEqual([]);
});

const captures: readonly (readonly [
  string,
  string,
  Record<string, number | string | undefined>,
])[] = [
  [
    "ngpuexp_linux-x86_64__nvidia-geforce-rtx-4080-super__595.71.05.txt",
    "load",
    {
      gpu_utilization_ratio: 0.07,
      gpu_encoder_utilization_ratio: 0.72,
      gpu_memory_used_bytes: 1474 * MIB,
      gpu_memory_visible_used_bytes: 35 * MIB,
      gpu_power_watts: 84.03,
      gpu_power_instant_watts: 86.41,
      gpu_power_limit_watts: 320,
      gpu_power_limit_max_watts: 400,
      "gpu_clock_hertz{domain=memory}": 11_251e6,
      "gpu_temperature_limit_celsius{limit=shutdown}": 101,
      "gpu_temperature_limit_celsius{limit=slowdown}": 96,
      "gpu_temperature_limit_celsius{limit=target}": 84,
      "gpu_temperature_celsius{sensor=memory}": "unsupported",
      "gpu_fan_speed_ratio{fan=1}": 0,
      "gpu_pcie_throughput_bytes_per_second{direction=receive}": 1_436_230_000,
      gpu_performance_state: 2,
      gpu_ecc_enabled: "unsupported",
    },
  ],
  [
    "ngpuexp_linux-x86_64__nvidia-h100-mig__590.48.01.txt",
    "load",
    {
      gpu_utilization_ratio: "unsupported",
      gpu_power_watts: 432.21,
      gpu_memory_power_watts: 93.98,
      gpu_pcie_replays_total: 9,
      "gpu_temperature_celsius{sensor=memory}": 58,
      "gpu_temperature_limit_celsius{limit=slowdown}": undefined,
      gpu_temperature_margin_celsius: 24,
      gpu_mig_enabled: 1,
    },
  ],
  [
    "ngpuexp_windows-x86_64__nvidia-geforce-rtx-2080-super__610.62.txt",
    "idle",
    {
      gpu_memory_used_bytes: 797 * MIB,
      gpu_power_watts: 37.21,
      gpu_power_instant_watts: 37.21,
      gpu_power_limit_watts: 250,
      gpu_power_limit_default_watts: 250,
      gpu_power_limit_min_watts: 105,
      "gpu_temperature_limit_celsius{limit=target}": 84,
      "gpu_fan_speed_ratio{fan=1}": 0.38,
      "gpu_throttle_seconds_total{reason=power_cap}": 824_547_036 * 1e-6,
    },
  ],
  [
    "ngpuexp_linux-x86_64__nvidia-geforce-rtx-4080-super__595.71.05.txt",
    "idle",
    {
      gpu_utilization_ratio: 0,
      gpu_memory_used_bytes: 596 * MIB,
      gpu_power_watts: 25.92,
      "gpu_clock_hertz{domain=sm}": 210e6,
      gpu_performance_state: 8,
    },
  ],
  [
    "ngpuexp_linux-x86_64__nvidia-h100-mig__590.48.01.txt",
    "idle",
    {
      gpu_memory_used_bytes: 59 * MIB,
      gpu_power_watts: 71.27,
      gpu_memory_power_watts: 44,
      "gpu_clock_hertz{domain=sm}": 345e6,
      "gpu_fan_speed_ratio{fan=1}": "unsupported",
    },
  ],
  [
    "ngpuexp_windows-x86_64__nvidia-geforce-rtx-2080-super__610.62.txt",
    "load",
    {
      gpu_utilization_ratio: 0.07,
      gpu_encoder_utilization_ratio: 1,
      gpu_memory_used_bytes: 1366 * MIB,
      "gpu_pcie_throughput_bytes_per_second{direction=receive}": 1_042_578_000,
      "gpu_temperature_limit_celsius{limit=slowdown}": 97,
      gpu_performance_state: 2,
    },
  ],
];

describe("captures from ../shared/captures/public", () => {
  test.for(captures)("%s, %s", ([name, phase, wanted], context) => {
    const text = publicSection(name, `${phase} :: query (-q)`);
    if (text === undefined) return context.skip(`${publicFolder} is not here`);
    const read = readingsOf(parseSmiText(text)[0]);
    expect(Object.fromEntries(Object.keys(wanted).map((key) => [key, read[key]]))).toEqual(wanted);
  });

  test("an H100 in MIG mode has four instances, three processes in the first", (context) => {
    const text = publicSection(captures[1]?.[0] ?? "", "load :: query (-q)");
    if (text === undefined) return context.skip(`${publicFolder} is not here`);
    const [card, ...parts] = parseSmiText(text);
    expect(processesOf(card).map(({ pid }) => pid)).toEqual([21_180, 21_181, 21_198]);
    expect(parts.map((one) => readingsOf(one)["gpu_memory_used_bytes"])).toEqual(
      [11_091, 17, 9, 9].map((mib) => mib * MIB),
    );
    expect(parts.map((one) => processesOf(one).length)).toEqual([3, 0, 0, 0]);
    expect(processesOf(parts[0])[2]?.memoryBytes).toBe(7484 * MIB);
  });

  test("on Windows memory by process is not told, and no number", (context) => {
    const text = publicSection(captures[2]?.[0] ?? "", "idle :: query (-q)");
    if (text === undefined) return context.skip(`${publicFolder} is not here`);
    const processes = processesOf(parseSmiText(text)[0]);
    expect(processes).toHaveLength(19);
    expect(processes[0]).toEqual({
      pid: 2140,
      kind: "both",
      memoryBytes: Number.NaN,
      name: "dwm.exe",
    });
    expect(parseSmiText(text)[0]?.device.driver).toBe("610.62");
  });
});
