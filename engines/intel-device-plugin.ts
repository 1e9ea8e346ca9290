// Intel's GPU device plugin, built from engines/go/intel-device-plugin, on a tree of /sys and /dev of a test.

import path from "node:path";

import { goBuilt } from "./go.ts";
import { type RunningProcess, startProcess } from "./process.ts";

const PROGRAM = "github.com/intel/intel-device-plugins-for-kubernetes/cmd/gpu_plugin";
const MISSING =
  "Intel's device plugin is not built in the cache: run npx tsx engines/bring.ts DevicePlugin";

async function built(cachedOnly?: string): Promise<string> {
  const folder = await goBuilt("intel-device-plugin", {
    beside: [PROGRAM],
    env: { CGO_ENABLED: "0" },
    ...(cachedOnly === undefined ? {} : { cachedOnly }),
  });
  return path.join(folder, "gpu_plugin");
}

export async function buildIntelDevicePlugin(): Promise<string> {
  return built();
}

/** Visible only to the plugin: the kubelet's folder. */
const ON_NODE = `set -eu
mount -t tmpfs tmpfs /var/lib
mkdir -p /var/lib/kubelet/device-plugins
mount --bind "$1" /var/lib/kubelet/device-plugins
shift
exec "$@"`;

export interface IntelDevicePluginOptions {
  /** The kubelet's plugin folder. */
  readonly kubelet: string;
  /** A folder with `sys` and `dev` of the node. */
  readonly prefix: string;
  readonly args?: readonly string[];
}

/** Throws EngineMissingError if it was never built on this machine. */
export async function startIntelDevicePlugin(
  options: IntelDevicePluginOptions,
): Promise<RunningProcess> {
  const { kubelet, prefix, args = [] } = options;
  const isolated = ["--mount", "--propagation", "private", "sh", "-c", ON_NODE, "sh", kubelet];
  const program = [await built(MISSING), `-prefix=${prefix}`, ...args];
  return startProcess("unshare", [...isolated, ...program], { name: "Intel's device plugin" });
}
