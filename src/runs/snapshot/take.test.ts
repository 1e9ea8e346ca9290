import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { gpu } from "../../model/catalogue/index.ts";
import { labelSet } from "../../model/labels.ts";
import { hostFileAccess } from "../../machine/sysfs/file-access.ts";
import { diffSnapshots } from "./diff.ts";
import {
  h200,
  machineAt,
  serverTree,
  type Tree,
  twoH200,
  writeTree,
} from "../../../test/fixtures/runs/snapshot.ts";
import { linkBytesPerSecond } from "../../machine/snapshot-gpu.ts";
import { parseSnapshot } from "./parse.ts";
import { type SnapshotInput, takeSnapshot } from "./take.ts";

let root = "";
beforeEach(async () => {
  root = await mkdtemp(path.join(tmpdir(), "gpulse-system-"));
});
afterEach(() => rm(root, { recursive: true }));

async function taken(
  changes: Tree = {},
  more: Partial<SnapshotInput> = {},
  env: Readonly<Record<string, string>> = {},
) {
  await writeTree(root, { ...serverTree, ...changes });
  return takeSnapshot({
    machine: machineAt(root, env),
    gpus: twoH200(),
    host: "node-1",
    nowMs: 1_700_000_000_000,
    version: "1.2.3",
    ...more,
  });
}

test("reports the machine from its files", async () => {
  const { facts } = await taken();
  expect(facts.processor).toEqual({
    model: "AMD EPYC 9654",
    vendor: "AuthenticAMD",
    architecture: "x86_64",
    sockets: 2,
    cores: 4,
    threads: 4,
    microcode: "0xa10113e",
    caches: [
      { level: 1, type: "data", sizeBytes: 32_768, count: 4 },
      { level: 3, type: "unified", sizeBytes: 2 ** 25, count: 2 },
    ],
    frequency: {
      driver: "acpi-cpufreq",
      governor: "performance",
      boost: true,
      minHertz: 1.5e9,
      maxHertz: 3.7e9,
    },
  });
  expect(facts.memory).toEqual({
    totalBytes: 2 ** 38,
    swapTotalBytes: 0,
    hugePages: { count: 8, sizeBytes: 2 ** 21 },
    transparentHugePages: "madvise",
    numaNodes: [
      { node: 0, memoryBytes: 2 ** 37, cpus: "0-1" },
      { node: 1, memoryBytes: 2 ** 37, cpus: "2-3" },
    ],
  });
  expect(facts.storage).toEqual([
    { name: "nvme0n1", model: "Samsung PM9A3", sizeBytes: 7_501_476_528 * 512, kind: "nvme" },
  ]);
  expect(facts.network).toEqual([{ name: "ens3", driver: "mlx5_core", bitsPerSecond: 1e11 }]);
  expect(facts.board).toEqual({ vendor: "Maker", product: "Server 2U", biosVersion: "2.4.1" });
  expect(facts.os).toEqual({ name: "Test Linux 1", kernel: "6.8.0-test" });
  expect(facts.software.versions).toEqual({ nvidia_driver: "580.95.05", cuda_toolkit: "12.8.1" });
  expect(facts.container).toEqual({
    inside: false,
    cgroupVersion: 2,
    cpuSet: "0-3",
    memoryNodes: "0-1",
  });
});

test("reports the GPUs, and what each could not say with its reason", async () => {
  const { facts, readings, missing, hidden } = await taken();
  expect(facts.gpus[0]).toMatchObject({
    uuid: "GPU-a",
    powerLimitWatts: 700,
    clocks: { maxHertz: { graphics: 1.98e9, memory: 3.201e9 } },
    pcie: {
      type: "SXM",
      generationMax: 5,
      widthMax: 16,
      bandwidthMaxBytesPerSecond: 63_015_384_615,
    },
    eccEnabled: true,
    computeMode: "default",
  });
  expect(facts.gpus[0]).not.toHaveProperty("migEnabled");
  expect(facts.p2p).toEqual({ "GPU-a": { "GPU-b": true }, "GPU-b": { "GPU-a": true } });
  expect(readings.gpus[1]).toMatchObject({
    index: 1,
    powerWatts: 76,
    powerKind: "board",
    pcieGeneration: 1,
  });
  expect(missing).toContainEqual({ fact: "gpus.GPU-a.migEnabled", reason: "failed" });
  expect(missing).toContainEqual({ fact: "software.versions.cuda_driver", reason: "not-read" });
  expect(hidden).toEqual([]);
});

