import * as v from "valibot";
import { expect, test } from "vitest";
import { temporaryFolder, writeTree } from "../../../test/captures/tree.ts";
import { gpu, type MetricEntry } from "../../model/catalogue/index.ts";
import { type Device, deviceLabels } from "../../model/device.ts";
import { FrameWriter } from "../../model/frame.ts";
import { LayoutBuilder } from "../../model/layout.ts";
import type { Delivery } from "../../pipeline/sink.ts";
import { RecentPower } from "../../sinks/recent/power.ts";
import { hostFileAccess } from "../../machine/sysfs/file-access.ts";
import { unsupported } from "../../machine/sysfs/read-result.ts";
import { HostReader } from "../host.ts";
import { statsSchema } from "./schema.ts";
import { createStats, type HostFacts } from "./stats.ts";

const thread = (processor: number, socket: number, core: number): string =>
  `processor\t: ${processor}\nmodel name\t: AMD EPYC 9654 96-Core Processor\nphysical id\t: ${socket}\ncore id\t\t: ${core}\n`;

/** Two sockets with 96 cores of two threads each. */
const twoSockets = Array.from({ length: 384 }, (_, number) =>
  thread(number, Math.floor(number / 96) % 2, number % 96),
).join("\n");

function hostOf(
  proc: Record<string, string>,
  sys: Record<string, string> = {},
): Promise<HostFacts> {
  const root = writeTree({
    ...Object.fromEntries(Object.entries(proc).map(([name, text]) => [`proc/${name}`, text])),
    ...Object.fromEntries(Object.entries(sys).map(([name, text]) => [`sys/${name}`, text])),
  });
  const machine = { fileAccess: hostFileAccess, architecture: "x64", env: {} };
  return new HostReader("box", {
    ...machine,
    procfs: `${root}/proc`,
    sysfs: `${root}/sys`,
  }).read();
}

const statsOf = (host: HostFacts, fresh: readonly Delivery[] = [], power = new RecentPower()) =>
  v.parse(statsSchema, createStats({ nowMs: 10_000, version: "1", host, fresh, power }));

test("a machine of two 96-core processors has 192 cores, whatever this process may use of them", async () => {
  const facts = await hostOf({ cpuinfo: twoSockets, meminfo: "MemTotal:   1585000000 kB\n" });
  expect(statsOf({ ...facts, availableThreads: 2 }).host).toMatchObject({
    processor: { value: "AMD EPYC 9654 96-Core Processor" },
    processors: { value: 2, mlperf: "host_processors_per_node" },
    cores_per_processor: { value: 96, mlperf: "host_processor_core_count" },
    processor_cores: { value: 192, mlperf: null },
    processor_threads: { value: 384, mlperf: null },
    available_threads: { value: 2, mlperf: null },
    memory_total: { value: 1_585_000_000 * 1_024 },
  });
});

test("where cpuinfo lists no cores, /sys counts them", async () => {
  const cpuinfo = [0, 1, 2, 3]
    .map((number) => `processor\t: ${number}\nBogoMIPS\t: 50\n`)
    .join("\n");
  const topology = Object.fromEntries(
    [0, 1, 2, 3].flatMap((number) => [
      [`devices/system/cpu/cpu${number}/topology/thread_siblings_list`, number < 2 ? "0-1" : "2-3"],
      [`devices/system/cpu/cpu${number}/topology/physical_package_id`, "0"],
    ]),
  );
  expect(await hostOf({ cpuinfo }, topology)).toMatchObject({ sockets: 1, cores: 2, threads: 4 });
  expect(await hostOf({ cpuinfo })).toMatchObject({ cores: undefined, threads: 4 });
});

