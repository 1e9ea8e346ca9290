// GPU owners for every way in which Kubernetes assigns GPUs to pods: the real API server and scheduler place pods and
// allocate claims, and a real agent reads the vendor's interface and the kubelet's list. The pods run nothing, which is
// the case of held but unused GPUs.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from "vitest";

import { EngineMissingError, orSkip } from "../../engines/cache.ts";
import { type RunningKubernetes, startKubernetes } from "../../engines/kubernetes.ts";
import { ensureBuild, startAgent } from "../../engines/program.ts";
import { toolOrSkip } from "../../engines/tools.ts";
import { waitUntil } from "../../engines/wait.ts";
import { type TreeFiles, writeTree } from "../captures/tree.ts";
import { buildStub, type Stub } from "../nvml-stub/stub.ts";
import { type PluginOptions, startRegisteredPlugin } from "./kubernetes-device-plugin.ts";
import {
  arcCards,
  busId,
  GPUS,
  gpuUuid,
  migPlugin,
  migUuid,
  numbers,
  ownersOn,
  radeonCards,
  sharedTwice,
} from "./kubernetes-gpus.ts";
import {
  addClaimableDevices,
  addNode,
  claimOf,
  gpuPod,
  NAMESPACE,
  PODS,
  startNodeKubelet,
} from "./kubernetes-lab.ts";

let kubernetes: RunningKubernetes | undefined;
let stub: Stub | undefined;
let missing: string | undefined;

beforeAll(async () => {
  await ensureBuild();
  try {
    kubernetes = await startKubernetes();
  } catch (error) {
    if (!(error instanceof EngineMissingError)) throw error;
    missing = error.message;
    return;
  }
  await kubernetes.create("/api/v1/namespaces", { metadata: { name: NAMESPACE } });
  stub = await buildStub();
}, 300_000);
afterAll(async () => {
  stub?.remove();
  await kubernetes?.stop();
});
beforeEach((context) => {
  if (missing !== undefined) context.skip(missing);
  toolOrSkip(context, "gcc");
});

interface Mode {
  readonly name: string;
  /** The kubelet's or scheduler's ids of the GPUs, each with its `uuid` or `pci_bus_id`. */
  readonly devices: readonly (readonly [id: string, gpu: string])[];
  /** The device plugin's resource; absent for a DRA driver. */
  readonly resource?: string;
  readonly cdiOnly?: boolean;
  readonly script?: readonly string[];
  readonly sysfs?: TreeFiles;
  readonly source?: string;
}

// Minor numbers are in the reverse order of the driver's list, as on some machines.
const minors = numbers.map((index) => `${index}.minor ${GPUS - 1 - index}`);
const slices = numbers.flatMap((index) => [0, 1].map((slice) => [index, slice] as const));

const modes: readonly Mode[] = [
  {
    name: "whole GPUs by NVIDIA's device plugin",
    resource: "nvidia.com/gpu",
    devices: numbers.map((index) => [gpuUuid(index), gpuUuid(index)]),
  },
  {
    name: "whole GPUs by AMD's device plugin",
    resource: "amd.com/gpu",
    source: "amd:",
    sysfs: radeonCards,
    devices: numbers.map((index) => [busId(index), busId(index)]),
  },
  {
    name: "whole GPUs by Intel's device plugin",
    resource: "gpu.intel.com/xe",
    source: "intel:",
    sysfs: arcCards,
    devices: numbers.map((index) => [`card${index}-0`, busId(index)]),
  },
  {
    name: "time slicing",
    resource: "nvidia.com/gpu",
    devices: slices.map(([index, slice]) => [`${gpuUuid(index)}::${slice}`, gpuUuid(index)]),
  },
  {
    name: "MPS",
    resource: "nvidia.com/gpu.shared",
    devices: slices.map(([index, slice]) => [`${gpuUuid(index)}::${slice}`, gpuUuid(index)]),
  },
  {
    name: "static MIG",
    resource: "nvidia.com/mig-1g.10gb",
    script: ["gpus 1", `mig 0 ${GPUS}`],
    devices: numbers.map((place) => [migUuid(place), migUuid(place)]),
  },
  {
    name: "GPUs claimed by DRA",
    cdiOnly: true,
    script: [`gpus ${GPUS}`, ...minors],
    devices: numbers.map((index) => [`gpu-${GPUS - 1 - index}`, gpuUuid(index)]),
  },
  {
    name: "MIG instances claimed by DRA",
    script: ["gpus 1", `mig 0 ${GPUS}`],
    devices: numbers.map((place) => [`gpu-0-mig-1g10gb-19-${place}`, migUuid(place)]),
  },
  {
    name: "AMD GPUs claimed by DRA",
    source: "amd:",
    sysfs: radeonCards,
    devices: numbers.map((index) => [`gpu-${index}-${128 + index}`, busId(index)]),
  },
];

function started(): { readonly cluster: RunningKubernetes; readonly nvml: Stub } {
  if (kubernetes === undefined || stub === undefined) throw new Error("BUG: nothing was started");
  return { cluster: kubernetes, nvml: stub };
}

