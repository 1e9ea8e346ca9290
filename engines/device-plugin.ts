// NVIDIA's device plugin, built from engines/go/device-plugin, against a fake NVML library. In its own mount namespace it finds
// the kubelet's folder and the driver's list of MIG capabilities at the same paths as on a node.

import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import path from "node:path";

import { goBuilt } from "./go.ts";
import { type RunningProcess, startProcess } from "./process.ts";

const PROGRAM = "github.com/NVIDIA/k8s-device-plugin/cmd/nvidia-device-plugin";
const BUILD_TIMEOUT_MS = 1_800_000;
const MISSING =
  "NVIDIA's device plugin is not built in the cache: run npx tsx engines/bring.ts DevicePlugin";

async function built(cachedOnly?: string): Promise<string> {
  const folder = await goBuilt("device-plugin", {
    beside: [PROGRAM],
    timeoutMs: BUILD_TIMEOUT_MS,
    // Go's NVML bindings are in C, and resolve the library's functions when they are called.
    env: { CGO_ENABLED: "1", CGO_LDFLAGS_ALLOW: "-Wl,--unresolved-symbols=ignore-in-object-files" },
    ...(cachedOnly === undefined ? {} : { cachedOnly }),
  });
  return path.join(folder, "nvidia-device-plugin");
}

export async function buildDevicePlugin(): Promise<string> {
  return built();
}

/** Visible only to the plugin: the kubelet's folder, and the minor numbers of MIG capabilities. */
const ON_NODE = `set -eu
mount -t tmpfs tmpfs /var/lib
mkdir -p /var/lib/kubelet/device-plugins
mount --bind "$1" /var/lib/kubelet/device-plugins
mount -t tmpfs tmpfs /proc/driver
mkdir /proc/driver/nvidia-caps
cp "$2" /proc/driver/nvidia-caps/mig-minors
shift 2
exec "$@"`;

/** The control program of the MPS daemon belongs to the driver; the plugin only checks whether the daemon responds. */
const MPS_CONTROL = "#!/bin/sh\ncat >/dev/null\necho 100.0\n";

export interface DevicePluginOptions {
  /** The kubelet's plugin folder; its `kubelet.sock` accepts registrations. */
  readonly kubelet: string;
  /** An empty folder for the node's files. */
  readonly folder: string;
  readonly library: string;
  /** Lines as in /proc/driver/nvidia-caps/mig-minors: `gpu0/gi7/access 75`. */
  readonly migMinors?: readonly string[];
  /** The plugin's configuration file. */
  readonly config?: string;
  readonly args?: readonly string[];
}

/** Throws EngineMissingError if it was never built on this machine. */
export async function startDevicePlugin(options: DevicePluginOptions): Promise<RunningProcess> {
  const { kubelet, folder, library, migMinors = [], config, args = [] } = options;
  const program = await built(MISSING);
  const file = (name: string, text: string, mode = 0o600): string => {
    const at = path.join(folder, name);
    writeFileSync(at, text, { mode });
    return at;
  };
  const root = path.join(folder, "driver");
  const libraries = path.join(root, "usr/lib64");
  mkdirSync(libraries, { recursive: true });
  symlinkSync(library, path.join(libraries, "libnvidia-ml.so.1"));
  const bin = path.join(folder, "bin");
  mkdirSync(bin);
  file("bin/nvidia-cuda-mps-control", MPS_CONTROL, 0o700);
  const minors = file("mig-minors", `${migMinors.join("\n")}\n`);
  const flags = [
    `--driver-root-ctr-path=${root}`,
    `--mps-root=${folder}`,
    "--device-discovery-strategy=nvml",
    ...(config === undefined ? [] : [`--config-file=${file("config.yaml", config)}`]),
    ...args,
  ];
  const isolated = ["--mount", "--propagation", "private", "sh", "-c", ON_NODE, "sh"];
  return startProcess("unshare", [...isolated, kubelet, minors, program, ...flags], {
    name: "NVIDIA's device plugin",
    env: { PATH: `${bin}:${process.env["PATH"] ?? ""}` },
  });
}