test("no serial number and no address is in it, and it reads back as it was", async () => {
  const snapshot = await taken();
  const text = JSON.stringify(snapshot);
  expect(text).not.toMatch(/SECRET|00:00:00:00/);
  expect(parseSnapshot(text, "x")).toEqual(snapshot);
});

const v2Container: Tree = {
  "proc/1/cgroup": "0::/\n",
  "proc/1/root/.dockerenv": "",
  "sys/fs/cgroup/memory.max": "17179869184\n",
  "sys/fs/cgroup/cpu.max": "200000 100000\n",
};

test("a container's limits are facts, and that they narrow the machine is said", async () => {
  const { facts, hidden } = await taken(v2Container);
  expect(facts.container).toMatchObject({
    inside: true,
    runtime: "docker",
    memoryLimitBytes: 2 ** 34,
    cpuLimitCores: 2,
  });
  expect(facts.memory.totalBytes).toBe(2 ** 38);
  expect(hidden.join("\n")).toContain(
    "Memory is limited to 16.0 GiB of the machine's 256.0 GiB: the capacity is not what a workload can have.",
  );
  expect(hidden.join("\n")).toContain("Processor time is limited to 2 of 4 threads.");
});

test("the tightest limit on the way to the root holds", async () => {
  const { facts } = await taken({
    "proc/1/cgroup": "0::/job.slice/step\n",
    "sys/fs/cgroup/job.slice/memory.max": "1000\n",
    "sys/fs/cgroup/job.slice/step/memory.max": "5000\n",
    "sys/fs/cgroup/job.slice/step/cpu.max": "max 100000\n",
  });
  expect(facts.container.memoryLimitBytes).toBe(1_000);
  expect(facts.container).not.toHaveProperty("cpuLimitCores");
});

test("version 1 limits are read, and its number for none is none", async () => {
  const { "sys/fs/cgroup/cgroup.controllers": _, ...rest } = serverTree;
  await writeTree(root, {
    ...rest,
    "proc/1/cgroup": "4:memory:/docker/x\n2:cpu,cpuacct:/docker/x\n1:pids:/docker/x\n",
    "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
    "sys/fs/cgroup/memory/docker/x/memory.limit_in_bytes": "1073741824\n",
    "sys/fs/cgroup/cpu/docker/x/cpu.cfs_quota_us": "150000\n",
    "sys/fs/cgroup/cpu/docker/x/cpu.cfs_period_us": "100000\n",
    "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n",
    "sys/fs/cgroup/pids/docker/x/pids.max": "max\n",
  });
  const machine = machineAt(root);
  const { facts } = await takeSnapshot({ machine, gpus: [], host: "h", nowMs: 0, version: "1" });
  expect(facts.container).toMatchObject({
    cgroupVersion: 1,
    memoryLimitBytes: 2 ** 30,
    cpuLimitCores: 1.5,
  });
  expect(facts.container).not.toHaveProperty("processLimit");
});

test("GPUs on the bus that cannot be read, and variables that narrow, are said", async () => {
  const card = (address: string): Tree => ({
    [`sys/bus/pci/devices/${address}/vendor`]: "0x10de\n",
    [`sys/bus/pci/devices/${address}/class`]: "0x030200\n",
  });
  const { hidden } = await taken(
    { ...card("0000:10:00.0"), ...card("0000:20:00.0"), ...card("0000:30:00.0") },
    {},
    { CUDA_VISIBLE_DEVICES: "0", AWS_SECRET_ACCESS_KEY: "hush" },
  );
  expect(hidden).toEqual([
    "CUDA_VISIBLE_DEVICES=0 narrows which GPUs programs see.",
    "3 nvidia GPUs are on the bus and 2 can be read here.",
  ]);
});

