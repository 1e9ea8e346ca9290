// A real kubelet on a node of the control plane, with a container runtime that runs nothing: device plugins and DRA drivers
// register with it, it allocates their devices to the pods that the scheduler places, and serves the PodResources API. Built once
// from engines/go/kubelet. A container whose name begins with "ends" ends as soon as it has started.

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { stringify } from "yaml";

import { goBuilt } from "./go.ts";
import { KUBERNETES_VARIABLES } from "./kubernetes-programs.ts";
import type { RunningKubernetes } from "./kubernetes.ts";
import { freePort } from "./ports.ts";
import { type RunningProcess, startProcess } from "./process.ts";
import { waitUntil } from "./wait.ts";

const PROGRAM = "k8s.io/kubernetes/cmd/kubelet";
const BUILD_TIMEOUT_MS = 3_600_000;
const START_TIMEOUT_MS = 120_000;
const MISSING = "the kubelet is not built in the cache: run npx tsx engines/bring.ts Kubelet";

interface KubeletPrograms {
  readonly kubelet: string;
  readonly runtime: string;
}

async function programs(cachedOnly?: string): Promise<KubeletPrograms> {
  const folder = await goBuilt("kubelet", {
    beside: [PROGRAM],
    variables: KUBERNETES_VARIABLES,
    timeoutMs: BUILD_TIMEOUT_MS,
    env: { CGO_ENABLED: "0" },
    ...(cachedOnly === undefined ? {} : { cachedOnly }),
  });
  const at = (name: string): string => path.join(folder, name);
  return { kubelet: at("kubelet"), runtime: at("container-runtime") };
}

export async function buildKubelet(): Promise<KubeletPrograms> {
  return programs();
}

/** Kernel settings that a kubelet writes: it gets files of its own, with the values it wants, instead of the machine's. */
const KERNEL_SETTINGS: Readonly<Record<string, number>> = {
  "vm/overcommit_memory": 1,
  "vm/panic_on_oom": 0,
  "kernel/panic": 10,
  "kernel/panic_on_oops": 1,
  "kernel/keys/root_maxkeys": 1_000_000,
  "kernel/keys/root_maxbytes": 25_000_000,
};

/** Visible only to the kubelet: its folders and kernel settings. */
const ON_NODE = `set -eu
mount -t tmpfs tmpfs /var/log
mount -t tmpfs tmpfs /var/lib
mkdir /var/lib/kubelet
mount --bind "$1" /var/lib/kubelet
settings=$2
for one in ${Object.keys(KERNEL_SETTINGS).join(" ")}; do
  mount --bind "$settings/$(echo "$one" | tr / -)" "/proc/sys/$one"
done
shift 2
exec "$@"`;

export interface RunningKubelet {
  /** The folder that the kubelet sees as /var/lib/kubelet. */
  readonly folder: string;
  readonly podResourcesSocket: string;
  /** The device ids of plugins by pod uid, from the kubelet's own checkpoint and not from its PodResources API. */
  checkpoint(): ReadonlyMap<string, readonly string[]>;
  output(): string;
  /** Ends the kubelet; its runtime and its state stay. */
  kill(): Promise<void>;
  start(): Promise<void>;
  stop(): Promise<void>;
}

export interface KubeletOptions {
  readonly node: string;
  /** An empty folder with a short path: the paths of sockets are limited to 107 characters. */
  readonly folder: string;
}

interface Checkpoint {
  readonly Data: {
    readonly PodDeviceEntries:
      | readonly {
          readonly PodUID: string;
          readonly DeviceIDs: Readonly<Record<string, readonly string[]>>;
        }[]
      | null;
  };
}

