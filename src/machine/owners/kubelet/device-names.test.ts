import { expect, test } from "vitest";
import {
  cdiDeviceName,
  claimedDeviceName,
  type DeviceFacts,
  kubeletNames,
  pluginDeviceName,
} from "./device-names.ts";

const claim = "6f1c3b1e-9a55-4c6e-8f6e-2f0d6c1b7a11";
const nvidia: DeviceFacts = {
  uuid: "GPU-4f1a",
  vendor: "nvidia",
  pciBusId: "0000:1B:00.0",
  minor: 3,
};
const mig: DeviceFacts = {
  ...nvidia,
  uuid: "MIG-77aa",
  mig: { gpuInstance: "9", profileId: 19, placementStart: 2 },
};
const amd: DeviceFacts = {
  uuid: "GPU-18f68e602b8a790d",
  vendor: "amd",
  pciBusId: "0000:05:00.0",
  drmCard: 1,
  drmRender: 129,
  partitions: [{ name: "amdgpu_xcp_30", drmCard: 33, drmRender: 161 }],
};
const intel: DeviceFacts = {
  uuid: "intel-0000:03:00.0-3f2a9c01d4e5",
  vendor: "intel",
  pciBusId: "0000:03:00.0",
  drmCard: 2,
  drmRender: 130,
  pciDeviceId: 0x56a0,
};

test.each<readonly [string, string, DeviceFacts]>([
  ["NVIDIA's plugin", pluginDeviceName("nvidia.com/gpu", "GPU-4F1A"), nvidia],
  [
    "NVIDIA's plugin, time slicing",
    pluginDeviceName("nvidia.com/gpu.shared", "GPU-4f1a::3"),
    nvidia,
  ],
  ["NVIDIA's plugin, static MIG", pluginDeviceName("nvidia.com/mig-1g.18gb", "MIG-77aa"), mig],
  ["NVIDIA's plugin, MIG shared", pluginDeviceName("nvidia.com/mig-1g.18gb", "MIG-77aa::1"), mig],
  ["GKE's plugin", pluginDeviceName("nvidia.com/gpu", "nvidia3"), nvidia],
  ["GKE's plugin, shared", pluginDeviceName("nvidia.com/gpu", "nvidia3/vgpu1"), nvidia],
  ["GKE's plugin, MIG", pluginDeviceName("nvidia.com/gpu", "nvidia3/gi9"), mig],
  ["GKE's plugin, MIG shared", pluginDeviceName("nvidia.com/gpu", "nvidia3/gi9/vgpu2"), mig],
  ["NVIDIA's driver", claimedDeviceName("gpu.nvidia.com", "gpu-3"), nvidia],
  ["NVIDIA's driver by CDI", cdiDeviceName(`k8s.gpu.nvidia.com/claim=${claim}-gpu-3`), nvidia],
  ["NVIDIA's driver, MIG", claimedDeviceName("gpu.nvidia.com", "gpu-3-mig-1g18gb-19-2"), mig],
  ["NVIDIA's driver, older MIG", claimedDeviceName("gpu.nvidia.com", "gpu-3-mig-19-2-1"), mig],
  ["NVIDIA's driver, MIG+me", claimedDeviceName("gpu.nvidia.com", "gpu-3-mig-1g18gb-me-19-2"), mig],
  [
    "NVIDIA's driver, MIG by CDI",
    cdiDeviceName(`k8s.gpu.nvidia.com/claim=${claim}-gpu-3-mig-1g18gb-19-2`),
    mig,
  ],
  ["AMD's plugin", pluginDeviceName("amd.com/gpu", "0000:05:00.0"), amd],
  ["AMD's plugin, a partition", pluginDeviceName("amd.com/cpx_nps4", "amdgpu_xcp_30"), amd],
  ["AMD's plugin, time slicing", pluginDeviceName("amd.com/gpu", "0000:05:00.0-slice-2"), amd],
  ["AMD's driver, a partition", claimedDeviceName("gpu.amd.com", "gpu-33-161"), amd],
  ["AMD's driver", claimedDeviceName("gpu.amd.com", "gpu-1-129"), amd],
  ["AMD's driver by CDI", cdiDeviceName(`k8s.gpu.amd.com/claim=${claim}-gpu-1-129`), amd],
  ["Intel's plugin", pluginDeviceName("gpu.intel.com/i915", "card2-0"), intel],
  ["Intel's plugin, shared", pluginDeviceName("gpu.intel.com/xe", "card2-9"), intel],
  ["Intel's driver", claimedDeviceName("gpu.intel.com", "0000-03-00-0-0x56a0"), intel],
  ["Intel's driver by CDI", cdiDeviceName("intel.com/gpu=0000-03-00-0-0x56a0"), intel],
])("a device is found under the name of %s", (_, listed, device) => {
  const devices = [nvidia, mig, amd, intel];
  const found = devices.filter((one) => kubeletNames(one).includes(listed));
  expect(found).toEqual([device]);
});

test("a GPU and its MIG instances share no name, and a number is never taken for another vendor's", () => {
  const names = [nvidia, mig, amd, intel].flatMap((device) => kubeletNames(device));
  expect(new Set(names).size).toBe(names.length);
  expect(kubeletNames(amd)).not.toContain(claimedDeviceName("gpu.nvidia.com", "gpu-1"));
});

test("without the driver's numbers only the UUID and the address are names", () => {
  expect(kubeletNames({ uuid: "GPU-1", vendor: "nvidia" })).toEqual(["gpu-1"]);
  const unplaced = { ...mig, mig: { gpuInstance: "9" } };
  expect(kubeletNames(unplaced)).toEqual(["mig-77aa", "nvidia3/gi9"]);
});
