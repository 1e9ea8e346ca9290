import { expect, test } from "vitest";
import { catalogue, gpu } from "../../model/catalogue/index.ts";
import type { Frame } from "../../model/frame.ts";
import { presence } from "../../model/presence.ts";
import { PageWriter } from "../prometheus/page.ts";
import { CompatFrames, type CompatInput } from "./compat.ts";
import {
  type CompatFixtureReading,
  everything,
  h200,
  inputOf,
  mi250,
  mi300,
  nextOf,
} from "../../../test/fixtures/formats/compat.ts";
import { type CompatName, compatNames, compatTables } from "./tables.ts";

const mib = 1_048_576;

function frames(names: readonly CompatName[], ...inputs: CompatInput[]): readonly Frame[] {
  return new CompatFrames(names.map((name) => compatTables[name])).of(inputs);
}

/** The samples of the page as `name{labels} value`, without headers. */
function samples(names: readonly CompatName[], ...inputs: CompatInput[]): string[] {
  return new PageWriter("text")
    .write(frames(names, ...inputs))
    .split("\n")
    .filter((line) => line !== "" && !line.startsWith("#"));
}

const deviceFor = (name: CompatName) => (compatTables[name].vendor === "amd" ? mi300 : h200);

/** The only value under a name, ignoring labels; undefined if there is none. */
function valueOf(
  name: CompatName,
  metric: string,
  readings: readonly CompatFixtureReading[],
): number | undefined {
  const found = samples([name], inputOf(deviceFor(name), readings)).filter(
    (line) => line.startsWith(`${metric}{`) || line.startsWith(`${metric} `),
  );
  expect(found.length).toBeLessThan(2);
  return found[0] === undefined ? undefined : Number(found[0].slice(found[0].lastIndexOf(" ") + 1));
}

