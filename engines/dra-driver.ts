// The DRA driver that Kubernetes publishes as the example for vendors' drivers, built from engines/go/dra-driver. It publishes
// resource slices, prepares claims and registers with a kubelet under any driver's name; its devices are gpu-0, gpu-1 and so on,
// which are NVIDIA's names for the GPUs with these minor numbers.

import path from "node:path";

import { goBuilt } from "./go.ts";
import type { RunningKubelet } from "./kubelet.ts";
import type { RunningKubernetes } from "./kubernetes.ts";
import { type RunningProcess, startProcess } from "./process.ts";

const PROGRAM = "sigs.k8s.io/dra-example-driver/cmd/dra-example-kubeletplugin";
const BUILD_TIMEOUT_MS = 1_800_000;
const MISSING = "the DRA driver is not built in the cache: run npx tsx engines/bring.ts Kubelet";

async function built(cachedOnly?: string): Promise<string> {
  const folder = await goBuilt("dra-driver", {
    beside: [PROGRAM],
    timeoutMs: BUILD_TIMEOUT_MS,
    env: { CGO_ENABLED: "0" },
    ...(cachedOnly === undefined ? {} : { cachedOnly }),
  });
  return path.join(folder, "dra-example-kubeletplugin");
}

export async function buildDraDriver(): Promise<string> {
  return built();
}

export interface DraDriverOptions {
  readonly name: string;
  readonly node: string;
  readonly devices: number;
  /** An empty folder for CDI files. */
  readonly folder: string;
}

/** Throws EngineMissingError if it was never built on this machine. */
export async function startDraDriver(
  kubernetes: RunningKubernetes,
  kubelet: RunningKubelet,
  { name, node, devices, folder }: DraDriverOptions,
): Promise<RunningProcess> {
  const flags = [
    `--kubeconfig=${kubernetes.kubeconfig}`,
    `--driver-name=${name}`,
    `--node-name=${node}`,
    `--num-devices=${devices}`,
    `--cdi-root=${path.join(folder, "cdi")}`,
    `--kubelet-registrar-directory-path=${path.join(kubelet.folder, "plugins_registry")}`,
    `--kubelet-plugins-directory-path=${path.join(kubelet.folder, "plugins")}`,
  ];
  return startProcess(await built(MISSING), flags, { name: `the DRA driver ${name}` });
}
