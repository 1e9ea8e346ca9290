// Tests how the NVIDIA source handles NVML's failures: each return code, a lost GPU, a missing or hanging driver, slow calls.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";

import { examine } from "../../src/sources/nvidia/doctor.ts";
import { eventually, read, useStub } from "./harness.ts";

const nvml = useStub();
const around = { module: true, control: "open", container: false } as const;

test("sentinels and values no card can have are failed, never shown", async () => {
  nvml.stub.script(
    "gpus 1",
    "*.power 4294967295",
    "*.utilization 655",
    "*.temperature 4000",
    "*.pstate 32",
    "*.field_82 0",
    "*.clock_sm 4294967295",
  );
  const source = nvml.open();
  const values = await read(source, "fast");
  expect([
    values.get("0 gpu_power_watts{}"),
    values.get("0 gpu_utilization_ratio{}"),
    values.get("0 gpu_temperature_celsius{sensor=edge}"),
    values.get("0 gpu_performance_state{}"),
    values.get("0 gpu_temperature_celsius{sensor=memory}"),
    values.get("0 gpu_clock_hertz{domain=sm}"),
  ]).toEqual(Array.from({ length: 6 }, () => "failed"));
  const { layout, rejected = [] } = await source.read("fast", 2_000);
  expect(
    rejected
      .map(({ slot, value, reason }) => `${layout.series[slot]?.metric.name} ${value} ${reason}`)
      .sort(),
  ).toEqual(
    expect.arrayContaining([
      "gpu_clock_hertz 4294967295 sentinel",
      "gpu_power_watts 4294967295 sentinel",
      "gpu_temperature_celsius 4000 out_of_range",
      "gpu_utilization_ratio 6.55 out_of_range",
    ]),
  );
});

test.for([15, 16, 28])(
  "a GPU lost with code %i is down with its readings failed, the others go on, and it comes back",
  async (code) => {
    nvml.stub.script("gpus 2");
    const source = nvml.open();
    expect((await read(source, "fast")).get("1 gpu_up{}")).toBe(1);
    const lost = ["utilization", "power", "memory", "memory_v1", "temperature", "fields"].map(
      (key) => `1.${key}.rc ${code}`,
    );
    nvml.stub.script("gpus 2", ...lost);
    const down = await read(source, "fast");
    expect(down.get("1 gpu_up{}")).toBe(0);
    expect(down.get("1 gpu_power_watts{}")).toBe("failed");
    expect(down.get("0 gpu_up{}")).toBe(1);
    expect(down.get("0 gpu_power_watts{}")).toBe(250);
    const reasons = source.devices().map(({ uuid }) => source.lossOf(uuid));
    expect(reasons).toEqual([undefined, expect.stringMatching(/^NVML reports [A-Z_]+$/)]);
    nvml.stub.script("gpus 2");
    await eventually(source, "fast", "1 gpu_up{}", 1);
    expect((await read(source, "fast")).get("1 gpu_power_watts{}")).toBe(250);
  },
);

test.for([1, 9, 18])(
  "a driver that goes with code %i takes its GPUs down, and brings them back",
  { timeout: 20_000 },
  async (code) => {
    nvml.stub.script("gpus 2");
    const source = nvml.open();
    await read(source, "fast");
    nvml.stub.script("gpus 2", `*.power.rc ${code}`, `init.rc ${code}`);
    const gone = await read(source, "fast");
    expect([
      gone.get("0 gpu_up{}"),
      gone.get("1 gpu_up{}"),
      gone.get("1 gpu_power_watts{}"),
    ]).toEqual([0, 0, "failed"]);
    expect(source.devices()).toHaveLength(2);
    for (const { uuid } of source.devices())
      expect(source.lossOf(uuid)).toMatch(/^the driver is gone: NVML reports [A-Z_]+$/);
    nvml.stub.script("gpus 2", "1.power 99000");
    await eventually(source, "fast", "1 gpu_power_watts{}", 99);
    expect((await read(source, "fast")).get("0 gpu_up{}")).toBe(1);
  },
);

test("a driver that is not there yet is said clearly, and picked up when it comes", async () => {
  nvml.stub.script("gpus 2", "init.rc 9");
  const source = nvml.open();
  await expect(source.read("fast", 1_000)).rejects.toThrow("init: DRIVER_NOT_LOADED");
  expect(source.devices()).toEqual([]);
  nvml.stub.script("gpus 2");
  await eventually(source, "fast", "0 gpu_up{}", 1);
  expect(source.devices()).toHaveLength(2);
});

test("a call that never returns leaves its read open and answers it when the driver comes back", async () => {
  nvml.stub.script("gpus 2");
  const source = nvml.open();
  await read(source, "fast");
  nvml.stub.script("gpus 2", "1.power.hang 1");
  let ended = false;
  const stuck = read(source, "fast").finally(() => (ended = true));
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(ended).toBe(false);
  nvml.stub.script("gpus 2", "1.power 301000");
  expect((await stuck).get("1 gpu_power_watts{}")).toBe(301);
});