test.each<[CompatName, string, number, CompatFixtureReading[]]>([
  ["dcgm", "DCGM_FI_DEV_FB_USED", 33_000, [[gpu.memoryUsed, {}, 33_000 * mib + 1_000_000]]],
  ["dcgm", "DCGM_FI_DEV_FB_FREE", 110_155, [[gpu.memoryFree, {}, 110_155 * mib]]],
  ["dcgm", "DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", 123_456, [[gpu.energy, {}, 123.456]]],
  ["dcgm", "DCGM_FI_DEV_SM_CLOCK", 1_980, [[gpu.clock, { domain: "sm" }, 1.98e9]]],
  ["dcgm", "DCGM_FI_DEV_SM_CLOCK", 345, [[gpu.clock, { domain: "graphics" }, 3.45e8]]],
  ["dcgm", "DCGM_FI_DEV_MEM_CLOCK", 3_201, [[gpu.clock, { domain: "memory" }, 3.201e9]]],
  ["dcgm", "DCGM_FI_DEV_GPU_UTIL", 7, [[gpu.utilization, {}, 0.07]]],
  ["dcgm", "DCGM_FI_PROF_GR_ENGINE_ACTIVE", 0.07, [[gpu.utilization, {}, 0.07]]],
  ["dcgm", "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", 0.4321, [[gpu.tensorActivity, {}, 0.4321]]],
  ["dcgm", "DCGM_FI_DEV_GPU_TEMP", 52, [[gpu.temperature, { sensor: "edge" }, 52]]],
  ["dcgm", "DCGM_FI_DEV_MEMORY_TEMP", 40, [[gpu.temperature, { sensor: "memory" }, 40]]],
  [
    "dcgm",
    "DCGM_FI_DEV_POWER_VIOLATION",
    1_500_000_000,
    [[gpu.throttleSeconds, { reason: "power_cap" }, 1.5]],
  ],
  [
    "dcgm",
    "DCGM_FI_DEV_THERMAL_VIOLATION",
    3_000_000_000,
    [
      [gpu.throttleSeconds, { reason: "thermal" }, 2],
      [gpu.throttleSeconds, { reason: "thermal_hardware" }, 3],
    ],
  ],
  [
    "dcgm",
    "DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL",
    6,
    [
      [gpu.interconnectBytes, { link: "0", direction: "receive" }, 2_048],
      [gpu.interconnectBytes, { link: "1", direction: "transmit" }, 4_096],
    ],
  ],
  ["dcgm-old", "dcgm_total_energy_consumption", 123_456, [[gpu.energy, {}, 123.456]]],
  ["dcgm-old", "dcgm_gpu_utilization", 42, [[gpu.utilization, {}, 0.42]]],
  ["dcgm-old", "dcgm_fi_prof_dram_active", 0.5, [[gpu.dramActivity, {}, 0.5]]],
  ["amd", "gpu_energy_consumed", 123_456_000, [[gpu.energy, {}, 123.456]]],
  ["amd", "gpu_used_vram", 512, [[gpu.memoryUsed, {}, 512 * mib]]],
  [
    "amd",
    "gpu_free_gtt",
    768,
    [
      [gpu.sharedMemoryTotal, {}, 1_024 * mib],
      [gpu.sharedMemoryUsed, {}, 256 * mib],
    ],
  ],
  ["amd", "gpu_package_power", 250.5, [[gpu.power, {}, 250.5]]],
  ["amd", "gpu_package_power", 99, [[gpu.chipPower, {}, 99]]],
  ["amd", "gpu_gfx_activity", 100, [[gpu.utilization, {}, 1]]],
  ["amd", "gpu_junction_temperature", 71.5, [[gpu.temperature, { sensor: "hotspot" }, 71.5]]],
  ["amd", "gpu_gfx_voltage", 891, [[gpu.voltage, { rail: "gfx" }, 0.891]]],
  ["amd", "pcie_speed", 32, [[gpu.pcieLinkGeneration, {}, 5]]],
  ["amd", "pcie_max_speed", 2.5, [[gpu.pcieLinkGenerationMax, {}, 1]]],
  [
    "amd",
    "pcie_bandwidth",
    24,
    [
      [gpu.pcieThroughput, { direction: "receive" }, 1e6],
      [gpu.pcieThroughput, { direction: "transmit" }, 2e6],
    ],
  ],
  [
    "amd",
    "gpu_ecc_uncorrect_total",
    5,
    [
      [gpu.blockErrors, { block: "umc", type: "uncorrected" }, 2],
      [gpu.blockErrors, { block: "gfx", type: "uncorrected" }, 3],
      [gpu.eccErrors, { type: "uncorrected" }, 2],
    ],
  ],
  ["amd", "gpu_ecc_correct_total", 4, [[gpu.eccErrors, { type: "corrected" }, 4]]],
  [
    "amd",
    "gpu_xgmi_link_rx",
    3,
    [[gpu.interconnectBytes, { link: "7", direction: "receive" }, 3_500]],
  ],
  ["amd", "gpu_health", 1, [[gpu.up, {}, 1]]],
  ["amd", "gpu_health", 0, [[gpu.up, {}, 0]]],
  [
    "amd",
    "gpu_health",
    0,
    [
      [gpu.up, {}, 1],
      [gpu.eccErrors, { type: "uncorrected" }, 1],
    ],
  ],
  ["amd", "gpu_nodes_total", 1, [[gpu.info, {}, 1]]],
  ["nvidia-smi", "nvidia_smi_utilization_gpu_ratio", 0.42, [[gpu.utilization, {}, 0.42]]],
  ["nvidia-smi", "nvidia_smi_memory_used_bytes", 706_740_224, [[gpu.memoryUsed, {}, 706_740_224]]],
  [
    "nvidia-smi",
    "nvidia_smi_clocks_current_graphics_clock_hz",
    1.98e9,
    [[gpu.clock, { domain: "graphics" }, 1.98e9]],
  ],
  ["nvidia-smi", "nvidia_smi_power_draw_watts", 627.4, [[gpu.power, {}, 627.4]]],
  ["nvidia-smi", "nvidia_smi_energy_joules_total", 123.456, [[gpu.energy, {}, 123.456]]],
  [
    "nvidia-smi",
    "nvidia_smi_clocks_event_reasons_gpu_idle",
    1,
    [[gpu.clockEventReasons, {}, 0x101]],
  ],
  [
    "nvidia-smi",
    "nvidia_smi_clocks_throttle_reasons_gpu_idle",
    0,
    [[gpu.clockEventReasons, {}, 4]],
  ],
  ["nvidia-smi", "nvidia_smi_clocks_event_reasons_active", 257, [[gpu.clockEventReasons, {}, 257]]],
  ["nvidia-smi", "nvidia_smi_power_draw_average_watts", 88.5, [[gpu.powerAverage, {}, 88.5]]],
  ["nvidia-smi", "nvidia_smi_temperature_gpu_tlimit", 19, [[gpu.temperatureMargin, {}, 19]]],
  ["nvidia-smi", "nvidia_smi_utilization_jpeg_ratio", 0.2, [[gpu.jpegUtilization, {}, 0.2]]],
  ["nvidia-smi", "nvidia_smi_pcie_link_gen_gpucurrent", 4, [[gpu.pcieLinkGeneration, {}, 4]]],
  ["nvidia-smi", "nvidia_smi_mig_mode_pending", 1, [[gpu.migPending, {}, 1]]],
  [
    "nvidia-smi",
    "nvidia_smi_compute_app_info",
    1,
    [[gpu.processInfo, { pid: "7", kind: "both" }, 1]],
  ],
  [
    "nvidia-smi",
    "nvidia_smi_clocks_event_reasons_hw_slowdown",
    1,
    [
      [gpu.throttleActive, { reason: "thermal_hardware" }, 0],
      [gpu.throttleActive, { reason: "power_brake" }, 1],
    ],
  ],
  ["nvidia-smi", "nvidia_smi_index", 3, [[gpu.info, {}, 1]]],
  ["nvidia-smi", "nvidia_smi_count", 1, [[gpu.info, {}, 1]]],
  ["nvidia-smi", "nvidia_smi_last_collect_success_timestamp_seconds", 5, [[gpu.up, {}, 1]]],
])("%s: %s is %d", (name, metric, expected, readings) => {
  expect(valueOf(name, metric, readings)).toBe(expected);
});

