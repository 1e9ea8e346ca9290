// GPU owners from a real kubelet's PodResources API: the device plugins of NVIDIA and Intel and a DRA driver register with it, the
// scheduler places pods, the kubelet allocates the devices. The expected owners come from the kubelet's checkpoint and from the
// claims at the API server, not from the API that the agent reads.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from "vitest";

import { EngineMissingError, orSkip } from "../../engines/cache.ts";
import { startDevicePlugin } from "../../engines/device-plugin.ts";
import { startDraDriver } from "../../engines/dra-driver.ts";
import { startIntelDevicePlugin } from "../../engines/intel-device-plugin.ts";
import { type RunningKubelet, startKubelet } from "../../engines/kubelet.ts";
import { type RunningKubernetes, startKubernetes } from "../../engines/kubernetes.ts";
import type { RunningProcess } from "../../engines/process.ts";
import { ensureBuild, type RunningAgent, startAgent } from "../../engines/program.ts";
import { toolOrSkip } from "../../engines/tools.ts";
import { waitUntil } from "../../engines/wait.ts";
import { writeTree } from "../captures/tree.ts";
import { buildStub, type Stub } from "../nvml-stub/stub.ts";
import {
  arcCards,
  busId,
  GPUS,
  gpuUuid,
  migPlugin,
  numbers,
  ownersOn,
  sharedTwice,
} from "./kubernetes-gpus.ts";
import { claimOf, gpuPod, NAMESPACE, type Pod, PODS } from "./kubernetes-lab.ts";

let kubernetes: RunningKubernetes | undefined;
let stub: Stub | undefined;
let missing: string | undefined;