test(
  "slow calls keep clear of the fast passes and are made one at a time between them",
  { timeout: 20_000 },
  async () => {
    const dear = ["energy.sleep 4", "pcie_transmit.sleep 21", "pcie_receive.sleep 21"];
    nvml.stub.script("gpus 4", ...dear.map((line) => `*.${line}`));
    const source = nvml.open();
    await source.read("fast", 0);
    await source.read("slow", 0);
    // Passes at 10 Hz: the first ones establish the schedule, the later ones are measured.
    const pass = async (times: number): Promise<void> => {
      for (let turn = 0; turn < times; turn++) {
        await new Promise((resolve) => setTimeout(resolve, 100));
        await source.read("fast", 0);
      }
    };
    await pass(5);
    nvml.stub.logCalls();
    await pass(25);
    const slowKeys = new Set(["energy", "pcie_transmit", "pcie_receive"]);
    let [passMs, between, most, all] = [0, 0, 0, 0];
    for (const { timeMs, gpu, key } of nvml.stub.calls()) {
      if (slowKeys.has(key)) {
        between++;
        all++;
      }
      if (key !== "utilization" || gpu !== 0) continue;
      // A busy machine may delay a pass; the longer gap has room for more calls.
      if (timeMs - passMs < 150) most = Math.max(most, between);
      [passMs, between] = [timeMs, 0];
    }
    // Eight or nine calls are due in these 2.5 s, depending on the start of the passes within their schedule.
    expect(all).toBeGreaterThan(6);
    expect(most).toBe(1);
  },
);

test(
  "a dear call leaves the fast pass and is still fresh on its page",
  { timeout: 15_000 },
  async () => {
    nvml.stub.script("gpus 1", "*.margin.sleep 2", "*.margin 30");
    const source = nvml.open();
    await source.read("fast", 0);
    nvml.stub.logCalls();
    for (let turn = 0; turn < 20; turn++) await source.read("fast", 0);
    expect(nvml.stub.calls().filter(({ key }) => key === "margin").length).toBeLessThan(3);
    nvml.stub.script("gpus 1", "*.margin.sleep 2", "*.margin 25");
    await eventually(source, "fast", "0 gpu_temperature_margin_celsius{}", 25);
  },
);

test("doctor says where the library is not, and what to do", async () => {
  const connection = nvml.connect(["libnvidia-ml-that-is-not-there.so.1"]);
  const finding = await examine(connection, around);
  await connection.close();
  expect(finding.state).toBe("failed");
  expect(finding.fix).toContain("nvidia-utils");
  const none = nvml.connect(["libnvidia-ml-that-is-not-there.so.1"]);
  expect(
    await examine(none, { module: false, control: "missing", container: false }),
  ).toMatchObject({ state: "not-found" });
  await none.close();
});

test.for([
  [[], "found", "2 × NVIDIA Stub 80GB (driver 580.95.05, CUDA 13.0)"],
  [["init.rc 9"], "failed", "kernel module is not loaded"],
  [["init.rc 18"], "failed", "different versions"],
  [["init.rc 4"], "denied", "/dev/nvidiactl"],
  [["init.rc 999"], "failed", "UNKNOWN"],
] as const)("doctor with %j says %s: %s", async ([lines, state, says]) => {
  nvml.stub.script("gpus 2", ...lines);
  const connection = nvml.connect();
  const finding = await examine(connection, around);
  await connection.close();
  expect(finding.state).toBe(state);
  expect(finding.says).toContain(says);
  expect(finding.fix === undefined).toBe(state === "found");
});

test("a GPU that sleeps is left asleep: NVML is not even initialised until something else has woken it", async () => {
  const root = mkdtempSync(path.join(tmpdir(), "gpulse-asleep-"));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const folder = path.join(root, "bus/pci/devices/0000:10:00.0");
  mkdirSync(path.join(folder, "power"), { recursive: true });
  const put = (name: string, text: string): void =>
    writeFileSync(path.join(folder, name), `${text}\n`);
  put("vendor", "0x10de");
  put("class", "0x030000");
  put("power/control", "auto");
  put("power/runtime_status", "suspended");
  nvml.stub.script("gpus 1");
  nvml.stub.logCalls();
  const source = nvml.open(false, root);
  for (let turn = 0; turn < 3; turn++) expect((await read(source, "fast")).size).toBe(0);
  expect(nvml.stub.calls()).toEqual([]);
  put("power/runtime_status", "active");
  const awake = await read(source, "fast");
  expect([awake.get("0 gpu_up{}"), awake.get("0 gpu_asleep{}")]).toEqual([1, 0]);
});