test.each<[string, string, CompatFixtureReading[]]>([
  ["nvidia_smi_clocks_event_reasons_gpu_idle", "utilisation alone", [[gpu.utilization, {}, 0]]],
  ["nvidia_smi_power_draw_average_watts", "a card without an average", [[gpu.power, {}, 39]]],
  [
    "nvidia_smi_compute_app_used_memory_bytes",
    "a process without memory",
    [
      [gpu.processInfo, { pid: "7", kind: "both" }, 1],
      [gpu.processMemory, { pid: "7", kind: "both" }, "unsupported"],
    ],
  ],
])("nvidia-smi: %s is not made of %s", (metric, _, readings) => {
  expect(valueOf("nvidia-smi", metric, readings)).toBeUndefined();
});

test("nvidia-smi: a margin computed from a limit is no T.Limit", () => {
  const { frame, devices } = inputOf(h200, [[gpu.temperatureMargin, {}, 30]]);
  const series = frame.layout.series.map((one) => ({ ...one, derived: true }) as const);
  const computed = { frame: { ...frame, layout: { series } }, devices };
  expect(samples(["nvidia-smi"], computed)).toEqual([]);
});

test("MIG instances are no GPUs: not in the count, and not under names of whole GPUs", () => {
  const instances = ["MIG-1", "MIG-2"].map((uuid) => ({
    ...h200,
    uuid,
    parent: h200.uuid,
    model: "NVIDIA H200 MIG 1g.18gb",
  }));
  const readings: CompatFixtureReading[] = [
    [gpu.info, {}, 1],
    [gpu.memoryUsed, {}, mib],
  ];
  const inputs = [h200, ...instances].map((device) => inputOf(device, readings));
  const page = samples(["nvidia-smi"], ...inputs);
  expect(page.filter((line) => line.startsWith("nvidia_smi_count"))).toEqual([
    'nvidia_smi_count{uuid="6f1a2b3c-0000-1111-2222-333344445555"} 1',
  ]);
  expect(page.filter((line) => line.startsWith("nvidia_smi_gpu_info"))).toHaveLength(1);
  expect(samples(["dcgm"], ...inputs).filter((line) => line.includes("FB_USED"))).toHaveLength(3);
});

test.each<[string, number | undefined, CompatFixtureReading[]]>([
  ["none was seen", 0, [[gpu.xidWatched, {}, 1]]],
  ["none is reported by this card", undefined, [[gpu.up, {}, 1]]],
  ["none can be reported", undefined, [[gpu.xidWatched, {}, "unsupported"]]],
  [
    "the newer of two",
    79,
    [
      [gpu.up, {}, 1],
      [gpu.xidLast, { xid: "31" }, 1_000],
      [gpu.xidLast, { xid: "79" }, 2_000],
    ],
  ],
])("DCGM_FI_DEV_XID_ERRORS is a code: %s gives %s", (_, expected, readings) => {
  expect(valueOf("dcgm", "DCGM_FI_DEV_XID_ERRORS", readings)).toBe(expected);
});

test("dcgm: labels are that exporter's, the host under both of its names", () => {
  const owner = { pod: "trainer-0", namespace: "research", container: "main", workload: "8812" };
  expect(
    samples(
      ["dcgm"],
      inputOf(h200, [
        [gpu.power, {}, 83.25],
        [gpu.ownerInfo, owner, 1],
      ]),
    ),
  ).toEqual([
    'DCGM_FI_DEV_POWER_USAGE{DCGM_FI_DRIVER_VERSION="580.159.04",Hostname="node-1",UUID="GPU-6f1a2b3c-0000-1111-2222-333344445555",' +
      'container="main",device="nvidia3",gpu="3",hostname="node-1",hpc_job="8812",modelName="NVIDIA H200",namespace="research",' +
      'pci_bus_id="00000000:8A:00.0",pod="trainer-0"} 83.25',
  ]);
});