/** Throws EngineMissingError if it was never built on this machine. Needs a control plane without kwok. */
export async function startKubelet(
  kubernetes: RunningKubernetes,
  { node, folder }: KubeletOptions,
): Promise<RunningKubelet> {
  const { kubelet: program, runtime } = await programs(MISSING);
  const made = (name: string): string => {
    const at = path.join(folder, name);
    mkdirSync(at, { recursive: true });
    return at;
  };
  const root = made("kubelet");
  const settings = made("settings");
  for (const [name, value] of Object.entries(KERNEL_SETTINGS))
    writeFileSync(path.join(settings, name.replaceAll("/", "-")), `${value}\n`);
  const endpoint = `unix://${path.join(folder, "cri.sock")}`;
  const config = path.join(folder, "kubelet.yaml");
  const healthPort = await freePort();
  writeFileSync(
    config,
    stringify({
      apiVersion: "kubelet.config.k8s.io/v1beta1",
      kind: "KubeletConfiguration",
      containerRuntimeEndpoint: endpoint,
      address: "127.0.0.1",
      port: await freePort(),
      healthzPort: healthPort,
      authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
      authorization: { mode: "AlwaysAllow" },
      cgroupDriver: "cgroupfs",
      cgroupsPerQOS: false,
      enforceNodeAllocatable: [],
      failSwapOn: false,
      localStorageCapacityIsolation: false,
      makeIPTablesUtilChains: false,
      oomScoreAdj: 0,
      resolvConf: "",
      volumePluginDir: made("volume-plugins"),
      nodeStatusUpdateFrequency: "1s",
      nodeStatusReportFrequency: "1s",
      syncFrequency: "1s",
      maxPods: 250,
      evictionHard: { "memory.available": "1Mi" },
    }),
  );
  const container = startProcess(runtime, [endpoint], { name: "the container runtime" });
  let kubelet: RunningProcess | undefined;
  const flags = [`--config=${config}`, `--kubeconfig=${kubernetes.kubeconfig}`];
  const isolated = ["--mount", "--propagation", "private", "sh", "-c", ON_NODE, "sh"];
  const start = async (): Promise<void> => {
    const args = [...isolated, root, settings, program, ...flags, `--hostname-override=${node}`];
    kubelet = startProcess("unshare", args, { name: "the kubelet" });
    await kubelet.waitForUrl(`http://127.0.0.1:${healthPort}/healthz`, START_TIMEOUT_MS);
    const started = kubelet;
    const giveUp = (): string | undefined =>
      started.exited() === undefined ? undefined : started.output().slice(-3_000);
    const what = { what: `node ${node} to be ready`, timeoutMs: START_TIMEOUT_MS, giveUp };
    await waitUntil(what, async () => {
      const { body } = await kubernetes.api<{
        spec: { taints?: unknown[] };
        status?: { conditions?: { type: string; status: string }[] };
      }>("GET", `/api/v1/nodes/${node}`);
      const isReady = body.status?.conditions?.some(
        ({ type, status }) => type === "Ready" && status === "True",
      );
      return isReady === true && body.spec.taints === undefined ? true : undefined;
    });
  };
  const kill = async (): Promise<void> => void (await kubelet?.stop());
  const stop = async (): Promise<void> => {
    await kill();
    await container.stop();
  };
  try {
    await start();
  } catch (error) {
    const words = kubelet?.output().slice(-3_000);
    await stop();
    throw error instanceof Error ? new Error(`${error.message}\n${words}`) : error;
  }
  return {
    folder: root,
    podResourcesSocket: path.join(root, "pod-resources/kubelet.sock"),
    checkpoint: () => {
      const file = path.join(root, "device-plugins/kubelet_internal_checkpoint");
      const { Data: data } = JSON.parse(readFileSync(file, "utf8")) as Checkpoint;
      const devices = new Map<string, readonly string[]>();
      for (const { PodUID: uid, DeviceIDs: ids } of data.PodDeviceEntries ?? [])
        devices.set(uid, [...(devices.get(uid) ?? []), ...Object.values(ids).flat()]);
      return devices;
    },
    output: () => kubelet?.output() ?? "",
    kill,
    start,
    stop,
  };
}
