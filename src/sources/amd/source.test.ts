import { renameSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { apuTree, radeonTree } from "../../../test/captures/amd-card.ts";
import { metricsBlob } from "../../../test/captures/metrics-blob.ts";
import { frameReadings, readAll } from "../../../test/captures/readings.ts";
import { prefixed, temporaryFolder, writeTree } from "../../../test/captures/tree.ts";
import { silentLog } from "../../base/log.ts";
import { type FileAccess, hostFileAccess } from "../../machine/sysfs/file-access.ts";
import { traceFileAccess } from "../../../test/fixtures/machine/traced-files.ts";
import type { PolledSource } from "../source.ts";
import { examine } from "./doctor.ts";
import type { AmdOptions } from "./define.ts";
import { openAmd } from "./source.ts";

const plain: AmdOptions = { processes: false, pcie: false, tools: "never" };
const { signal } = new AbortController();

interface Place {
  readonly procfs?: string;
  readonly fileAccess?: FileAccess;
  readonly options?: AmdOptions;
}

function open(sysfs: string, place: Place = {}): Promise<PolledSource> {
  const { procfs = temporaryFolder(), fileAccess = hostFileAccess, options = plain } = place;
  const context = { host: "box", log: silentLog, nowMs: () => 0, sysfs, procfs };
  return openAmd(options, context, fileAccess);
}

test("a card's readings come by label, in base units, each tier its own", async () => {
  const procfs = writeTree({ "sys/kernel/osrelease": "6.12.1-test" });
  const source = await open(writeTree(radeonTree), { procfs });
  expect(source.devices()).toEqual([
    {
      uuid: "GPU-5e3d11c0ffee0042",
      index: 0,
      vendor: "amd",
      model: "AMD Radeon RX 7900 XTX",
      simulated: false,
      pciBusId: "0000:2d:00.0",
      driver: "6.12.1-test",
      vbios: "113-TEST0001-100",
    },
  ]);
  expect(frameReadings(await source.read("fast", 1_000, signal))).toEqual({
    gpu_up: 1,
    gpu_asleep: 0,
    gpu_utilization_ratio: 0.87,
    gpu_memory_controller_utilization_ratio: 0.41,
    gpu_video_utilization_ratio: 0.12,
    gpu_memory_used_bytes: 9_663_676_416,
    gpu_memory_free_bytes: 16_089_350_144,
    gpu_memory_visible_used_bytes: 9_663_676_416,
    gpu_memory_shared_used_bytes: 120_000_512,
    'gpu_temperature_celsius{sensor="edge"}': 61,
    'gpu_temperature_celsius{sensor="hotspot"}': 79,
    'gpu_temperature_celsius{sensor="memory"}': 84,
    'gpu_temperature_celsius{sensor="vrm"}': 68,
    gpu_power_watts: 301,
    gpu_power_instant_watts: 322,
    'gpu_clock_hertz{domain="graphics"}': 2_384_000_000,
    'gpu_clock_hertz{domain="memory"}': 1_249_000_000,
    'gpu_clock_hertz{domain="soc"}': 1_200_000_000,
    'gpu_voltage_volts{rail="gfx"}': 0.938,
    'gpu_voltage_volts{rail="soc"}': 0.9,
    'gpu_fan_rpm{fan="1"}': 1_630,
    'gpu_fan_speed_ratio{fan="1"}': 0.4,
    'gpu_throttle_active{reason="power_cap"}': 1,
    'gpu_throttle_active{reason="current"}': 0,
    'gpu_throttle_active{reason="thermal"}': 1,
    'gpu_throttle_active{reason="thermal_hardware"}': 0,
    'gpu_throttle_active{reason="reliability"}': 0,
  });
  expect(frameReadings(await source.read("slow", 1_000, signal))).toEqual({
    gpu_power_limit_watts: 339,
    gpu_pcie_link_generation: 4,
    gpu_pcie_link_width: 16,
    gpu_pcie_replays_total: 3,
    'gpu_pcie_errors_total{severity="correctable"}': 3,
    'gpu_pcie_errors_total{severity="fatal"}': 0,
    'gpu_ecc_errors_total{type="corrected"}': 12,
    'gpu_ecc_errors_total{type="uncorrected"}': 1,
    'gpu_block_errors_total{block="umc",type="corrected"}': 12,
    'gpu_block_errors_total{block="umc",type="uncorrected"}': 1,
    'gpu_block_errors_total{block="sdma",type="corrected"}': 0,
    'gpu_block_errors_total{block="sdma",type="uncorrected"}': 0,
    'gpu_block_errors_total{block="sdma",type="deferred"}': 2,
    'gpu_retired_pages{cause="uncorrected"}': 1,
    gpu_retired_pages_pending: 1,
    gpu_processes: 0,
  });
  const info =
    'gpu_info{driver="6.12.1-test",model="AMD Radeon RX 7900 XTX",pci_bus_id="0000:2d:00.0",vbios="113-TEST0001-100",vendor="amd"}';
  expect(frameReadings(await source.read("static", 1_000, signal))).toEqual({
    [info]: 1,
    gpu_memory_total_bytes: 25_753_026_560,
    gpu_memory_visible_total_bytes: 25_753_026_560,
    gpu_memory_shared_total_bytes: 33_554_432_000,
    'gpu_temperature_limit_celsius{limit="slowdown"}': 110,
    'gpu_temperature_limit_celsius{limit="shutdown"}': 115,
    'gpu_temperature_limit_celsius{limit="memory"}': 108,
    gpu_power_limit_min_watts: 303,
    gpu_power_limit_max_watts: 390,
    gpu_power_limit_default_watts: 339,
    'gpu_clock_max_hertz{domain="graphics"}': 2_526_000_000,
    'gpu_clock_max_hertz{domain="memory"}': 1_249_000_000,
    gpu_pcie_link_generation_max: 4,
    gpu_pcie_link_width_max: 16,
  });
});

test("a module reports its board's part number and the events of its PCIe link", async () => {
  const table = metricsBlob("1.6", {
    pcieRecoveries: 4,
    pcieReplays: 7,
    pcieReplayRollovers: 0,
    pcieNaksSent: 2,
    pcieNaksReceived: 1,
  });
  const sysfs = writeTree({
    ...radeonTree,
    "class/drm/card1/device/product_number": "102-G30211-0C",
    "class/drm/card1/device/gpu_metrics": table,
  });
  const source = await open(sysfs);
  expect(source.devices()[0]).toMatchObject({ partNumber: "102-G30211-0C" });
  expect(await readAll(source, 0)).toMatchObject({
    'gpu_pcie_link_events_total{event="recovery"}': 4,
    'gpu_pcie_link_events_total{event="replay_rollover"}': 0,
    'gpu_pcie_link_events_total{event="nak_sent"}': 2,
    'gpu_pcie_link_events_total{event="nak_received"}': 1,
  });
});

test("an APU reports its package's power and parts, its shared memory, no slot, and no voltage of a rail that is off", async () => {
  const all = await readAll(await open(writeTree(apuTree)), 0);
  expect(all).toMatchObject({
    gpu_power_watts: 14.5,
    'gpu_rail_power_watts{rail="gfx"}': 4.25,
    'gpu_rail_power_watts{rail="cpu"}': 3,
    gpu_memory_shared_used_bytes: 2_500_000_000,
    gpu_memory_shared_total_bytes: 15_000_000_000,
    'gpu_clock_hertz{domain="graphics"}': 800_000_000,
    'gpu_clock_hertz{domain="memory"}': 1_000_000_000,
    'gpu_temperature_celsius{sensor="edge"}': 47,
    'gpu_temperature_celsius{sensor="skin"}': 36,
    'gpu_voltage_volts{rail="gfx"}': "asleep",
    'gpu_voltage_volts{rail="soc"}': 0.712,
  });
  expect(Object.keys(all).filter((name) => /pcie|fan/.test(name))).toEqual([]);
});

test("a card whose power is its chip's is never reported as a board's", async () => {
  const uevent = "DRIVER=amdgpu\nPCI_ID=1002:73BF\nPCI_SLOT_NAME=0000:03:00.0";
  const tree = { ...radeonTree, "class/drm/card1/device/uevent": uevent };
  const all = await readAll(await open(writeTree(tree)), 0);
  expect(all["gpu_chip_power_watts"]).toBe(301);
  expect(all["gpu_power_watts"]).toBeUndefined();
});

test.each([
  ["runtime_status says suspended", { "power/runtime_status": "suspended" }],
  ["it is on its way to sleep", { "power/runtime_status": "suspending" }],
  ["only power_state reports", { "power/runtime_status": "unsupported", power_state: "D3cold" }],
])("when %s the card is asleep, and no sensor file is opened", async (_when, files) => {
  const sysfs = writeTree({ ...radeonTree, ...prefixed("class/drm/card1/device", files) });
  const fileAccess = traceFileAccess();
  const source = await open(sysfs, { fileAccess });
  const first = await readAll(source, 0);
  expect(first).toMatchObject({
    gpu_up: 1,
    gpu_asleep: 1,
    gpu_utilization_ratio: "asleep",
    gpu_power_watts: "asleep",
    gpu_memory_total_bytes: "asleep",
  });
  expect(Object.values(first).filter((value) => value === "failed")).toEqual([]);
  await readAll(source, 70_000);
  await examine(sysfs, fileAccess);
  const opened = fileAccess.touched.filter((file) => file.includes("/card1/device/"));
  expect(opened.length).toBeGreaterThan(5);
  expect(
    opened.filter((file) => /hwmon|gpu_metrics|busy|mem_info|pp_dpm|pcie|ras/.test(file)),
  ).toEqual([]);
});

test("a card that falls asleep keeps its series, all asleep, and is left alone until it wakes", async () => {
  const sysfs = writeTree(radeonTree);
  const status = path.join(sysfs, "class/drm/card1/device/power/runtime_status");
  const fileAccess = traceFileAccess();
  const source = await open(sysfs, { fileAccess });
  const awake = await readAll(source, 0);
  writeFileSync(status, "suspended\n");
  fileAccess.touched.length = 0;
  const sleeping = await readAll(source, 1_000);
  const absent = Object.keys(awake).filter((name) => !/^gpu_(?:up|asleep|info)/.test(name));
  expect(absent.length).toBeGreaterThan(30);
  expect(absent.filter((name) => sleeping[name] !== "asleep")).toEqual([]);
  expect(fileAccess.touched.filter((file) => /hwmon|gpu_metrics/.test(file))).toEqual([]);
  writeFileSync(status, "active\n");
  expect(await readAll(source, 2_000)).toEqual(awake);
});

test("a card that is lost is remembered as down, and is itself again when it comes back under another number", async () => {
  const sysfs = writeTree(radeonTree);
  const drm = path.join(sysfs, "class/drm");
  const source = await open(sysfs);
  const before = await readAll(source, 0);
  const [device] = source.devices();
  renameSync(path.join(drm, "card1"), path.join(sysfs, "away"));
  const lost = frameReadings(await source.read("fast", 1_000, signal));
  expect(lost).toMatchObject({ gpu_up: 0, gpu_power_watts: "failed", gpu_asleep: "failed" });
  expect(source.lossOf?.(device?.uuid ?? "")).toBe("its folder in /sys is gone");
  expect(Object.keys(lost)).toEqual(Object.keys(before).slice(0, Object.keys(lost).length));
  // The driver was reloaded: another card number, another hwmon number.
  renameSync(path.join(sysfs, "away"), path.join(drm, "card2"));
  renameSync(
    path.join(drm, "card2/device/hwmon/hwmon3"),
    path.join(drm, "card2/device/hwmon/hwmon9"),
  );
  const back = frameReadings(await source.read("fast", 11_000, signal));
  expect(back).toMatchObject({ gpu_up: 1, gpu_power_watts: 301 });
  expect(source.lossOf?.(device?.uuid ?? "")).toBeUndefined();
  expect(source.devices()).toEqual([device]);
});

test("a card that comes back under its own number is looked at afresh, since its sensors may have moved", async () => {
  const sysfs = writeTree(radeonTree);
  const folder = path.join(sysfs, "class/drm/card1");
  const source = await open(sysfs);
  await source.read("fast", 0, signal);
  renameSync(folder, path.join(sysfs, "away"));
  await source.read("fast", 1_000, signal);
  renameSync(path.join(sysfs, "away"), folder);
  const hwmon = path.join(folder, "device/hwmon");
  renameSync(path.join(hwmon, "hwmon3"), path.join(hwmon, "hwmon9"));
  expect(frameReadings(await source.read("fast", 2_000, signal))).toMatchObject({
    gpu_up: 1,
    gpu_power_watts: 301,
  });
});

test("a file that may not be read is denied, one that fails is failed, and both are read again with the next tick", async () => {
  const refused = new Map<string, string>();
  const fileAccess: FileAccess = {
    ...hostFileAccess,
    bytes: (file, maxBytes) => {
      const code = refused.get(path.basename(file));
      return code === undefined
        ? hostFileAccess.bytes(file, maxBytes)
        : Promise.reject(Object.assign(new Error(code), { code }));
    },
  };
  const source = await open(writeTree(radeonTree), { fileAccess });
  await readAll(source, 0);
  refused
    .set("gpu_busy_percent", "EBUSY")
    .set("power1_average", "EACCES")
    .set("temp2_input", "EIO");
  expect(frameReadings(await source.read("fast", 1_000, signal))).toMatchObject({
    gpu_up: 1,
    gpu_utilization_ratio: "failed",
    gpu_power_watts: "denied",
    'gpu_temperature_celsius{sensor="edge"}': "failed",
    gpu_power_instant_watts: 322,
  });
  refused.clear();
  expect(frameReadings(await source.read("fast", 2_000, signal))).toMatchObject({
    gpu_utilization_ratio: 0.87,
    gpu_power_watts: 301,
  });
});

test("what was unsupported is asked again after a minute", async () => {
  const sysfs = writeTree(radeonTree);
  const file = path.join(sysfs, "class/drm/card1/device/gpu_busy_percent");
  const source = await open(sysfs);
  const read = async (timeMs: number) =>
    frameReadings(await source.read("fast", timeMs, signal))["gpu_utilization_ratio"];
  expect(await read(0)).toBe(0.87);
  rmSync(file);
  expect(await read(1_000)).toBe("unsupported");
  writeFileSync(file, "55\n");
  expect(await read(2_000)).toBe("unsupported");
  expect(await read(61_000)).toBe(0.55);
});

test("gpu_metrics is opened once a tick at most, and pcie_bw never unless asked for", async () => {
  const fileAccess = traceFileAccess();
  const source = await open(writeTree(radeonTree), { fileAccess });
  await readAll(source, 0);
  fileAccess.touched.length = 0;
  await readAll(source, 1_000);
  const opened = (name: string): number =>
    fileAccess.touched.filter((file) => file.endsWith(name)).length;
  expect(opened("/gpu_metrics")).toBe(1);
  expect(opened("/pcie_bw")).toBe(0);
});

test("PCIe traffic is read in the background when asked for, and reported with the next slow tick", async () => {
  const source = await open(writeTree(radeonTree), { options: { ...plain, pcie: true } });
  const traffic = async (timeMs: number) =>
    frameReadings(await source.read("slow", timeMs, signal))[
      'gpu_pcie_throughput_bytes_per_second{direction="receive"}'
    ];
  expect(await traffic(0)).toBe("failed");
  await expect.poll(() => traffic(5_000)).toBe(256_000_000);
});

test("the slot's link is the one above the card's own switch", async () => {
  const port = (vendor: string, speed: string, width: string) => ({
    vendor,
    current_link_speed: speed,
    current_link_width: width,
    max_link_speed: "16.0 GT/s PCIe",
    max_link_width: "16",
  });
  const root = "devices/pci0000:00/0000:00:01.1";
  const sysfs = writeTree({
    ...prefixed(root, port("0x1022", "16.0 GT/s PCIe", "16")),
    ...prefixed(`${root}/0000:01:00.0`, port("0x1002", "8.0 GT/s PCIe", "4")),
    ...prefixed(`${root}/0000:01:00.0/0000:02:00.0`, port("0x1002", "16.0 GT/s PCIe", "16")),
    ...prefixed(
      `${root}/0000:01:00.0/0000:02:00.0/0000:2d:00.0`,
      Object.fromEntries(
        Object.entries(radeonTree).flatMap(([name, content]) =>
          name.startsWith("class/drm/card1/device/")
            ? [[name.slice("class/drm/card1/device/".length), content]]
            : [],
        ),
      ),
    ),
    "class/drm/card1/device": `-> ../../../${root}/0000:01:00.0/0000:02:00.0/0000:2d:00.0`,
  });
  expect(await readAll(await open(sysfs), 0)).toMatchObject({
    gpu_pcie_link_generation: 3,
    gpu_pcie_link_width: 4,
  });
});

test("an energy counter is reported once the card's own power has settled its step", async () => {
  const sysfs = writeTree(radeonTree);
  const file = path.join(sysfs, "class/drm/card1/device/gpu_metrics");
  const energyAt = async (second: number) => {
    writeFileSync(file, metricsBlob("1.3", { energy: 500_000 + second * 30_000, socketPower: 30 }));
    const frame = await source.read("slow", second * 1_000, signal);
    return frameReadings(frame)["gpu_energy_joules_total"];
  };
  writeFileSync(file, metricsBlob("1.3", { energy: 500_000, socketPower: 30 }));
  const source = await open(sysfs);
  expect(await energyAt(0)).toBe("failed");
  expect(await energyAt(5)).toBe(650);
});

test("Instinct cards report links, partitions and whom they reach", async () => {
  const card = (bus: string, id: string) => ({
    vendor: "0x1002",
    uevent: `DRIVER=amdgpu\nPCI_ID=1002:74A1\nPCI_SLOT_NAME=0000:${bus}:00.0`,
    unique_id: id,
    product_name: "AMD Instinct MI300X OAM",
    current_compute_partition: "CPX",
    current_memory_partition: "NPS4",
    gpu_metrics: metricsBlob("1.7", {
      socketPower: 610,
      energy: 65_536_000,
      xgmiRead: [1_000, 0],
      xgmiWritten: [2_000, 0],
      xgmiStatus: [1, 0],
      partitions: 8,
      dieActivity: [100, ...Array<number>(7).fill(0xffff_ffff), 4],
      pcieReplays: 2,
      residencyPowerCap: 5,
      residencyThermal: 0,
    }),
  });
  const node = (gpuId: number, bus: number, to: number) => ({
    gpu_id: String(gpuId),
    properties: `simd_count 304\nlocation_id ${bus * 256}\ndomain 0`,
    "io_links/0/properties": `type 11\nnode_to ${to}\nmin_bandwidth 50000\nmax_bandwidth 64000`,
    "p2p_links/0/properties": `type 2\nnode_to ${to}\nmax_bandwidth 0`,
  });
  const sysfs = writeTree({
    ...prefixed("class/drm/card0/device", card("11", "00000000000000aa")),
    ...prefixed("class/drm/card8/device", card("12", "00000000000000bb")),
    ...prefixed("class/kfd/kfd/topology/nodes/1", node(101, 0x11, 2)),
    ...prefixed("class/kfd/kfd/topology/nodes/2", node(102, 0x12, 1)),
    "class/kfd/kfd/topology/nodes/0/gpu_id": "0",
    "class/kfd/kfd/topology/nodes/0/properties": "cpu_cores_count 96",
  });
  const source = await open(sysfs);
  await source.read("fast", 0, signal);
  expect(await readAll(source, 1_000, 1)).toMatchObject({
    gpu_power_watts: 610,
    gpu_energy_joules_total: 1_000,
    'gpu_interconnect_bytes_total{direction="receive",link="0"}': 1_024_000,
    'gpu_interconnect_bytes_total{direction="transmit",link="0"}': 2_048_000,
    'gpu_interconnect_up{link="0"}': 1,
    'gpu_interconnect_up{link="1"}': 0,
    'gpu_partition_info{compute="CPX",memory="NPS4"}': 1,
    gpu_partitions: 8,
    'gpu_compute_die_activity_ratio{die="0"}': 1,
    'gpu_compute_die_activity_ratio{die="1"}': 0.04,
    gpu_pcie_replays_total: 2,
    'gpu_p2p_accessible{peer="GPU-00000000000000aa"}': 1,
    'gpu_p2p_bandwidth_bytes_per_second{peer="GPU-00000000000000aa"}': 64e9,
    'gpu_throttle_active{reason="power_cap"}': 0,
    'gpu_throttle_active{reason="thermal"}': 0,
  });
  expect(source.devices().map(({ model, linkType }) => [model, linkType])).toEqual([
    ["AMD Instinct MI300X OAM", "OAM"],
    ["AMD Instinct MI300X OAM", "OAM"],
  ]);
});

test("processes are distinguished from their open files and from kfd, each once", async () => {
  const fdinfo = (gfxNs: number) =>
    `drm-driver:\tamdgpu\ndrm-client-id:\t9\ndrm-pdev:\t0000:2d:00.0\ndrm-memory-vram:\t1024 KiB\ndrm-engine-gfx:\t${gfxNs} ns`;
  const procfs = writeTree({
    "70/comm": "game",
    "70/stat": `70 (game) S ${"0 ".repeat(18)}4242 0`,
    "70/cgroup": "0::/user.slice",
    "70/status": "Uid:\t1000\t1000",
    "70/fd/3": "-> /dev/dri/renderD128",
    "70/fdinfo/3": fdinfo(0),
  });
  const sysfs = writeTree({
    ...radeonTree,
    "class/kfd/kfd/topology/nodes/1/gpu_id": "777",
    "class/kfd/kfd/topology/nodes/1/properties": `location_id ${0x2d * 256}\ndomain 0`,
    "class/kfd/kfd/proc/80/vram_777": "5000000",
    "class/kfd/kfd/proc/80/pasid": "32770",
  });
  const source = await open(sysfs, { procfs, options: { ...plain, processes: true } });
  await readAll(source, 0);
  writeFileSync(path.join(procfs, "70/fdinfo/3"), fdinfo(2_500_000_000));
  const slow = frameReadings(await source.read("slow", 5_000, signal));
  expect(slow).toMatchObject({
    gpu_processes: 2,
    'gpu_process_memory_bytes{kind="graphics",pid="70",process="game"}': 1_048_576,
    'gpu_process_utilization_ratio{kind="graphics",pid="70",process="game"}': 0.5,
    'gpu_process_memory_bytes{kind="compute",pid="80"}': 5_000_000,
  });
});

test("a machine without the driver says who holds the card", async () => {
  const sysfs = writeTree({
    "class/drm/version": "drm 1.1.0",
    "bus/pci/devices/0000:03:00.0/vendor": "0x1002",
    "bus/pci/devices/0000:03:00.0/class": "0x030000",
    "bus/pci/devices/0000:03:00.0/uevent": "DRIVER=vfio-pci",
    "bus/pci/devices/0000:03:00.1/vendor": "0x1002",
    "bus/pci/devices/0000:03:00.1/class": "0x040300",
  });
  expect(await examine(sysfs, hostFileAccess)).toEqual({
    state: "not-found",
    says: "An AMD GPU is at 0000:03:00.0, but the driver vfio-pci holds it and not amdgpu.",
  });
  expect(await examine(temporaryFolder(), hostFileAccess)).toEqual({
    state: "not-found",
    says: "No AMD GPU on this machine.",
  });
  expect((await examine(writeTree(radeonTree), hostFileAccess)).says).toBe(
    "AMD Radeon RX 7900 XTX (0000:2d:00.0).",
  );
});