/** Assigns each device to a pod, then deletes half of the pods: both times the agent's owners equal the holders. */
async function expectOwners(mode: Mode, folder: string): Promise<void> {
  const { cluster, nvml } = started();
  const node = path.basename(folder).toLowerCase();
  const driver = mode.source === "amd:" ? "gpu.amd.com" : "gpu.nvidia.com";
  const ids = mode.devices.map(([id]) => id);
  const plugin = mode.resource === undefined ? {} : { [mode.resource]: ids };
  await addNode(cluster, { name: node, plugin });
  if (mode.resource === undefined) await addClaimableDevices(cluster, node, driver, ids);

  const socket = path.join(folder, "kubelet.sock");
  const kubelet = await startNodeKubelet(cluster, {
    socket,
    node: { name: node, plugin },
    ...(mode.cdiOnly === true ? { cdiOnly: true } : {}),
  });
  onTestFinished(() => kubelet.close());

  nvml.script(...(mode.script ?? [`gpus ${GPUS}`]));
  const sysfs =
    mode.sysfs === undefined ? [] : ["--sysfs", writeTree(mode.sysfs, path.join(folder, "sys"))];
  const source = mode.source ?? `nvidia:?library=${nvml.library}&slow-every=1s`;
  const where = ["--kubelet-socket", socket, "--procfs", folder, ...sysfs];
  nvml.logCalls();
  const agent = await startAgent(["--source", source, "--host-name", node, ...where]);
  onTestFinished(() => agent.stop());
  // The agent reads these GPUs through NVML, as the recorded calls show.
  const calls = new Set(nvml.calls().map(({ key }) => key));
  const isRead = ["count", "handle", "uuid", "power"].every((key) => calls.has(key));
  expect(isRead, [...calls].join(" ")).toBe(mode.source === undefined);

  const names = ids.map((_, index) => `${node}-${index}`);
  for (const name of names) {
    const resources =
      mode.resource === undefined
        ? { claims: [{ name: "gpu" }] }
        : { limits: { [mode.resource]: "1" } };
    const place = { nodeSelector: { "kubernetes.io/hostname": node } };
    await cluster.create(
      PODS,
      gpuPod(name, resources, mode.resource === undefined ? claimOf(node) : place),
    );
  }
  const gpus = new Map(mode.devices);
  const expected = (): Record<string, string[]> => {
    const owners: Record<string, string[]> = {};
    for (const { device, pod } of kubelet.holdings()) {
      const gpu = gpus.get(device.replace(/^.*=[0-9a-f-]{36}-(?=gpu)/, "")) ?? device;
      owners[gpu] = [...(owners[gpu] ?? []), pod].sort();
    }
    return owners;
  };
  const settled = async (pods: number): Promise<void> => {
    await waitUntil({ what: `${pods} pods to hold devices`, timeoutMs: 60_000 }, async () =>
      kubelet.holdings().length === pods ? true : undefined,
    );
    await waitUntil({ what: `the owners of ${pods} pods`, timeoutMs: 30_000 }, async () => {
      const page = await (await fetch(`${agent.url}/metrics`)).text();
      expect(ownersOn(page)).toEqual(expected());
      return true;
    });
  };
  await settled(ids.length);
  expect(Object.values(expected()).flat().sort()).toEqual(names.toSorted());

  // Half of the pods end: their GPUs have no owner any more, the others keep theirs.
  const ending = names.filter((_, index) => index % 2 === 0);
  for (const name of ending) await cluster.api("DELETE", `${PODS}/${name}`);
  await settled(ids.length - ending.length);
}

function nodeFolder(): string {
  const folder = mkdtempSync(path.join(tmpdir(), "gpulse-owners-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

test.each(modes)(
  "$name: every GPU's owner is the pod that holds it",
  async (mode) => expectOwners(mode, nodeFolder()),
  180_000,
);

const pluginModes: readonly (Pick<Mode, "name" | "script"> &
  Pick<PluginOptions, "args" | "config" | "migMinors"> & {
    readonly resource: string;
    readonly count: number;
  })[] = [
  { name: "whole GPUs", resource: "nvidia.com/gpu", count: GPUS },
  {
    name: "time slicing",
    resource: "nvidia.com/gpu",
    count: 2 * GPUS,
    config: sharedTwice("timeSlicing: { renameByDefault: false"),
  },
  {
    name: "MPS",
    resource: "nvidia.com/gpu.shared",
    count: 2 * GPUS,
    config: sharedTwice("mps: { renameByDefault: true"),
  },
  {
    name: "static MIG",
    resource: "nvidia.com/mig-1g.10gb",
    count: GPUS,
    ...migPlugin,
  },
];

test.for(pluginModes)(
  "$name, named by NVIDIA's own device plugin: every GPU's owner is the pod that holds it",
  { timeout: 180_000 },
  async ({ count, resource, script = [`gpus ${GPUS}`], ...mode }, context) => {
    const { nvml } = started();
    const folder = nodeFolder();
    nvml.script(...script);
    const plugin = await orSkip(
      context,
      startRegisteredPlugin({ ...mode, folder, library: nvml.library }),
    );
    onTestFinished(() => plugin.close());
    expect([plugin.resource, plugin.devices.length]).toEqual([resource, count]);
    // The GPU that a container with that device would see, from the plugin's response.
    const devices = await Promise.all(
      plugin.devices.map(async (id) => [id, await plugin.allocate(id)] as const),
    );
    expect(devices.filter(([, gpu]) => !/^(GPU|MIG)-/.test(gpu))).toEqual([]);
    await expectOwners({ ...mode, script, resource, devices }, folder);
  },
);