test("AMD reports firmware and performance level, and is not woken for it", async () => {
  const view = h200(0, "amd-1", "x");
  const device = { ...view.device, vendor: "amd" as const, pciBusId: "0000:03:00.0" };
  const folder = "sys/bus/pci/devices/0000:03:00.0";
  const files: Tree = {
    [`${folder}/fw_version/smc_fw_version`]: "0x00525800\n",
    [`${folder}/fw_version/uvd_fw_version`]: "0x00000000\n",
    [`${folder}/power_dpm_force_performance_level`]: "manual\n",
    [`${folder}/numa_node`]: "1\n",
  };
  const awake = await taken(files, { gpus: [{ device, readings: [] }] });
  expect(awake.facts.gpus[0]).toMatchObject({
    firmware: { smc: "0x00525800" },
    clocks: { performanceLevel: "manual" },
    pcie: { numaNode: 1 },
  });
  await writeTree(root, { [`${folder}/power/runtime_status`]: "suspended\n" });
  const asleep = await takeSnapshot({
    machine: machineAt(root),
    gpus: [{ device, readings: [] }],
    host: "h",
    nowMs: 0,
    version: "1",
  });
  expect(asleep.facts.gpus[0]?.clocks).toEqual({ maxHertz: {} });
  expect(asleep.missing).toContainEqual({
    fact: "gpus.amd-1.clocks.performanceLevel",
    reason: "asleep",
  });
});

test("processes the source names come with their owners; the driver's list stands in where it names none", async () => {
  const named = h200(0, "GPU-a", "GPU-b");
  const labels = labelSet({ uuid: "GPU-a", pid: "42", process: "python3", pod: "train-0" });
  const gpus = [
    { ...named, readings: [...named.readings, { metric: gpu.processMemory, labels, value: 5 }] },
    h200(1, "GPU-b", "GPU-a"),
  ];
  const driverFacts = {
    versions: { cuda_driver: "13.0" },
    gpus: new Map([["GPU-b", { firmware: { gsp: "580" } }]]),
    processes: [
      { uuid: "GPU-a", pid: 1 },
      { uuid: "GPU-b", pid: 7, name: "vllm" },
      { uuid: "GPU-elsewhere", pid: 9 },
    ],
  };
  const { readings, facts } = await taken({}, { gpus, driverFacts });
  expect(readings.processes).toEqual([
    { uuid: "GPU-a", pid: 42, name: "python3", memoryBytes: 5, pod: "train-0" },
    { uuid: "GPU-b", pid: 7, name: "vllm" },
  ]);
  expect(facts.software.versions["cuda_driver"]).toBe("13.0");
  expect(facts.gpus[1]?.firmware).toEqual({ gsp: "580" });
});

test("an empty folder gives a snapshot that says what is missing, and nothing made up", async () => {
  const machine = machineAt(root);
  const snapshot = await takeSnapshot({ machine, gpus: [], host: "h", nowMs: 0, version: "1" });
  expect(snapshot.facts.memory).toEqual({});
  expect(snapshot.facts.processor).toEqual({ architecture: "x86_64", frequency: {} });
  expect(snapshot.missing.map(({ fact }) => fact)).toEqual(
    expect.arrayContaining(["memory.totalBytes", "os.kernel", "processor.model", "storage"]),
  );
});

test.each([
  [1, 16, 4e9],
  [3, 16, 15_753_846_154],
  [5, 8, 31_507_692_308],
])("generation %i x%i carries %d bytes a second", (generation, width, bytes) => {
  expect(linkBytesPerSecond(generation, width)).toBe(bytes);
});

test("kernel settings and module parameters are facts, with secrets masked", async () => {
  const { facts } = await taken({
    "proc/cmdline": 'root=/dev/sda1 quiet k3s.token=abc123 dyndbg="file a.c +p"\n',
    "proc/sys/net/ipv4/tcp_rmem": "4096\t131072\t6291456\n",
    "sys/module/amdgpu/parameters/runpm": "-1\n",
    "sys/module/amdgpu/parameters/ip_block_mask": "4294967295\n",
    "sys/module/i915/refcnt": "1\n",
  });
  expect(facts.kernel).toEqual({
    commandLine: 'root=/dev/sda1 quiet k3s.token=*** dyndbg="file a.c +p"',
    sysctl: {
      "kernel.numa_balancing": "1",
      "vm.swappiness": "60",
      "net.ipv4.tcp_rmem": "4096 131072 6291456",
    },
    modules: {
      amdgpu: { ip_block_mask: "4294967295", runpm: "-1" },
      i915: {},
      nvidia: { EnableResizableBar: "0", NvLinkDisable: "0" },
    },
    smt: "on",
    clocksource: "tsc",
    transparentHugePagesDefrag: "madvise",
  });
});

