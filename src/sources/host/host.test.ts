import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import * as v from "valibot";
import { fuzz, fuzzTimeoutMs } from "../../../test/fuzz/mutate.ts";
import { silentLog } from "../../base/log.ts";
import type { Tier } from "../../model/catalogue/index.ts";
import type { Frame } from "../../model/frame.ts";
import { labelValue } from "../../model/labels.ts";
import { presenceNames } from "../../model/presence.ts";
import type { FileAccess } from "../../machine/sysfs/file-access.ts";
import { traceFileAccess } from "../../../test/fixtures/machine/traced-files.ts";
import { lowestPid, parseCpuMax, parseFlatKeyed, parseIoStat, parseLimit } from "./cgroup-files.ts";
import { worthEntering } from "./container-walk.ts";
import { host } from "./define.ts";
import {
  containerPaths,
  machineTree,
  podUid,
  writeTree,
} from "../../../test/fixtures/sources/host.ts";
import {
  parseDiskstats,
  parseLoad,
  parseMountinfo,
  parseNetDev,
  parsePressure,
  parseProcStat,
} from "./proc.ts";
import { parseCpuinfo, parseMeminfo, parseOsRelease } from "../../machine/proc.ts";
import { HostSource } from "./source.ts";

let folder = "";
let nowMs = 0;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "gpulse-host-"));
  nowMs = 0;
});
afterEach(() => rm(folder, { recursive: true }));

const space = { bsize: 4_096, blocks: 1_000, bavail: 250, files: 64, ffree: 32 };

const source = (containers = 100, fileAccess?: FileAccess) =>
  new HostSource({
    host: "node1",
    procfs: join(folder, "proc"),
    sysfs: join(folder, "sys"),
    nowMs: () => nowMs,
    containers,
    askSpace: async () => space,
    ...(fileAccess === undefined ? {} : { fileAccess }),
  });

function shown(frame: Frame): Record<string, number | string> {
  return Object.fromEntries(
    frame.layout.series.map(({ metric, labels }, slot) => {
      const own = metric.labels.map(({ name }) => labelValue(labels, name)).filter(Boolean);
      expect(labelValue(labels, "host")).toBe("node1");
      const state = presenceNames[frame.presence[slot] ?? 0] ?? "";
      return [
        [metric.name, ...own].join(" "),
        state === "present" ? (frame.values[slot] ?? Number.NaN) : state,
      ];
    }),
  );
}
const read = async (from: HostSource, tier: Tier) => shown(await from.read(tier, 0));

test("every metric is read on the schedule its catalogue entry names", async () => {
  await writeTree(folder, machineTree);
  const from = source();
  for (const tier of from.tiers) {
    const { layout } = await from.read(tier, 0);
    for (const { metric } of layout.series)
      expect(`${metric.name} ${metric.tier}`).toBe(`${metric.name} ${tier}`);
  }
});

test("the fast reading gives processors, load, memory, whole disks and real interfaces", async () => {
  await writeTree(folder, machineTree);
  expect(await read(source(), "fast")).toEqual({
    "host_cpu_seconds_total user": 10,
    "host_cpu_seconds_total nice": 2,
    "host_cpu_seconds_total system": 3,
    "host_cpu_seconds_total idle": 400,
    "host_cpu_seconds_total iowait": 0.5,
    "host_cpu_seconds_total irq": 0.06,
    "host_cpu_seconds_total softirq": 0.07,
    "host_cpu_seconds_total steal": 0.08,
    host_context_switches_total: 123_456,
    host_processes_running: 3,
    host_processes_blocked: 1,
    host_load1: 0.31,
    host_load5: 0.42,
    host_load15: 1.5,
    host_memory_available_bytes: 600 * 1_024,
    host_memory_used_bytes: 400 * 1_024,
    host_memory_free_bytes: 200 * 1_024,
    host_memory_cached_bytes: 300 * 1_024,
    host_swap_used_bytes: 10 * 1_024,
    "host_disk_bytes_total nvme0n1 read": 2_000 * 512,
    "host_disk_bytes_total nvme0n1 write": 5_000 * 512,
    "host_disk_operations_total nvme0n1 read": 100,
    "host_disk_operations_total nvme0n1 write": 40,
    "host_disk_operation_seconds_total nvme0n1 read": 0.03,
    "host_disk_operation_seconds_total nvme0n1 write": 0.06,
    "host_disk_busy_seconds_total nvme0n1": 0.07,
    "host_network_bytes_total ens3 receive": 1_000,
    "host_network_packets_total ens3 receive": 10,
    "host_network_errors_total ens3 receive": 1,
    "host_network_drops_total ens3 receive": 2,
    "host_network_bytes_total ens3 transmit": 2_000,
    "host_network_packets_total ens3 transmit": 20,
    "host_network_errors_total ens3 transmit": 3,
    "host_network_drops_total ens3 transmit": 4,
  });
});