test.each<[string, Record<string, string>, Record<string, string>, number | null]>([
  [
    "version 2",
    { "1/cgroup": "0::/pod\n" },
    { "fs/cgroup/cgroup.controllers": "memory", "fs/cgroup/pod/memory.max": "17179869184" },
    17_179_869_184,
  ],
  [
    "version 1",
    { "1/cgroup": "4:memory:/docker/a\n" },
    { "fs/cgroup/memory/docker/a/memory.limit_in_bytes": "8589934592" },
    8_589_934_592,
  ],
  [
    "no limit",
    { "1/cgroup": "0::/\n" },
    { "fs/cgroup/cgroup.controllers": "memory", "fs/cgroup/memory.max": "max" },
    null,
  ],
])("the container's memory limit by cgroup %s", async (_name, proc, sys, bytes) => {
  const { memory_limit: limit } = statsOf(await hostOf(proc, sys)).host;
  expect(limit).toMatchObject({ value: bytes, unit: "bytes" });
});

test("without /proc the machine still has a name and this process its threads", async () => {
  const machine = {
    procfs: temporaryFolder(),
    sysfs: temporaryFolder(),
    fileAccess: hostFileAccess,
  };
  const facts = await new HostReader("box", { ...machine, architecture: "x64", env: {} }).read();
  expect(statsOf(facts).host).toMatchObject({ name: "box", processor_cores: { value: null } });
});

const card: Device = {
  uuid: "intel-0000:03:00.0",
  index: 0,
  vendor: "intel",
  model: "Intel Arc B580",
  simulated: false,
};

type Given = readonly [MetricEntry, Readonly<Record<string, string>>, number];

function delivery(readings: readonly Given[]): Delivery {
  const builder = new LayoutBuilder();
  for (const [metric, labels] of readings) builder.add(metric, deviceLabels(card, "box", labels));
  const writer = new FrameWriter(builder.build(), 9_000);
  readings.forEach(([, , value], slot) => writer.set(slot, value));
  return {
    frame: writer.finish(),
    source: "intel",
    tier: "fast",
    devices: [card],
    freshForMs: 5_000,
  };
}

const facts: HostFacts = {
  name: "box",
  processor: undefined,
  sockets: undefined,
  cores: undefined,
  threads: undefined,
  availableThreads: 4,
  memoryBytes: 1,
  memoryLimitBytes: unsupported,
};

test("a link of generation 5 and 16 lanes carries 63 GB/s at most", () => {
  const given: Given[] = [
    [gpu.pcieLinkGenerationMax, {}, 5],
    [gpu.pcieLinkWidthMax, {}, 16],
  ];
  const [stats] = statsOf(facts, [delivery(given)]).gpus;
  expect(stats?.pcie_link.bandwidth_max).toEqual({
    value: 63_015_384_615,
    unit: "bytes_per_second",
    mlperf: null,
  });
  const [unknown] = statsOf(facts, [delivery(given.slice(0, 1))]).gpus;
  expect(unknown?.pcie_link.bandwidth_max).toMatchObject({ value: null, absent: "unsupported" });
});

test("energy names its counter, and the chip's power is not passed for the board's", () => {
  const power = new RecentPower();
  const own = delivery([
    [gpu.chipPower, {}, 60],
    [gpu.energy, {}, 3_300],
    [gpu.energyCounterActive, { counter: "card", scope: "board" }, 0],
    [gpu.energyCounterActive, { counter: "pkg", scope: "chip" }, 1],
  ]);
  power.write(own);
  expect(statsOf(facts, [own], power).gpus[0]).toMatchObject({
    average_power: { value: null },
    average_chip_power: { value: 60, samples: 1 },
    energy: { value: 3_300, unit: "joules", counter: "pkg", scope: "chip" },
  });
});

test("the answer of an older agent is still understood", () => {
  const { host, gpus, ...rest } = statsOf(facts, [delivery([[gpu.up, {}, 1]])]);
  const older = {
    ...rest,
    host: {
      name: host.name,
      processor: host.processor,
      processor_cores: { value: 4, mlperf: "host_processor_core_count" },
      memory_total: host.memory_total,
    },
    gpus: gpus.map(
      ({ energy: _e, average_chip_power: _c, part_number: _p, ...gpuStats }) => gpuStats,
    ),
  };
  expect(v.is(statsSchema, older)).toBe(true);
});
