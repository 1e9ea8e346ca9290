import { expect, test } from "vitest";
import type { Device } from "../model/device.ts";
import { visibleDevices } from "./visible.ts";

const device = (uuid: string, index: number, more: Partial<Device> = {}): Device => ({
  uuid,
  index,
  vendor: "nvidia",
  model: "H200",
  simulated: false,
  ...more,
});
const nvidia = [device("GPU-aaaa-0", 0), device("GPU-aaab-1", 1), device("GPU-bbbb-2", 2)];
const amd = [0, 1, 2].map((at) => device(`amd-${at}00`, at, { vendor: "amd", model: "MI300X" }));
const intel = [0, 1].map((at) => device(`intel-${at}`, at, { vendor: "intel", model: "B580" }));
const mig = [
  device("GPU-aaaa-0", 0),
  device("MIG-1111", 0, { parent: "GPU-aaaa-0" }),
  device("MIG-2222", 0, { parent: "GPU-aaaa-0" }),
];

const f = (
  devices: readonly Device[],
  env: Record<string, string>,
  want: readonly string[],
): [string, readonly Device[], Record<string, string>, readonly string[]] => [
  JSON.stringify(env),
  devices,
  env,
  want,
];

test.each([
  f(nvidia, {}, ["GPU-aaaa-0", "GPU-aaab-1", "GPU-bbbb-2"]),
  f(nvidia, { CUDA_VISIBLE_DEVICES: "" }, []),
  f(nvidia, { CUDA_VISIBLE_DEVICES: "-1" }, []),
  f(nvidia, { CUDA_VISIBLE_DEVICES: "2,0" }, ["GPU-aaaa-0", "GPU-bbbb-2"]),
  f(nvidia, { CUDA_VISIBLE_DEVICES: "1,9,0" }, ["GPU-aaab-1"]),
  f(nvidia, { CUDA_VISIBLE_DEVICES: "0,0" }, []),
  f(nvidia, { CUDA_VISIBLE_DEVICES: "GPU-bb" }, ["GPU-bbbb-2"]),
  f(nvidia, { CUDA_VISIBLE_DEVICES: "GPU-aaa" }, []),
  f(nvidia, { ROCR_VISIBLE_DEVICES: "0" }, ["GPU-aaaa-0", "GPU-aaab-1", "GPU-bbbb-2"]),
  f(mig, { CUDA_VISIBLE_DEVICES: "MIG-2222" }, ["GPU-aaaa-0", "MIG-2222"]),
  f(mig, { CUDA_VISIBLE_DEVICES: "MIG-GPU-aaaa-0/1/0" }, ["GPU-aaaa-0", "MIG-1111", "MIG-2222"]),
  f(amd, { ROCR_VISIBLE_DEVICES: "1,2", HIP_VISIBLE_DEVICES: "1" }, ["amd-200"]),
  f(amd, { CUDA_VISIBLE_DEVICES: "1" }, ["amd-100"]),
  f(amd, { CUDA_VISIBLE_DEVICES: "GPU-1234" }, ["amd-000", "amd-100", "amd-200"]),
  f(amd, { ROCR_VISIBLE_DEVICES: "" }, []),
  f(intel, { ZE_AFFINITY_MASK: "1.0,1.1" }, ["intel-1"]),
  f(intel, { ZE_AFFINITY_MASK: "" }, ["intel-0", "intel-1"]),
])("%s", (_name, devices, env, want) => {
  const { devices: seen, visibility } = visibleDevices(devices, env);
  expect(seen.map(({ uuid }) => uuid)).toEqual(want);
  expect(visibility.variables).toEqual(env);
  expect([...visibility.hidden, ...want].toSorted()).toEqual(
    devices.map(({ uuid }) => uuid).toSorted(),
  );
});

test("numbers among unlike cards are said to be uncertain", () => {
  const unlike = [device("GPU-a", 0), device("GPU-b", 1, { model: "L4" })];
  const env = { CUDA_VISIBLE_DEVICES: "0" };
  expect(visibleDevices(unlike, env).notes.join()).toContain("fastest first");
  expect(visibleDevices(unlike, { ...env, CUDA_DEVICE_ORDER: "PCI_BUS_ID" }).notes).toEqual([]);
});