test("the static reading gives the machine's facts", async () => {
  await writeTree(folder, machineTree);
  const values = await read(source(), "static");
  expect(values).toMatchObject({
    "host_cpu_info Intel(R) Xeon(R) Platinum 8480C GenuineIntel": 1,
    host_cpu_sockets: 2,
    host_cpu_cores: 4,
    host_cpu_threads: 5,
    host_cpu_clock_max_hertz: 3_800_000_000,
    host_boot_timestamp_seconds: 1_700_000_000,
    host_memory_total_bytes: 1_000 * 1_024,
    host_swap_total_bytes: 50 * 1_024,
  });
  expect(Object.keys(values)[0]).toMatch(/^host_info Test Linux 1 6\.8\.0-test /);
});

test("the slow reading gives links, temperatures, pressure and the filesystems of disks, once each", async () => {
  await writeTree(folder, machineTree);
  const values = await read(source(0), "slow");
  expect(values).toMatchObject({
    "host_network_link_bytes_per_second ens3": 25_000 * 125_000,
    "host_cpu_temperature_celsius coretemp.0 Package id 0": 54,
    "host_cpu_temperature_celsius coretemp.0 Core 0": 51.5,
    "host_temperature_celsius nvme0 Composite": 38.9,
    "host_pressure_waiting_seconds_total cpu": 1.5,
    "host_pressure_stalled_seconds_total cpu": "unsupported",
    "host_pressure_stalled_seconds_total memory": 0.25,
    "host_pressure_waiting_seconds_total io": "unsupported",
    "host_filesystem_size_bytes / /dev/nvme0n1p1 ext4": 4_096_000,
    "host_filesystem_available_bytes /data disk /dev/mapper/vg-data xfs": 1_024_000,
    "host_filesystem_files_free /sub /dev/sdb btrfs": 32,
    "host_left_out filesystems": 0,
  });
  const names = Object.keys(values).join("\n");
  for (const not of ["/mnt/bound", "/nfs", "/snap", "/run", "/sub/deeper", "host_container"])
    expect(names).not.toContain(not);
});

test("sensors of GPUs and disks are not even opened: a look could wake them", async () => {
  await writeTree(folder, machineTree);
  const fileAccess = traceFileAccess();
  await source(0, fileAccess).read("slow", 0);
  const touched = fileAccess.touched.filter((path) => /hwmon[23]\/(?!name$)/.test(path));
  expect(fileAccess.touched.some((path) => path.endsWith("hwmon0/temp1_input"))).toBe(true);
  expect(touched).toEqual([]);
});

const web = "1a1a1a1a1a1a docker";
const main = `2b2b2b2b2b2b containerd main train-0 ${podUid} research`;
const side = `3c3c3c3c3c3c containerd ${podUid}`;

test("containers report processor, memory, disk, network and limits; what is unlimited or not reported is absent", async () => {
  await writeTree(folder, machineTree);
  const values = await read(source(), "slow");
  expect(values).toMatchObject({
    host_containers: 4,
    [`host_container_cpu_seconds_total ${web}`]: 2.5,
    [`host_container_cpu_throttled_seconds_total ${web}`]: 0.125,
    [`host_container_cpu_limit_cores ${web}`]: 1.5,
    [`host_container_memory_bytes ${web}`]: 1_000_000,
    [`host_container_memory_working_set_bytes ${web}`]: 800_000,
    [`host_container_memory_limit_bytes ${web}`]: 4_000_000,
    [`host_container_oom_kills_total ${web}`]: 2,
    [`host_container_disk_bytes_total ${web} read`]: 101,
    [`host_container_disk_bytes_total ${web} write`]: 202,
    [`host_container_disk_operations_total ${web} read`]: 4,
    [`host_container_disk_operations_total ${web} write`]: 5,
    [`host_container_start_timestamp_seconds ${web}`]: 1_700_000_010,
    [`host_container_network_bytes_total ${web} receive`]: 700,
    [`host_container_network_bytes_total ${web} transmit`]: 1_400,
    [`host_container_network_drops_total ${web} transmit`]: 6,
    [`host_container_cpu_limit_cores ${main}`]: "unsupported",
    [`host_container_memory_limit_bytes ${main}`]: "unsupported",
    [`host_container_memory_working_set_bytes ${main}`]: 0,
    [`host_container_oom_kills_total ${main}`]: "unsupported",
    [`host_container_disk_bytes_total ${main} read`]: 0,
    [`host_container_network_bytes_total ${main} receive`]: 800,
    [`host_container_cpu_seconds_total ${side}`]: 0.000001,
    "host_container_cpu_seconds_total slurm 4711": 7,
  });
  expect(values).not.toHaveProperty(`host_container_network_bytes_total ${side} receive`);
});

test("containers that come and go are counted, and the count of shown ones is bounded", async () => {
  await writeTree(folder, machineTree);
  const from = source(1);
  const first = await read(from, "slow");
  expect(first).toMatchObject({
    host_containers: 4,
    host_container_starts_total: 0,
    "host_left_out containers": 3,
  });
  expect(
    Object.keys(first).filter((name) => name.startsWith("host_container_cpu_seconds")),
  ).toHaveLength(1);
  await rm(join(folder, "sys/fs/cgroup", containerPaths.web), { recursive: true });
  await writeTree(folder, {
    [`sys/fs/cgroup/machine.slice/libpod-${"4d".repeat(32)}.scope/container/cgroup.procs`]: "",
    [`sys/fs/cgroup/docker/${"5e".repeat(32)}/cpu.stat`]: "usage_usec 1\n",
  });
  expect(await read(from, "slow")).toMatchObject({
    host_containers: 5,
    host_container_starts_total: 2,
    host_container_stops_total: 1,
  });
});