beforeAll(async () => {
  await ensureBuild();
  try {
    kubernetes = await startKubernetes(true);
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

interface NodeLab {
  readonly cluster: RunningKubernetes;
  readonly nvml: Stub;
  readonly node: string;
  readonly folder: string;
  readonly kubelet: RunningKubelet;
  /** The plugins and drivers on it. */
  readonly processes: RunningProcess[];
}

/** A node with a kubelet, and the stub's GPUs by the script. */
async function openNode(
  context: { skip(note: string): never },
  script: readonly string[] = [`gpus ${GPUS}`],
): Promise<NodeLab> {
  if (kubernetes === undefined || stub === undefined) throw new Error("BUG: nothing was started");
  stub.script(...script);
  const folder = mkdtempSync(path.join(tmpdir(), "gpk-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const node = path.basename(folder).toLowerCase();
  const kubelet = await orSkip(context, startKubelet(kubernetes, { node, folder }));
  onTestFinished(async () => {
    await kubernetes?.api("DELETE", `/api/v1/nodes/${node}`);
    await kubelet.stop();
  });
  return { cluster: kubernetes, nvml: stub, node, folder, kubelet, processes: [] };
}

/** Waits until the node offers the plugin's devices to the scheduler. */
async function offered(
  { cluster, node, kubelet, processes }: NodeLab,
  plugin: RunningProcess,
  resource: string,
  count: number,
): Promise<void> {
  onTestFinished(async () => void (await plugin.stop()));
  processes.push(plugin);
  const giveUp = (): string | undefined =>
    plugin.exited() === undefined
      ? undefined
      : `${plugin.output().slice(-2_000)}\n${kubelet.output().slice(-2_000)}`;
  const what = { what: `${count} ${resource} on the node`, timeoutMs: 90_000, giveUp };
  await waitUntil(what, async () => {
    const { body } = await cluster.api<{
      status: { allocatable?: Readonly<Record<string, string>> };
    }>("GET", `/api/v1/nodes/${node}`);
    return body.status.allocatable?.[resource] === String(count) ? true : undefined;
  });
}

async function watchOwners(lab: NodeLab, ...args: readonly string[]): Promise<RunningAgent> {
  const where = ["--kubelet-socket", lab.kubelet.podResourcesSocket, "--procfs", lab.folder];
  const agent = await startAgent([...args, "--host-name", lab.node, ...where]);
  onTestFinished(() => agent.stop());
  return agent;
}

const nvidia = ({ nvml }: NodeLab): readonly string[] => [
  "--source",
  `nvidia:?library=${nvml.library}&slow-every=1s`,
];

async function expectPage(
  agent: RunningAgent,
  what: string,
  expected: Readonly<Record<string, readonly string[]>>,
  holder: "pod" | "container" = "pod",
): Promise<void> {
  await waitUntil({ what, timeoutMs: 60_000 }, async () => {
    const page = await (await fetch(`${agent.url}/metrics`)).text();
    expect(ownersOn(page, holder)).toEqual(expected);
    return true;
  });
}

/** A pod on the node; it mounts no token. */
const podOf = (
  { node }: NodeLab,
  name: string,
  containers: readonly object[],
  spec: object = {},
): unknown =>
  gpuPod(
    name,
    {},
    {
      nodeSelector: { "kubernetes.io/hostname": node },
      automountServiceAccountToken: false,
      restartPolicy: "Never",
      containers: containers.map((one) => ({ image: "train", ...one })),
      ...spec,
    },
  );

async function podsOn({ cluster, node }: NodeLab): Promise<readonly Pod[]> {
  const at = `${PODS}?fieldSelector=spec.nodeName%3D${node}`;
  const { body } = await cluster.api<{ items: readonly Pod[] }>("GET", at);
  return body.items;
}

async function running(lab: NodeLab, count: number): Promise<readonly Pod[]> {
  const what = { what: `${count} running pods`, timeoutMs: 90_000 };
  return waitUntil(what, async () => {
    const pods = await podsOn(lab);
    const up = pods.filter(({ status }) => status.phase === "Running");
    if (up.length === count) return up;
    const words = lab.processes.map((one) => one.output().slice(-3_000)).join("\n");
    const states = pods.map(({ metadata, status }) => `${metadata.name} ${JSON.stringify(status)}`);
    throw new Error(`${states.join("\n")}\n${lab.kubelet.output().slice(-3_000)}\n${words}`);
  });
}

/** The pods of each GPU by the kubelet's checkpoint. */
function checkpointed(
  { kubelet }: NodeLab,
  pods: readonly Pod[],
  gpuOf: (device: string) => string,
): Record<string, string[]> {
  const names = new Map(pods.map(({ metadata }) => [metadata.uid, metadata.name]));
  const owners: Record<string, string[]> = {};
  for (const [uid, devices] of kubelet.checkpoint())
    for (const device of devices) {
      const name = names.get(uid);
      if (name !== undefined)
        // An init container's devices are listed again for the container that uses them afterwards.
        owners[gpuOf(device)] = [...new Set([...(owners[gpuOf(device)] ?? []), name])].sort();
    }
  return owners;
}

/** Gives each device to a pod, restarts the kubelet, and deletes half of the pods: the owners are right each time. */
async function expectPluginOwners(
  lab: NodeLab,
  agent: RunningAgent,
  resource: string,
  count: number,
  gpuOf: (device: string) => string,
): Promise<void> {
  const { cluster, node, kubelet } = lab;
  const limits = { resources: { limits: { [resource]: "1" } } };
  const names = Array.from({ length: count }, (_, index) => `${node}-${index}`);
  for (const name of names)
    await cluster.create(PODS, podOf(lab, name, [{ name: "main", ...limits }]));
  const pods = await running(lab, count);
  const expected = checkpointed(lab, pods, gpuOf);
  expect(Object.values(expected).flat().sort()).toEqual(names.toSorted());
  await expectPage(agent, `the owners of ${count} pods`, expected);

  await kubelet.kill();
  await expectPage(agent, "no owner without a kubelet", {});
  await kubelet.start();
  await expectPage(agent, "the same owners after the kubelet's restart", expected);

  const ending = names.filter((_, index) => index % 2 === 0);
  for (const name of ending) await cluster.api("DELETE", `${PODS}/${name}`);
  await waitUntil({ what: "the deleted pods to be gone", timeoutMs: 60_000 }, async () =>
    (await podsOn(lab)).length === count - ending.length ? true : undefined,
  );
  const rest = pods.filter(({ metadata }) => !ending.includes(metadata.name));
  await expectPage(agent, "the owners of the rest", checkpointed(lab, rest, gpuOf));
}

test.for([
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
  { name: "static MIG", resource: "nvidia.com/mig-1g.10gb", count: GPUS, ...migPlugin },
])(
  "$name by NVIDIA's device plugin and a kubelet: every GPU's owner is the pod that the kubelet gave it to",
  { timeout: 600_000 },
  async ({ name: _, resource, count, ...mode }, context) => {
    const { script, ...options }: { script?: readonly string[] } & Omit<typeof mode, "script"> =
      mode;
    const lab = await openNode(context, script);
    const folder = path.join(lab.folder, "plugin");
    mkdirSync(folder);
    const kubelet = path.join(lab.kubelet.folder, "device-plugins");
    const { library } = lab.nvml;
    const plugin = await orSkip(
      context,
      startDevicePlugin({ ...options, kubelet, folder, library }),
    );
    await offered(lab, plugin, resource, count);
    const agent = await watchOwners(lab, ...nvidia(lab));
    await expectPluginOwners(lab, agent, resource, count, (device) => device.replace(/::\d+$/, ""));
  },
);

test(
  "whole GPUs by Intel's device plugin and a kubelet: every GPU's owner is the pod that the kubelet gave it to",
  { timeout: 600_000 },
  async (context) => {
    const lab = await openNode(context);
    writeTree(arcCards, path.join(lab.folder, "sys"));
    const devices = path.join(lab.folder, "dev/dri");
    mkdirSync(devices, { recursive: true });
    for (const index of numbers) writeFileSync(path.join(devices, `renderD${128 + index}`), "");
    const kubelet = path.join(lab.kubelet.folder, "device-plugins");
    const plugin = await orSkip(context, startIntelDevicePlugin({ kubelet, prefix: lab.folder }));
    await offered(lab, plugin, "gpu.intel.com/xe", GPUS);
    const sysfs = ["--sysfs", path.join(lab.folder, "sys")];
    const agent = await watchOwners(lab, "--source", "intel:", ...sysfs);
    await expectPluginOwners(lab, agent, "gpu.intel.com/xe", GPUS, (device) =>
      busId(Number(/^card(\d+)-0$/.exec(device)?.[1])),
    );
  },
);

test(
  "init containers, sidecars, two containers and ended pods: a kubelet's owner is the container that holds the GPU now",
  { timeout: 600_000 },
  async (context) => {
    const lab = await openNode(context);
    const { cluster, node } = lab;
    const folder = path.join(lab.folder, "plugin");
    mkdirSync(folder);
    const kubelet = path.join(lab.kubelet.folder, "device-plugins");
    const { library } = lab.nvml;
    const plugin = await orSkip(context, startDevicePlugin({ kubelet, folder, library }));
    await offered(lab, plugin, "nvidia.com/gpu", GPUS);
    const agent = await watchOwners(lab, ...nvidia(lab));
    const one = { resources: { limits: { "nvidia.com/gpu": "1" } } };

    // The init container's GPU is the main container's afterwards.
    const init = [{ name: "ends-init", image: "train", ...one }];
    await cluster.create(
      PODS,
      podOf(lab, `${node}-init`, [{ name: "main", ...one }], { initContainers: init }),
    );
    const sidecar = [{ name: "sidecar", image: "train", restartPolicy: "Always", ...one }];
    const two = [{ name: "first" }, { name: "second", ...one }];
    await cluster.create(PODS, podOf(lab, `${node}-two`, two, { initContainers: sidecar }));
    await cluster.create(PODS, podOf(lab, `${node}-job`, [{ name: "ends-soon", ...one }]));
    const pods = await running(lab, 2);
    await waitUntil({ what: "the job's pod to succeed", timeoutMs: 60_000 }, async () =>
      (await podsOn(lab)).some(({ status }) => status.phase === "Succeeded") ? true : undefined,
    );
    const held = checkpointed(lab, pods, (device) => device);
    const names = Object.values(held).flat().sort();
    expect(names).toEqual([`${node}-init`, `${node}-two`, `${node}-two`]);
    await waitUntil({ what: "the owners of three GPUs", timeoutMs: 60_000 }, async () => {
      const page = await (await fetch(`${agent.url}/metrics`)).text();
      expect(ownersOn(page)).toEqual(held);
      const containers = Object.values(ownersOn(page, "container")).flat().sort();
      expect(containers).toEqual([
        `${node}-init/main`,
        `${node}-two/second`,
        `${node}-two/sidecar`,
      ]);
      return true;
    });

    // The GPU of the ended pod is free for the next one.
    await cluster.create(PODS, podOf(lab, `${node}-next`, [{ name: "a" }, { name: "b", ...one }]));
    const after = await running(lab, 3);
    const given = checkpointed(lab, after, (device) => device);
    expect(Object.keys(given)).toHaveLength(GPUS);
    await expectPage(agent, "the owners of four GPUs", given);
  },
);

interface Claim {
  readonly metadata: { readonly name: string };
  readonly status?: {
    readonly allocation?: { readonly devices: { readonly results: readonly { device: string }[] } };
    readonly reservedFor?: readonly { readonly name: string }[];
  };
}

test(
  "GPUs claimed through a DRA driver and a kubelet: the owners are the pods and containers of the claims",
  { timeout: 600_000 },
  async (context) => {
    // The driver's numbers are minor numbers, here in the reverse order of NVML's list.
    const minorOf = (index: number): number => GPUS - 1 - index;
    const minors = numbers.map((index) => `${index}.minor ${minorOf(index)}`);
    const lab = await openNode(context, [`gpus ${GPUS}`, ...minors]);
    const { cluster, node, kubelet, folder } = lab;
    const name = "gpu.nvidia.com";
    const driver = await orSkip(
      context,
      startDraDriver(cluster, kubelet, { name, node, devices: GPUS, folder }),
    );
    onTestFinished(async () => void (await driver.stop()));
    const group = "/apis/resource.k8s.io/v1";
    const words = (): string =>
      `${driver.output().slice(-2_000)}\n${kubelet.output().slice(-2_000)}`;
    const giveUp = (): string | undefined => (driver.exited() === undefined ? undefined : words());
    const slice = await waitUntil(
      { what: "the driver's resource slice", timeoutMs: 90_000, giveUp },
      async () => {
        const at = `${group}/resourceslices?fieldSelector=spec.driver%3D${name}`;
        const { body } = await cluster.api<{
          items: { spec: { nodeName: string; devices: { name: string }[] } }[];
        }>("GET", at);
        return body.items.find(({ spec }) => spec.nodeName === node);
      },
    );
    expect(slice.spec.devices.map((device) => device.name).sort()).toEqual(
      numbers.map((index) => `gpu-${index}`),
    );
    await cluster.create(`${group}/deviceclasses`, {
      apiVersion: "resource.k8s.io/v1",
      kind: "DeviceClass",
      metadata: { name: node },
      spec: { selectors: [{ cel: { expression: `device.driver == "${name}"` } }] },
    });
    const request = {
      devices: { requests: [{ name: "gpu", exactly: { deviceClassName: node } }] },
    };
    await cluster.create(`${group}/namespaces/${NAMESPACE}/resourceclaimtemplates`, {
      apiVersion: "resource.k8s.io/v1",
      kind: "ResourceClaimTemplate",
      metadata: { name: node, namespace: NAMESPACE },
      spec: { spec: request },
    });
    const CLAIMS = `${group}/namespaces/${NAMESPACE}/resourceclaims`;
    await cluster.create(CLAIMS, {
      apiVersion: "resource.k8s.io/v1",
      kind: "ResourceClaim",
      metadata: { name: "shared", namespace: NAMESPACE },
      spec: request,
    });
    const agent = await watchOwners(lab, ...nvidia(lab));
    const claims = { resources: { claims: [{ name: "gpu" }] } };
    const own = (pod: string, ...containers: readonly string[]): unknown =>
      podOf(
        lab,
        pod,
        containers.map((one) => ({ name: one, ...claims })),
        claimOf(node),
      );
    const sharing = (pod: string): unknown =>
      podOf(lab, pod, [{ name: "main", ...claims }], {
        resourceClaims: [{ name: "gpu", resourceClaimName: "shared" }],
      });
    await cluster.create(PODS, own(`${node}-0`, "main"), own(`${node}-1`, "first", "second"));
    await cluster.create(PODS, sharing(`${node}-2`), sharing(`${node}-3`));
    await running(lab, 4);

    const gpuOf = (device: string): string =>
      gpuUuid(minorOf(Number(/^gpu-(\d)$/.exec(device)?.[1])));
    /** The pods of each GPU by the claims at the API server. */
    const claimed = async (): Promise<Record<string, string[]>> => {
      const { body } = await cluster.api<{ items: readonly Claim[] }>("GET", CLAIMS);
      const owners: Record<string, string[]> = {};
      for (const { status } of body.items)
        for (const { device } of status?.allocation?.devices.results ?? [])
          owners[gpuOf(device)] = (status?.reservedFor ?? []).map((pod) => pod.name).sort();
      return owners;
    };
    const expected = await claimed();
    expect(Object.values(expected).flat().sort()).toEqual(
      numbers.map((index) => `${node}-${index}`),
    );
    const pods = (page: string): Record<string, string[]> =>
      Object.fromEntries(
        Object.entries(ownersOn(page)).map(([gpu, names]) => [gpu, [...new Set(names)]]),
      );
    const settled = async (what: string, owners: Record<string, string[]>): Promise<void> => {
      try {
        await waitUntil({ what, timeoutMs: 60_000 }, async () => {
          expect(pods(await (await fetch(`${agent.url}/metrics`)).text())).toEqual(owners);
          return true;
        });
      } catch (error) {
        throw new Error(`${String(error)}\n${words()}`, { cause: error });
      }
    };
    await settled("the owners by claims", expected);
    const page = await (await fetch(`${agent.url}/metrics`)).text();
    expect(Object.values(ownersOn(page, "container")).flat().sort()).toEqual([
      `${node}-0/main`,
      `${node}-1/first`,
      `${node}-1/second`,
      `${node}-2/main`,
      `${node}-3/main`,
    ]);

    // One pod of the shared claim ends, and the pod with two containers.
    for (const pod of [1, 2]) await cluster.api("DELETE", `${PODS}/${node}-${pod}`);
    await waitUntil({ what: "the deleted pods to be gone", timeoutMs: 60_000 }, async () =>
      (await podsOn(lab)).length === 2 ? true : undefined,
    );
    const rest = Object.fromEntries(
      Object.entries(expected)
        .map(([gpu, names]) => [gpu, names.filter((one) => !/-[12]$/.test(one))] as const)
        .filter(([, names]) => names.length > 0),
    );
    await settled("the owners of the rest", rest);
  },
);
