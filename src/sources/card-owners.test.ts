// Tests pods that hold AMD and Intel cards, listed by the kubelet by PCI address, by card number, or by the names of DRA drivers.
import path from "node:path";
import { afterEach, expect, test } from "vitest";
import { radeonTree } from "../../test/captures/amd-card.ts";
import { arcTree } from "../../test/captures/intel-card.ts";
import { frameReadings } from "../../test/captures/readings.ts";
import { prefixed, temporaryFolder, type TreeFiles, writeTree } from "../../test/captures/tree.ts";
import {
  encodePodResources,
  type FakeKubelet,
  replyWith,
  startKubelet,
} from "../../test/fixtures/machine/owners-kubelet.ts";
import { silentLog } from "../base/log.ts";
import { hostFileAccess } from "../machine/sysfs/file-access.ts";
import { openAmd } from "./amd/source.ts";
import { openIntel } from "./intel/machine.ts";
import type { PolledSource, SourceContext } from "./source.ts";

let kubelet: FakeKubelet | undefined;
afterEach(async () => {
  await kubelet?.close();
  kubelet = undefined;
});

const amd = (context: SourceContext) =>
  openAmd({ processes: false, pcie: false, tools: "never" }, context, hostFileAccess);
const intel = (context: SourceContext) => openIntel({ processes: false }, context, hostFileAccess);

async function owners(
  open: (context: SourceContext) => Promise<PolledSource>,
  tree: TreeFiles,
  resource: string,
  device: string,
): Promise<readonly string[]> {
  const kubeletSocket = path.join(temporaryFolder(), "kubelet.sock");
  const pods = [
    { pod: "train-0", namespace: "lab", containers: { main: { [resource]: [device] } } },
  ];
  kubelet = await startKubelet(kubeletSocket, replyWith(encodePodResources(pods)));
  const source = await open({
    host: "box",
    log: silentLog,
    nowMs: () => 0,
    sysfs: writeTree(tree),
    procfs: temporaryFolder(),
    kubeletSocket,
  });
  await source.read("fast", 1_000, new AbortController().signal);
  const slow = await source.read("slow", 1_000, new AbortController().signal);
  const readings = frameReadings(slow);
  return Object.keys(readings).filter(
    (name) => name.startsWith("gpu_owner_info") && readings[name] === 1,
  );
}

const held = ['gpu_owner_info{container="main",namespace="lab",pod="train-0"}'];
const claim = "6f1c3b1e-9a55-4c6e-8f6e-2f0d6c1b7a11";
const radeon = { ...radeonTree, "class/drm/card1/device/drm/renderD129/dev": "226:129" };
const arc = { ...arcTree, "class/drm/card1/device/drm/renderD130/dev": "226:130" };

test.each<readonly [string, string]>([
  ["amd.com/gpu", "0000:2d:00.0"],
  ["claim gpu.amd.com", "gpu-1-129"],
  ["claim", `k8s.gpu.amd.com/claim=${claim}-gpu-1-129`],
])("an idle AMD card has the pod that holds it as owner: %s %s", async (resource, device) => {
  expect(await owners(amd, radeon, resource, device)).toEqual(held);
});

/** In CPX mode: the second partition, and one of another GPU. */
const partitioned = {
  ...radeon,
  "devices/platform/amdgpu_xcp_30/drm/card33/dev": "226:33",
  "devices/platform/amdgpu_xcp_30/drm/renderD161/dev": "226:161",
  "devices/platform/amdgpu_xcp_31/drm/renderD162/dev": "226:162",
  ...Object.fromEntries(
    [
      [1, 129, 0x2d00],
      [2, 161, 0x2d01],
      [3, 162, 0x3500],
    ].flatMap(([node, render, location]) => [
      [`class/kfd/kfd/topology/nodes/${node}/gpu_id`, `${node}01`],
      [
        `class/kfd/kfd/topology/nodes/${node}/properties`,
        `location_id ${location}\ndomain 0\ndrm_render_minor ${render}`,
      ],
    ]),
  ),
};

test.each<readonly [string, string, readonly string[]]>([
  ["amd.com/cpx_nps1", "amdgpu_xcp_30", held],
  ["claim gpu.amd.com", "gpu-33-161", held],
  ["amd.com/cpx_nps1", "0000:2d:00.0", held],
  ["amd.com/cpx_nps1", "amdgpu_xcp_31", []],
])("a pod that holds a part of an AMD card holds the card: %s %s", async (resource, id, found) => {
  expect(await owners(amd, partitioned, resource, id)).toEqual(found);
});

test("a pod keeps a sleeping AMD card, which is not woken for it", async () => {
  const asleep = {
    ...radeon,
    ...prefixed("class/drm/card1/device", { "power/runtime_status": "suspended" }),
  };
  expect(await owners(amd, asleep, "amd.com/gpu", "0000:2d:00.0")).toEqual(held);
});

test.each<readonly [string, string]>([
  ["gpu.intel.com/i915", "card1-0"],
  ["claim gpu.intel.com", "0000-03-00-0-0xe20b"],
])("an idle Intel card has the pod that holds it as owner: %s %s", async (resource, device) => {
  expect(await owners(intel, arc, resource, device)).toEqual(held);
});

test("a card that another pod's device only resembles has no owner", async () => {
  expect(await owners(amd, radeon, "claim gpu.nvidia.com", "gpu-1")).toEqual([]);
  await kubelet?.close();
  expect(await owners(intel, arc, "example.com/card", "card1-0")).toEqual([]);
});