test("a file that must not be read is named with that reason, one that is not there is not", async () => {
  await writeTree(root, serverTree);
  const machine = machineAt(root);
  const refused = /smt\/control$|swappiness$|bios_version$|scaling_governor$|memory\.max$/;
  const { facts, missing } = await takeSnapshot({
    machine: {
      ...machine,
      fileAccess: {
        ...hostFileAccess,
        bytes: async (file, most) => {
          if (refused.test(file)) throw Object.assign(new Error("no"), { code: "EACCES" });
          return hostFileAccess.bytes(file, most);
        },
      },
    },
    gpus: [],
    host: "n",
    nowMs: 0,
    version: "1",
  });
  expect(facts.kernel).not.toHaveProperty("smt");
  expect(missing.filter(({ reason }) => reason === "denied").map(({ fact }) => fact)).toEqual([
    "board.biosVersion",
    "container.memoryLimitBytes",
    "kernel.smt",
    "kernel.sysctl.vm.swappiness",
    "processor.frequency.governor",
  ]);
  expect(missing.map(({ fact }) => fact)).not.toContain("kernel.sysctl.vm.zone_reclaim_mode");
});

test("a tier that had not been read yet leaves its facts not read, not unsupported", async () => {
  const gpus = twoH200().map((view) => ({
    ...view,
    readings: view.readings.filter(({ metric }) => metric.tier === "fast"),
  }));
  const early = await taken({}, { gpus });
  const reasons = new Map(early.missing.map(({ fact, reason }) => [fact, reason]));
  for (const fact of ["memoryTotalBytes", "pcie.widthMax", "clocks.maxHertz", "computeMode"])
    expect([fact, reasons.get(`gpus.GPU-a.${fact}`)]).toEqual([fact, "not-read"]);
  expect(reasons.get("p2p.GPU-a")).toBe("not-read");
  const late = await takeSnapshot({
    machine: machineAt(root),
    gpus: twoH200(),
    host: "node-1",
    nowMs: 1_700_000_001_000,
    version: "1.2.3",
  });
  for (const diff of [diffSnapshots(early, late), diffSnapshots(late, early)])
    expect([diff.verdict, diff.changes]).toEqual(["same", []]);
});

test.each([
  [
    "NVLink: links that are up times their rate",
    2,
    0,
    { via: "nvlink", bandwidthBytesPerSecond: 53e9, basis: "links" },
  ],
  [
    "PCIe: the slower link of the two",
    0,
    0,
    { via: "pcie", bandwidthBytesPerSecond: 63_015_384_615, basis: "pcie" },
  ],
  [
    "what the driver reports wins",
    2,
    48e9,
    { via: "nvlink", bandwidthBytesPerSecond: 48e9, basis: "reported" },
  ],
])("the way between two GPUs, %s", async (_, links, reported, link) => {
  const gpus = twoH200().map((view) => {
    const peer = view.device.uuid === "GPU-a" ? "GPU-b" : "GPU-a";
    return {
      ...view,
      readings: [
        ...view.readings,
        ...Array.from({ length: 3 }, (__, at) => [
          {
            metric: gpu.interconnectUp,
            labels: labelSet({ link: String(at) }),
            value: at < links ? 1 : 0,
          },
          {
            metric: gpu.interconnectBandwidth,
            labels: labelSet({ link: String(at) }),
            value: 26.5e9,
          },
        ]).flat(),
        ...(reported === 0
          ? []
          : [{ metric: gpu.p2pBandwidth, labels: labelSet({ peer }), value: reported }]),
      ],
    };
  });
  const { facts } = await taken({}, { gpus });
  expect(facts.p2pLinks).toEqual({ "GPU-a": { "GPU-b": link }, "GPU-b": { "GPU-a": link } });
});
