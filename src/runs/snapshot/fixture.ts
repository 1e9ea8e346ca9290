/** A machine as a folder and its GPUs as readings, for tests: a two-socket server with two H200. */
import { symlink, writeFile } from "node:fs/promises";
import path from "node:path";
import { makeFolder } from "../../base/make-folder.ts";
import { gpu, type MetricEntry } from "../../model/catalogue/index.ts";
import { labelSet } from "../../model/labels.ts";
import { hostFileAccess } from "../../machine/sysfs/file-access.ts";
import type { Machine } from "../../machine/machine.ts";
import type { GpuReading, GpuView } from "../../machine/snapshot-gpu.ts";

export type Tree = Readonly<Record<string, string | { readonly link: string }>>;

export async function writeTree(root: string, tree: Tree): Promise<void> {
  for (const [name, content] of Object.entries(tree)) {
    const full = path.join(root, name);
    await makeFolder(path.dirname(full));
    if (typeof content === "string") await writeFile(full, content);
    else await symlink(content.link, full);
  }
}

export const machineAt = (root: string, env: Machine["env"] = {}): Machine => ({
  procfs: path.join(root, "proc"),
  sysfs: path.join(root, "sys"),
  fileAccess: hostFileAccess,
  architecture: "x86_64",
  env,
});

const thread = (processor: number, socket: number, core: number): string =>
  `processor\t: ${processor}\nvendor_id\t: AuthenticAMD\nmodel name\t: AMD EPYC  9654\nmicrocode\t: 0xa10113e\nphysical id\t: ${socket}\ncore id\t\t: ${core}\n\n`;

const cpu = (number: number, shared: string): Tree => {
  const folder = `sys/devices/system/cpu/cpu${number}`;
  return {
    [`${folder}/cpufreq/scaling_driver`]: "acpi-cpufreq\n",
    [`${folder}/cpufreq/scaling_governor`]: "performance\n",
    [`${folder}/cpufreq/scaling_min_freq`]: "1500000\n",
    [`${folder}/cpufreq/scaling_max_freq`]: "3700000\n",
    [`${folder}/cache/index0/level`]: "1\n",
    [`${folder}/cache/index0/type`]: "Data\n",
    [`${folder}/cache/index0/size`]: "32K\n",
    [`${folder}/cache/index0/shared_cpu_list`]: `${number}\n`,
    [`${folder}/cache/index3/level`]: "3\n",
    [`${folder}/cache/index3/type`]: "Unified\n",
    [`${folder}/cache/index3/size`]: "32768K\n",
    [`${folder}/cache/index3/shared_cpu_list`]: `${shared}\n`,
  };
};