test("amd and nvidia-smi: labels are those exporters'", () => {
  const partition: CompatFixtureReading = [
    gpu.partitionInfo,
    { compute: "SPX", memory: "NPS1" },
    1,
  ];
  expect(samples(["amd"], inputOf(mi300, [partition, [gpu.pcieReplays, {}, 2]]))).toEqual([
    'pcie_replay_count{card_model="102-G30211-0C",card_series="AMD Instinct MI300X",card_vendor="Advanced Micro Devices, Inc. [AMD/ATI]",' +
      'driver_version="6.12.12",gpu_compute_partition_type="spx",gpu_id="0",gpu_memory_partition_type="nps1",' +
      'gpu_partition_id="0",gpu_uuid="amd-0000:c1:00.0",hostname="node-1",vbios_version="113-M3000100-102"} 2',
  ]);
  expect(samples(["nvidia-smi"], inputOf(h200, [[gpu.performanceState, {}, 0]]))).toEqual([
    'nvidia_smi_pstate{uuid="6f1a2b3c-0000-1111-2222-333344445555"} 0',
  ]);
});

test("a GPU that several share carries no pod: one label would name the wrong one", () => {
  const page = samples(
    ["dcgm"],
    inputOf(h200, [
      [gpu.power, {}, 100],
      [gpu.ownerInfo, { pod: "a" }, 1],
      [gpu.ownerInfo, { pod: "b" }, 1],
    ]),
  );
  expect(page).toHaveLength(1);
  expect(page[0]).not.toContain("pod=");
});

test("an owner that goes takes its labels along though the layout stays", () => {
  const compat = new CompatFrames([compatTables.dcgm]);
  const first = inputOf(h200, [
    [gpu.power, {}, 100],
    [gpu.ownerInfo, { pod: "a" }, 1],
  ]);
  const held = compat.of([first])[0];
  const next = nextOf(first, [
    [gpu.power, {}, 90],
    [gpu.ownerInfo, { pod: "a" }, "ended"],
  ]);
  const free = compat.of([next])[0];
  expect(held?.layout.series[0]?.labels).toContainEqual(["pod", "a"]);
  expect(free?.layout.series[0]?.labels.map(([name]) => name)).not.toContain("pod");
});

test("while layouts and owners stay the same, so does the layout given out; values follow", () => {
  const compat = new CompatFrames([compatTables.dcgm]);
  const first = inputOf(h200, [[gpu.power, {}, 100]]);
  const before = compat.of([first])[0];
  const after = compat.of([{ ...nextOf(first, [[gpu.power, {}, 90]]), devices: [{ ...h200 }] }])[0];
  expect(after?.layout).toBe(before?.layout);
  expect([before?.values[0], after?.values[0]]).toEqual([100, 90]);
  const renamed = compat.of([{ ...first, devices: [{ ...h200, driver: "590.1" }] }])[0];
  expect(renamed?.layout).not.toBe(before?.layout);
});

test.each(compatNames)(
  "%s: what is absent stays absent, with its reason, and is never 0",
  (name) => {
    const device = deviceFor(name);
    const [frame] = frames([name], inputOf(device, everything("asleep")));
    expect(frame?.layout.series.length).toBeGreaterThan(10);
    expect([...new Set(frame?.presence)]).toEqual([presence.asleep]);
    expect(samples([name], inputOf(device, everything("asleep")))).toEqual([]);
  },
);

test("half of a sum is no sum, and a difference needs both", () => {
  expect(
    valueOf("dcgm", "DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL", [
      [gpu.interconnectBytes, { link: "0", direction: "receive" }, 2_048],
      [gpu.interconnectBytes, { link: "0", direction: "transmit" }, "failed"],
    ]),
  ).toBeUndefined();
  expect(
    valueOf("amd", "gpu_free_gtt", [
      [gpu.sharedMemoryTotal, {}, mib],
      [gpu.sharedMemoryUsed, {}, "denied"],
    ]),
  ).toBeUndefined();
});

test("a series that two sources report is counted once", () => {
  const link: CompatFixtureReading = [
    gpu.interconnectBytes,
    { link: "0", direction: "receive" },
    2_048,
  ];
  expect(samples(["dcgm"], inputOf(h200, [link]), inputOf(h200, [link]))).toEqual([
    expect.stringMatching(/^DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL\{.*\} 2$/),
  ]);
});

