import { renameSync, writeFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { arcTree, i915Tree } from "../../../test/captures/intel-card.ts";
import { noCaptures, publicFolder } from "../../../test/captures/public.ts";
import { frameReadings, readAll } from "../../../test/captures/readings.ts";
import {
  mountCapture,
  temporaryFolder,
  type TreeFiles,
  writeTree,
} from "../../../test/captures/tree.ts";
import { fuzz, fuzzTimeoutMs } from "../../../test/fuzz/mutate.ts";
import { silentLog } from "../../base/log.ts";
import { type FileAccess, hostFileAccess } from "../../machine/sysfs/file-access.ts";
import { parseUevent } from "../../machine/sysfs/drm.ts";
import { groupFiles } from "../../machine/sysfs/hwmon.ts";
import { parseAerTotal, parseLinkSpeed } from "../../machine/sysfs/pci.ts";
import { traceFileAccess } from "../../../test/fixtures/machine/traced-files.ts";
import type { PolledSource } from "../source.ts";
import { CounterRate } from "./graphics.ts";
import { examine } from "./doctor.ts";
import { openIntel } from "./machine.ts";
import { parseReasons, reasonOf } from "./throttle.ts";

const { signal } = new AbortController();

interface Place {
  readonly procfs?: string;
  readonly fileAccess?: FileAccess;
  readonly processes?: boolean;
}

function open(sysfs: string, place: Place = {}): Promise<PolledSource> {
  const { procfs = temporaryFolder(), fileAccess = hostFileAccess, processes = false } = place;
  const context = { host: "box", log: silentLog, nowMs: () => 0, sysfs, procfs };
  return openIntel({ processes }, context, fileAccess);
}

const xeClient = (busy: number, total: number): string =>
  [
    "drm-driver:\txe",
    "drm-client-id:\t4",
    "drm-pdev:\t0000:03:00.0",
    "drm-resident-vram0:\t2048 KiB",
    "drm-resident-system:\t1024 KiB",
    `drm-cycles-ccs:\t${busy}`,
    `drm-total-cycles-ccs:\t${total}`,
    "drm-cycles-vcs:\t0",
    `drm-total-cycles-vcs:\t${total}`,
  ].join("\n");

function clientTree(text: string): TreeFiles {
  return {
    "sys/kernel/osrelease": "6.17.0-test",
    "50/comm": "train",
    "50/stat": `50 (train) S ${"0 ".repeat(18)}7 0`,
    "50/cgroup": "0::/user.slice",
    "50/status": "Uid:\t0\t0",
    "50/fd/8": "-> /dev/dri/renderD129",
    "50/fdinfo/8": text,
  };
}

test("an Arc card under xe reports power by its energy, clocks by part, and engines by its programs", async () => {
  const sysfs = writeTree(arcTree);
  const procfs = writeTree(clientTree(xeClient(1_000, 10_000)));
  const source = await open(sysfs, { procfs, processes: true });
  expect(source.devices()).toEqual([
    {
      uuid: "intel-0000:03:00.0-96620e151803",
      index: 0,
      vendor: "intel",
      model: "Intel Arc B580",
      simulated: false,
      pciBusId: "0000:03:00.0",
      driver: "6.17.0-test",
    },
  ]);
  // The order in which the pipeline starts: a fast read before the first scan of the processes.
  const first = await readAll(source, 0);
  expect(first).toMatchObject({
    gpu_power_watts: "failed",
    gpu_utilization_ratio: "failed",
    gpu_awake_ratio: "failed",
  });
  await source.read("fast", 4_000, signal);
  const device = path.join(sysfs, "class/drm/card1/device");
  writeFileSync(path.join(device, "hwmon/hwmon4/energy1_input"), "5750000000");
  writeFileSync(path.join(device, "hwmon/hwmon4/energy2_input"), "3600000000");
  writeFileSync(path.join(device, "tile0/gt0/gtidle/idle_residency_ms"), "100250");
  writeFileSync(path.join(device, "tile0/gt1/gtidle/idle_residency_ms"), "501000");
  writeFileSync(path.join(procfs, "50/fdinfo/8"), xeClient(4_000, 15_000));
  expect(frameReadings(await source.read("fast", 5_000, signal))).toEqual({
    gpu_up: 1,
    gpu_asleep: 0,
    gpu_utilization_ratio: 0.6,
    gpu_memory_used_bytes: 2_097_152,
    'gpu_clock_hertz{domain="graphics"}': 2_400_000_000,
    'gpu_clock_hertz{domain="media"}': 1_200_000_000,
    gpu_awake_ratio: 0.75,
    'gpu_throttle_active{reason="power_cap"}': 1,
    'gpu_throttle_active{reason="current"}': 1,
    'gpu_throttle_active{reason="thermal"}': 0,
    'gpu_throttle_active{reason="thermal_hardware"}': 0,
    gpu_power_watts: 750,
    gpu_chip_power_watts: 600,
    'gpu_temperature_celsius{sensor="edge"}': 62,
    'gpu_temperature_celsius{sensor="memory"}': 70,
    'gpu_fan_rpm{fan="1"}': 1_100,
    'gpu_voltage_volts{rail="gfx"}': 0.905,
  });
  expect(frameReadings(await source.read("slow", 5_000, signal))).toEqual({
    gpu_power_limit_watts: 190,
    gpu_energy_joules_total: 5_750,
    gpu_pcie_link_generation: 4,
    gpu_pcie_link_width: 8,
    'gpu_pcie_errors_total{severity="correctable"}': 4,
    gpu_processes: 1,
    'gpu_owner_info{user="root"}': 1,
    'gpu_owner_memory_bytes{user="root"}': 2_097_152,
    'gpu_owner_utilization_ratio{user="root"}': 0.6,
    'gpu_process_info{kind="compute",pid="50",process="train"}': 1,
    'gpu_process_memory_bytes{kind="compute",pid="50",process="train"}': 2_097_152,
    'gpu_process_utilization_ratio{kind="compute",pid="50",process="train"}': 0.6,
    'gpu_engine_utilization_ratio{engine="compute"}': 0.6,
    'gpu_engine_utilization_ratio{engine="video"}': 0,
  });
  expect(await readAll(source, 6_000)).toMatchObject({
    gpu_memory_total_bytes: 12_884_901_888,
    'gpu_temperature_limit_celsius{limit="slowdown"}': 100,
    'gpu_temperature_limit_celsius{limit="shutdown"}': 125,
    'gpu_clock_max_hertz{domain="graphics"}': 2_850_000_000,
  });
});

test("a B580 whose card counter stands still reports the package's energy and says so", async () => {
  const sysfs = writeTree({
    ...arcTree,
    "class/drm/card1/device/hwmon/hwmon4/energy1_input": "72000000",
  });
  const source = await open(sysfs);
  expect(await readAll(source, 0)).toMatchObject({
    gpu_power_watts: "failed",
    gpu_energy_joules_total: "failed",
  });
  writeFileSync(
    path.join(sysfs, "class/drm/card1/device/hwmon/hwmon4/energy2_input"),
    "3300000000",
  );
  const all = await readAll(source, 5_000);
  expect(all).toMatchObject({
    gpu_power_watts: "failed",
    gpu_chip_power_watts: 60,
    gpu_energy_joules_total: 3_300,
    'gpu_energy_counter_active{counter="card",scope="board"}': 0,
    'gpu_energy_counter_active{counter="pkg",scope="chip"}': 1,
  });
});

test.each([
  ["fan1_input", "65535", 'gpu_fan_rpm{fan="1"}'],
  ["in1_input", "65535", 'gpu_voltage_volts{rail="gfx"}'],
  ["temp2_input", "65535", 'gpu_temperature_celsius{sensor="edge"}'],
  ["temp3_input", "0", 'gpu_temperature_celsius{sensor="memory"}'],
  ["power1_max", "4294967295", "gpu_power_limit_watts"],
  ["energy1_input", "18446744073709551615", "gpu_power_watts"],
])("hwmon's %s of %s is no reading", async (file, text, series) => {
  const sysfs = writeTree({ ...arcTree, [`class/drm/card1/device/hwmon/hwmon4/${file}`]: text });
  const source = await open(sysfs);
  await readAll(source, 0);
  expect([undefined, "failed", "unsupported"]).toContain((await readAll(source, 5_000))[series]);
});

test("an actual clock of all ones is no reading", async () => {
  const file = "class/drm/card1/device/tile0/gt0/freq0/act_freq";
  const all = await readAll(await open(writeTree({ ...arcTree, [file]: "65535" })), 0);
  expect(all['gpu_clock_hertz{domain="graphics"}']).toBe("unsupported");
});

test("more device memory in use than the card has is no reading", async () => {
  const total = "class/drm/card1/device/tile0/physical_vram_size_bytes";
  const procfs = writeTree(clientTree(xeClient(1_000, 10_000)));
  const source = await open(writeTree({ ...arcTree, [total]: "2097151" }), { procfs });
  await readAll(source, 0);
  expect(await readAll(source, 5_000)).toMatchObject({
    gpu_memory_used_bytes: "failed",
    gpu_memory_total_bytes: 2_097_151,
  });
});

test("counters outlive the minute's look for new files", async () => {
  const sysfs = writeTree(arcTree);
  const source = await open(sysfs);
  await source.read("fast", 0, signal);
  writeFileSync(
    path.join(sysfs, "class/drm/card1/device/hwmon/hwmon4/energy1_input"),
    "8000000000",
  );
  expect(frameReadings(await source.read("fast", 60_000, signal))).toMatchObject({
    gpu_power_watts: 50,
  });
});

test("an integrated GPU under i915 has no slot, shares the machine's memory, and counts its own energy once", async () => {
  const source = await open(writeTree(i915Tree));
  await readAll(source, 0);
  const all = await readAll(source, 1_000);
  expect(all).toMatchObject({
    gpu_utilization_ratio: 0,
    gpu_memory_shared_used_bytes: 0,
    'gpu_clock_hertz{domain="graphics"}': 650_000_000,
    'gpu_clock_max_hertz{domain="graphics"}': 1_400_000_000,
    gpu_awake_ratio: 1,
    gpu_power_watts: 0,
    gpu_energy_joules_total: 800,
    'gpu_throttle_active{reason="power_cap"}': 0,
    'gpu_throttle_active{reason="thermal"}': 0,
  });
  expect(
    Object.keys(all).filter((name) => /pcie|fan|throttle.*(?:current|hardware)/.test(name)),
  ).toEqual([]);
});

test("an old i915 is read by the card's own files", async () => {
  const sysfs = writeTree({
    "class/drm/card0/device/vendor": "0x8086",
    "class/drm/card0/device/uevent": "DRIVER=i915\nPCI_ID=8086:5917\nPCI_SLOT_NAME=0000:00:02.0",
    "class/drm/card0/gt_act_freq_mhz": "300",
    "class/drm/card0/gt_RP0_freq_mhz": "1150",
    "class/drm/card0/power/rc6_residency_ms": "1000",
  });
  expect(await readAll(await open(sysfs), 0)).toMatchObject({
    'gpu_clock_hertz{domain="graphics"}': 300_000_000,
    'gpu_clock_max_hertz{domain="graphics"}': 1_150_000_000,
  });
});

test("a user who may not look into every process gets the reason, not a part", async () => {
  const procfs = writeTree({ ...clientTree(xeClient(1, 2)), "1/comm": "init" });
  const fileAccess: FileAccess = {
    ...hostFileAccess,
    list: (folder) =>
      folder.endsWith("/1/fd")
        ? Promise.reject(Object.assign(new Error("EACCES"), { code: "EACCES" }))
        : hostFileAccess.list(folder),
  };
  const sysfs = writeTree(arcTree);
  const source = await open(sysfs, { procfs, fileAccess });
  await readAll(source, 0);
  expect(await readAll(source, 5_000)).toMatchObject({
    gpu_utilization_ratio: "denied",
    gpu_memory_used_bytes: "denied",
    gpu_processes: "denied",
    'gpu_engine_utilization_ratio{engine="compute"}': "denied",
    'gpu_clock_hertz{domain="graphics"}': 2_400_000_000,
  });
  const { fix } = await examine(sysfs, procfs, fileAccess);
  expect(fix).toContain("--cap-add SYS_PTRACE");
});

test("a sleeping Arc card is left asleep: no sensor, clock or throttle file is opened", async () => {
  const sysfs = writeTree({
    ...arcTree,
    "class/drm/card1/device/power/runtime_status": "suspended",
  });
  const fileAccess = traceFileAccess();
  const all = await readAll(await open(sysfs, { fileAccess }), 0);
  expect(all).toMatchObject({ gpu_up: 1, gpu_asleep: 1, gpu_utilization_ratio: "asleep" });
  expect(fileAccess.touched.filter((file) => /hwmon|tile0|gt\/gt0|link_/.test(file))).toEqual([]);
});

test("a lost Arc card is remembered and comes back", async () => {
  const sysfs = writeTree(arcTree);
  const folder = path.join(sysfs, "class/drm/card1");
  const source = await open(sysfs);
  await source.read("fast", 0, signal);
  renameSync(folder, path.join(sysfs, "away"));
  expect(frameReadings(await source.read("fast", 1_000, signal))).toMatchObject({
    gpu_up: 0,
    'gpu_clock_hertz{domain="graphics"}': "failed",
  });
  renameSync(path.join(sysfs, "away"), folder);
  expect(frameReadings(await source.read("fast", 2_000, signal))).toMatchObject({
    gpu_up: 1,
    'gpu_clock_hertz{domain="graphics"}': 2_400_000_000,
  });
});

test.each([
  ["pl1", "power_cap"],
  ["psys_pl2", "power_cap"],
  ["thermal", "thermal"],
  ["soc_thermal", "thermal"],
  ["ratl", "thermal"],
  ["prochot", "thermal_hardware"],
  ["vr_thermalert", "thermal_hardware"],
  ["vr_tdc", "current"],
  ["iccmax", "current"],
  ["something_new", undefined],
])("the driver's reason %s is %s", (name, reason) => expect(reasonOf(name)).toBe(reason));

test.each([
  ["none", []],
  ["pl1 thermal", ["power_cap", "thermal"]],
  ["", []],
])("the list %j is %j", (text, reasons) => expect([...parseReasons(text)]).toEqual(reasons));

test("a counter that went back reports nothing, and counts on from there", () => {
  const counter = new CounterRate();
  expect(counter.perSecond(0, 100).ok).toBe(false);
  expect(counter.perSecond(1_000, 40).ok).toBe(false);
  expect(counter.perSecond(2_000, 90)).toEqual({ ok: true, value: 50 });
  expect(counter.perSecond(2_000, 90)).toEqual({ ok: true, value: 50 });
});

test("a machine without one says so", async () => {
  const { state } = await examine(temporaryFolder(), temporaryFolder(), hostFileAccess);
  expect(state).toBe("not-found");
});

describe("captures from ../shared/captures/public", () => {
  const capture = (name: string): Promise<PolledSource> =>
    open(mountCapture(path.join(publicFolder, "sysfs", name)));

  test.skipIf(noCaptures)("an Arc A380 under xe", async () => {
    const source = await capture("lact_intel_a380-xe");
    expect(source.devices()[0]).toMatchObject({
      uuid: "intel-0000:08:00.0-96620e151803",
      model: "Intel Arc A380",
    });
    await readAll(source, 0);
    const all = await readAll(source, 1_000);
    expect(all).toMatchObject({
      'gpu_clock_hertz{domain="graphics"}': 0,
      'gpu_clock_max_hertz{domain="graphics"}': 2_450_000_000,
      gpu_energy_joules_total: 59_540.971,
      gpu_chip_power_watts: 0,
      gpu_power_limit_watts: 55,
      'gpu_temperature_celsius{sensor="edge"}': 56,
      'gpu_temperature_celsius{sensor="memory"}': 54,
      'gpu_fan_rpm{fan="1"}': 945,
      'gpu_fan_rpm{fan="2"}': 0,
      'gpu_voltage_volts{rail="gfx"}': 0.605,
      'gpu_throttle_active{reason="power_cap"}': 0,
      'gpu_throttle_active{reason="thermal_hardware"}': 0,
      // The card's own link; the capture does not include the slot's.
      gpu_pcie_link_generation: 1,
      gpu_pcie_link_width: 1,
    });
    // Only the package has a counter: this is the chip, not the board.
    expect(all).not.toHaveProperty("gpu_power_watts");
  });

  test.skipIf(noCaptures)("a Tiger Lake under xe, without sensors or a power folder", async () => {
    const source = await capture("lact_intel_tigerlake");
    expect(source.devices()[0]).toMatchObject({
      uuid: "intel-0000:00:02.0-96620e151803",
      model: "Intel Iris Xe Graphics (Tiger Lake)",
    });
    await readAll(source, 0);
    const all = await readAll(source, 1_000);
    expect(all).toMatchObject({
      gpu_up: 1,
      'gpu_clock_hertz{domain="graphics"}': 0,
      'gpu_clock_max_hertz{domain="graphics"}': 1_300_000_000,
      gpu_awake_ratio: 1,
      'gpu_throttle_active{reason="power_cap"}': 0,
      'gpu_throttle_active{reason="current"}': 0,
    });
    expect(Object.keys(all).filter((name) => /^gpu_(?:pcie|power|temperature)/.test(name))).toEqual(
      [],
    );
  });
});

test(
  "whatever the text, the shared files of /sys and the list of reasons are read or refused",
  async () => {
    const samples = [
      "16.0 GT/s PCIe",
      "RxErr 0\nTOTAL_ERR_COR 12",
      "DRIVER=xe\nPCI_ID=8086:56A5\nPCI_SLOT_NAME=0000:08:00.0",
      "pl1 thermal vr_tdc",
      "temp1_input\ntemp1_label\nin0_input\npwm1",
    ];
    const parse = (bytes: Buffer): unknown => {
      const text = bytes.toString();
      return [
        parseLinkSpeed(text),
        parseAerTotal(text),
        parseUevent(text),
        parseReasons(text),
        groupFiles(text.split("\n")),
      ];
    };
    await fuzz({ seed: 0x1e1, samples, parse });
  },
  fuzzTimeoutMs,
);