export const serverTree: Tree = {
  "proc/cpuinfo": thread(0, 0, 0) + thread(1, 0, 1) + thread(2, 1, 0) + thread(3, 1, 1),
  "proc/meminfo":
    "MemTotal:       268435456 kB\nMemAvailable:   200000000 kB\nSwapTotal:             0 kB\nHugePages_Total:       8\nHugepagesize:       2048 kB\n",
  "proc/loadavg": "0.31 0.42 1.50 1/94 16410\n",
  "proc/sys/kernel/osrelease": "6.8.0-test\n",
  "proc/sys/kernel/random/boot_id": "2f1c0c4e-0000-4000-8000-000000000001\n",
  "proc/1/root/etc/os-release": 'PRETTY_NAME="Test Linux 1"\n',
  "proc/1/cgroup": "0::/init.scope\n",
  "proc/1/status": "Name:\tinit\nCpus_allowed_list:\t0-3\nMems_allowed_list:\t0-1\n",
  "proc/driver/nvidia/version":
    "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05  Release Build  (x)\nGCC version: gcc\n",
  "proc/1/root/usr/local/cuda/version.json":
    '{"cuda": {"name": "CUDA SDK", "version": "12.8.1"}}\n',
  "sys/devices/system/cpu/online": "0-3\n",
  "sys/devices/system/cpu/cpufreq/boost": "1\n",
  ...cpu(0, "0-1"),
  ...cpu(1, "0-1"),
  ...cpu(2, "2-3"),
  ...cpu(3, "2-3"),
  "sys/devices/system/node/node0/meminfo": "Node 0 MemTotal:       134217728 kB\n",
  "sys/devices/system/node/node0/cpulist": "0-1\n",
  "sys/devices/system/node/node1/meminfo": "Node 1 MemTotal:       134217728 kB\n",
  "sys/devices/system/node/node1/cpulist": "2-3\n",
  "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
  "sys/kernel/mm/transparent_hugepage/defrag": "always defer defer+madvise [madvise] never\n",
  "sys/devices/system/cpu/smt/control": "on\n",
  "sys/devices/system/clocksource/clocksource0/current_clocksource": "tsc\n",
  "proc/cmdline": "root=/dev/nvme0n1p2 ro quiet\n",
  "proc/sys/kernel/numa_balancing": "1\n",
  "proc/sys/vm/swappiness": "60\n",
  "proc/driver/nvidia/params": "EnableResizableBar: 0\nNvLinkDisable: 0\n",
  "sys/module/nvidia/refcnt": "3\n",
  "sys/block/nvme0n1/device/model": "Samsung PM9A3   \n",
  "sys/block/nvme0n1/device/serial": "SECRET-SERIAL\n",
  "sys/block/nvme0n1/size": "7501476528\n",
  "sys/block/nvme0n1/queue/rotational": "0\n",
  "sys/block/loop0/size": "8\n",
  "sys/class/net/lo/address": "00:00:00:00:00:00\n",
  "sys/class/net/ens3/device/vendor": "0x15b3\n",
  "sys/class/net/ens3/device/driver": { link: "../../bus/pci/drivers/mlx5_core" },
  "sys/class/net/ens3/speed": "100000\n",
  "sys/class/dmi/id/sys_vendor": "Maker\n",
  "sys/class/dmi/id/product_name": "Server 2U\n",
  "sys/class/dmi/id/bios_version": "2.4.1\n",
  "sys/fs/cgroup/cgroup.controllers": "cpu memory pids\n",
  "sys/fs/cgroup/init.scope/memory.max": "max\n",
};

const read = (
  metric: MetricEntry,
  value: number,
  labels: Readonly<Record<string, string>> = {},
): GpuReading => ({ metric, labels: labelSet(labels), value });

/** An idle H200: its link has trained down. */
export function h200(index: number, uuid: string, peer: string): GpuView {
  return {
    device: {
      uuid,
      index,
      vendor: "nvidia",
      model: "NVIDIA H200",
      simulated: false,
      pciBusId: `0000:${index + 1}0:00.0`,
      driver: "580.95.05",
      vbios: "96.00.A5.00.01",
      linkType: "SXM",
    },
    readings: [
      read(gpu.up, 1),
      read(gpu.memoryTotal, 150_754_820_096),
      read(gpu.memoryUsed, 4 * 2 ** 20),
      read(gpu.power, 76),
      read(gpu.powerLimit, 700),
      read(gpu.powerLimitDefault, 700),
      read(gpu.clockMax, 1.98e9, { domain: "graphics" }),
      read(gpu.clockMax, 3.201e9, { domain: "memory" }),
      read(gpu.pcieLinkGenerationMax, 5),
      read(gpu.pcieLinkWidthMax, 16),
      read(gpu.pcieLinkGeneration, 1),
      read(gpu.pcieLinkWidth, 16),
      read(gpu.utilization, 0),
      read(gpu.eccEnabled, 1),
      read(gpu.persistenceEnabled, 1),
      read(gpu.computeMode, 0),
      read(gpu.processes, 0),
      read(gpu.eccErrors, 0, { type: "corrected" }),
      read(gpu.eccErrors, 0, { type: "uncorrected" }),
      read(gpu.p2pAccessible, 1, { peer }),
      { metric: gpu.migEnabled, labels: labelSet({}), absent: "failed" },
    ],
  };
}

export const twoH200 = (): GpuView[] => [h200(0, "GPU-a", "GPU-b"), h200(1, "GPU-b", "GPU-a")];