test("a table speaks of its vendor's GPUs alone", () => {
  const page = [inputOf(h200, everything(1)), inputOf(mi300, everything(1))];
  for (const name of compatNames) {
    const other = compatTables[name].vendor === "amd" ? "nvidia" : "amd";
    const [frame] = frames([name], ...page.filter((one) => one.devices[0]?.vendor === other));
    expect(frame).toBeUndefined();
  }
});

test("a simulated GPU says so under every name", () => {
  const simulated = { ...h200, simulated: true };
  const page = samples(["dcgm", "dcgm-old", "nvidia-smi"], inputOf(simulated, everything(1)));
  expect(page.length).toBeGreaterThan(100);
  expect(page.filter((line) => !line.includes('simulated="true"'))).toEqual([]);
});

test("without a table there is no frame", () => {
  expect(frames([], inputOf(h200, everything(1)))).toEqual([]);
});

test.each(compatNames)("%s: every row finds its series where every reading is there", (name) => {
  // A card has one of AMD's two power names, depending on its model.
  const devices = compatTables[name].vendor === "amd" ? [mi300, mi250] : [h200];
  const given = new Set(
    devices.flatMap((device) => {
      const [frame] = frames([name], inputOf(device, everything(1)));
      return (frame?.layout.series ?? []).flatMap(({ metric }, slot) =>
        frame?.presence[slot] === presence.present ? [metric.name] : [],
      );
    }),
  );
  // A driver version with two dots is not a number, in that exporter and here.
  const rows = compatTables[name].rows.filter(
    ({ name: row, ofInstances }) => row !== "nvidia_smi_driver_version" && ofInstances !== true,
  );
  expect(rows.filter((row) => !given.has(row.name)).map((row) => row.name)).toEqual([]);
});

test("names are valid, none is ours or another table's, and helps are sentences", () => {
  const own = new Set(catalogue.map((metric) => metric.name));
  const tables = compatNames.map((name) => new Set(compatTables[name].rows.map((row) => row.name)));
  for (const [at, names] of tables.entries())
    for (const name of names) {
      expect(name).toMatch(/^[a-zA-Z_][a-zA-Z0-9_]*$/);
      expect(own.has(name)).toBe(false);
      expect(tables.some((other, place) => place !== at && other.has(name))).toBe(false);
    }
  for (const name of compatNames)
    for (const row of compatTables[name].rows)
      for (const text of [row.help, row.note ?? "."]) expect(text).toMatch(/\.$/);
});

test("a MIG instance has its number and profile, and joins with its GPU under nvidia-smi's names", () => {
  const instance = {
    ...h200,
    uuid: "MIG-11111111-0000-0000-0000-000000000001",
    model: "NVIDIA H200 MIG 1g.18gb",
    parent: h200.uuid,
    mig: { gpuInstance: "9", computeInstance: "0" },
  };
  const page = samples(
    ["dcgm", "nvidia-smi"],
    inputOf(instance, [
      [gpu.info, {}, 1],
      [gpu.smActivity, {}, 0.25],
      [gpu.memoryUsed, {}, 1_000],
    ]),
  );
  const dcgm = page.find((line) => line.startsWith("DCGM_FI_PROF_SM_ACTIVE"));
  expect(dcgm).toMatch(/GPU_I_ID="9",GPU_I_PROFILE="1g\.18gb".* 0\.25$/);
  const uuid = h200.uuid.toLowerCase().replace("gpu-", "");
  expect(page).toContain(
    `nvidia_smi_mig_sm_activity_ratio{gpu_instance_id="9",uuid="${uuid}"} 0.25`,
  );
  expect(page).toContain(
    `nvidia_smi_mig_info{compute_instance_id="0",gpu_instance_id="9",mig_uuid="${instance.uuid}",profile="1g.18gb",uuid="${uuid}"} 1`,
  );
  expect(page.some((line) => line.startsWith("nvidia_smi_memory_used_bytes"))).toBe(false);
});

test("engine activity comes from GPM, and from utilisation where the driver has no GPM", () => {
  const given = (activity: number | "unsupported"): string | undefined =>
    samples(
      ["dcgm"],
      inputOf(h200, [
        [gpu.graphicsActivity, {}, activity],
        [gpu.utilization, {}, 0.99],
      ]),
    ).find((line) => line.startsWith("DCGM_FI_PROF_GR_ENGINE_ACTIVE"));
  expect(given(0.27)).toMatch(/ 0\.27$/);
  expect(given("unsupported")).toMatch(/ 0\.99$/);
});