test("a container whose first process has ended is looked at again, and its settings once a minute", async () => {
  await writeTree(folder, machineTree);
  const from = source();
  await read(from, "slow");
  await rm(join(folder, "proc/200"), { recursive: true });
  await writeTree(folder, {
    [`sys/fs/cgroup/${containerPaths.web}/cgroup.procs`]: "210\n",
    [`sys/fs/cgroup/${containerPaths.main}/cpu.max`]: "50000 100000\n",
    "proc/210/ns/net": { link: "net:[4026532001]" },
    "proc/210/net/dev": "eth0: 1 2 3 4 0 0 0 0 5 6 7 8 0 0 0 0\n",
  });
  const receive = `host_container_network_bytes_total ${web} receive`;
  const limit = `host_container_cpu_limit_cores ${main}`;
  expect((await read(from, "slow"))[receive]).toBe("unsupported");
  expect(await read(from, "slow")).toMatchObject({ [receive]: 1, [limit]: "unsupported" });
  nowMs = 61_000;
  expect(await read(from, "slow")).toMatchObject({ [limit]: 0.5 });
});

test("frames share a layout until a thing comes or goes", async () => {
  await writeTree(folder, machineTree);
  const from = source();
  const first = await from.read("slow", 0);
  expect((await from.read("slow", 1)).layout).toBe(first.layout);
  await rm(join(folder, "sys/fs/cgroup", containerPaths.job), { recursive: true });
  expect((await from.read("slow", 2)).layout).not.toBe(first.layout);
});

test("a machine without these files has absences with reasons, and nothing throws", async () => {
  const from = source();
  expect(await read(from, "fast")).toMatchObject({
    "host_cpu_seconds_total user": "unsupported",
    host_load1: "unsupported",
    host_memory_used_bytes: "unsupported",
  });
  expect(await read(from, "slow")).toMatchObject({ host_containers: "unsupported" });
  expect(await read(from, "static")).toMatchObject({ host_cpu_info: "unsupported" });
});

test("a filesystem that hangs is late once, and not asked again while it hangs", async () => {
  await writeTree(folder, machineTree);
  const asked: string[] = [];
  const from = new HostSource({
    host: "node1",
    procfs: join(folder, "proc"),
    sysfs: join(folder, "sys"),
    nowMs: () => 0,
    containers: 0,
    askSpace: (path) => {
      asked.push(path);
      return path.endsWith("disk") ? new Promise(() => {}) : Promise.resolve(space);
    },
  });
  const size = "host_filesystem_size_bytes /data disk /dev/mapper/vg-data xfs";
  expect((await read(from, "slow"))[size]).toBe("failed");
  const before = asked.filter((path) => path.endsWith("disk"));
  expect((await read(from, "slow"))[size]).toBe("failed");
  expect(asked.filter((path) => path.endsWith("disk"))).toEqual(before);
});

test.each([
  ["docker", true],
  ["kubepods.slice", true],
  ["user@1000.service", true],
  ["slurmstepd.scope", true],
  ["ssh.service", false],
  ["session-3.scope", false],
  ["memory.current", false],
  ["cgroup.procs", false],
])("%s is entered in search of containers: %s", (name, expected) =>
  expect(worthEntering(name)).toBe(expected),
);

test.each([
  ["150000 100000", 1.5],
  ["max 100000", "none"],
  ["5 0", undefined],
  ["", undefined],
])("cpu.max %j is %s cores", (text, cores) => expect(parseCpuMax(text)).toBe(cores));

test("the doctor says what can be read, and what needs Linux", async () => {
  await writeTree(folder, machineTree);
  const context = (root: string) => ({
    host: "node1",
    log: silentLog,
    nowMs: () => 0,
    procfs: join(root, "proc"),
    sysfs: join(root, "sys"),
  });
  const options = v.parse(host.options, {});
  expect(await host.doctor(options, context(folder))).toMatchObject({ state: "found" });
  expect(await host.doctor(options, context("/nowhere"))).toMatchObject({ state: "not-found" });
});

test(
  "whatever the bytes, the kernel's files end in values or nothing",
  () =>
    fuzz({
      seed: 31,
      samples: Object.values(machineTree).filter(
        (content) => typeof content === "string" && content.length > 10,
      ) as string[],
      parse: (bytes) => {
        const text = bytes.toString("utf8");
        return [
          parseProcStat,
          parseLoad,
          parseMeminfo,
          parseDiskstats,
          parseNetDev,
          parseCpuinfo,
          parsePressure,
          parseMountinfo,
          parseOsRelease,
          parseFlatKeyed,
          parseCpuMax,
          parseLimit,
          parseIoStat,
          lowestPid,
        ].map((parse) => parse(text));
      },
    }),
  fuzzTimeoutMs,
);
