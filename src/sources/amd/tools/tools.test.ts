import { chmodSync, existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { noCaptures, publicCapture } from "../../../../test/captures/public.ts";
import { readAll } from "../../../../test/captures/readings.ts";
import { temporaryFolder, writeTree } from "../../../../test/captures/tree.ts";
import { fuzz, fuzzTimeoutMs } from "../../../../test/fuzz/mutate.ts";
import type { ReadResult } from "../../../machine/sysfs/read-result.ts";
import { CardSource } from "../../cards.ts";
import { parseAmdSmiMetric, parseAmdSmiStatic } from "./amd-smi.ts";
import { ToolMachine } from "./machine.ts";
import { parseRocmSmi } from "./rocm-smi.ts";
import { ToolRunner } from "./run.ts";
import { tidyName, type ToolCard } from "./tool-card.ts";

function cards(reading: ReadResult<readonly ToolCard[]>): readonly ToolCard[] {
  if (!reading.ok) throw new Error(`no cards: ${reading.reason}`);
  return reading.value;
}

/** Values by `metric label label`. */
function reported(card: ToolCard | undefined): Record<string, number> {
  return Object.fromEntries(
    (card?.values ?? []).map(({ metric, labels, value }) => [
      [metric, ...Object.values(labels ?? {})].join(" "),
      value,
    ]),
  );
}

const watts = (value: number | string) => ({ value, unit: "W" });
const metricCard = {
  gpu: 0,
  usage: {
    gfx_activity: { value: 42, unit: "%" },
    umc_activity: "N/A",
    mm_activity: { value: "N/A", unit: "%" },
    vcn_activity: [{ value: 0, unit: "%" }, "N/A"],
  },
  power: {
    socket_power: watts(187),
    gfx_voltage: { value: 912, unit: "mV" },
    soc_voltage: { value: 0, unit: "mV" },
  },
  clock: { gfx_0: { clk: { value: 2_100, unit: "MHz" }, max_clk: { value: 65_535, unit: "MHz" } } },
  temperature: "N/A",
  pcie: { width: 16, speed: { value: 32, unit: "GT/s" } },
  energy: { total_energy_consumption: { value: 0, unit: "J" } },
  mem_usage: { total_vram: { value: 1_024, unit: "MB" } },
  fan: { rpm: 900, usage: { value: 25.5, unit: "%" } },
};
const staticCard = {
  gpu: 0,
  asic: {
    market_name: "Navi 99 [Radeon RX 9999/9999 XT",
    device_id: "0x73ff",
    asic_serial: "0xABCDEF0123456789",
  },
  bus: { bdf: "0000:0B:00.0", max_pcie_width: 16, max_pcie_speed: { value: 16, unit: "GT/s" } },
  vbios: { name: "TEST", version: "020.001" },
  driver: { version: "6.12.0" },
  limit: {
    ppt0: { socket_power_limit: watts(250), max_power_limit: watts(300) },
    slowdown_hotspot_temperature: { value: 110, unit: "C" },
  },
};
const expectedMetric = {
  utilization: 0.42,
  power: 187,
  "voltage gfx": 0.912,
  "clock graphics": 2.1e9,
  pcieLinkWidth: 16,
  pcieLinkGeneration: 5,
  memoryTotal: 1_073_741_824,
  "fanRpm 1": 900,
  "fanSpeed 1": 0.255,
};

test.each([
  ["ROCm 6's list", JSON.stringify([metricCard])],
  ["ROCm 7's object", JSON.stringify({ gpu_data: [metricCard] }, undefined, 4)],
  [
    "after Python's warnings",
    `x.py:12: SyntaxWarning: invalid escape [sequence]\n  "\\d"\n${JSON.stringify([metricCard])}\n`,
  ],
  [
    "after a watch's first line",
    `'CTRL' + 'C' to stop watching output:\n${JSON.stringify([metricCard])}`,
  ],
])(
  "amd-smi's metric page is read as %s; N/A, 0xFFFF and counters that are not there are left out",
  (_shape, output) => expect(reported(cards(parseAmdSmiMetric(output))[0])).toEqual(expectedMetric),
);

test("amd-smi's static page reports identity and limits, also by ROCm 7's names", () => {
  const [card] = cards(parseAmdSmiStatic(JSON.stringify({ gpu_data: [staticCard] })));
  expect(card).toMatchObject({
    pciBusId: "0000:0b:00.0",
    deviceId: 0x73ff,
    model: "AMD Radeon RX 9999/9999 XT",
    vbios: "020.001",
    driver: "6.12.0",
  });
  expect(reported(card)).toEqual({
    pcieLinkWidthMax: 16,
    pcieLinkGenerationMax: 4,
    powerLimit: 250,
    powerLimitMax: 300,
    "temperatureLimit slowdown": 110,
  });
});

const rocm = (card: Record<string, string>): string =>
  JSON.stringify({ card3: card, system: { "Driver version": "6.3.6" } });

test.each([
  [
    "ROCm 4",
    {
      "GPU use (%)": "7",
      "GPU memory use (%)": "4",
      "Average Graphics Package Power (W)": "39.0",
      "sclk clock speed:": "(500Mhz)",
      "Card series": "0x1002",
      "Temperature (Sensor mem) (c)": "50.0",
    },
  ],
  [
    "ROCm 7",
    {
      "GPU use (%)": "7",
      "GPU Memory Read/Write Activity (%)": "4",
      "GPU Memory Allocated (VRAM%)": "88",
      "Current Socket Graphics Package Power (W)": "39.0",
      "Average Graphics Package Power (W)": "N/A (Secondary die)",
      "SCLK clock speed": "(500Mhz)",
      "Temperature (Sensor memory) (C)": "50.0",
      "Voltage (mV)": "6",
    },
  ],
])("rocm-smi's page is read by the names of %s", (_version, card) => {
  const [found] = cards(parseRocmSmi(rocm(card)));
  expect(found).toMatchObject({ number: 3, driver: "6.3.6" });
  expect(found?.model).toBeUndefined();
  expect(reported(found)).toEqual({
    utilization: 0.07,
    memoryControllerUtilization: 0.04,
    power: 39,
    "clock graphics": 5e8,
    "temperature memory": 50,
  });
});

test.each([
  ["", "unsupported"],
  ["\n\n", "unsupported"],
  ["WARNING: No JSON data to report", "unsupported"],
  ["ERROR:root:Driver not initialized (amdgpu not found in modules)", "unsupported"],
  ["Traceback (most recent call last):", "failed"],
  ["42", "failed"],
  ['{"card0": "N/A"}', "failed"],
  ['{"gpu_data": "N/A"}', "failed"],
  ["[1, 2]", "failed"],
])("%j is no page, and says so", (output, reason) => {
  const readings = [parseAmdSmiMetric(output), parseAmdSmiStatic(output), parseRocmSmi(output)];
  expect(readings.map((reading) => (reading.ok ? "cards" : reading.reason))).toEqual([
    reason,
    reason,
    reason,
  ]);
});

test.each([
  ["Arcturus GL-XL [Instinct MI100]", "AMD Instinct MI100"],
  ["Navi 23 [Radeon RX 6600/6600 XT", "AMD Radeon RX 6600/6600 XT"],
  ["AMD Instinct MI300X OAM", "AMD Instinct MI300X OAM"],
  ["0x1002", undefined],
  ["N/A", undefined],
  ["", undefined],
])("the name %j is reported as %j", (name, tidy) => expect(tidyName(name)).toBe(tidy));

/** A folder with stand-in commands, to be the only one on the path. */
function toolFolder(scripts: Readonly<Record<string, string>>): string {
  const folder = writeTree(
    Object.fromEntries(Object.entries(scripts).map(([name, body]) => [name, `#!/bin/sh\n${body}`])),
  );
  for (const name of Object.keys(scripts)) chmodSync(path.join(folder, name), 0o755);
  return folder;
}

test("a tool that is not installed is unsupported, and not looked for again at once", async () => {
  const runner = new ToolRunner({ deadlineMs: 1_000, path: temporaryFolder() });
  expect(await runner.run(0, "amd-smi", [])).toEqual({ ok: false, reason: "unsupported" });
  expect(await runner.run(9_000, "amd-smi", [])).toEqual({ ok: false, reason: "failed" });
  expect(await runner.run(10_000, "amd-smi", [])).toEqual({ ok: false, reason: "unsupported" });
});

test("a tool that hangs is ended at its deadline, and what it started does not hold us", async () => {
  const folder = toolFolder({ "amd-smi": "/bin/sleep 2 & /bin/sleep 2" });
  const runner = new ToolRunner({ deadlineMs: 100, path: folder });
  expect(await runner.run(0, "amd-smi", [])).toEqual({ ok: false, reason: "failed" });
});

test("a tool is never run twice at a time", async () => {
  const folder = toolFolder({ "amd-smi": '/bin/sleep 0.2; echo once >> "$1"; echo done' });
  const log = path.join(temporaryFolder(), "runs");
  const runner = new ToolRunner({ deadlineMs: 5_000, path: folder });
  const both = await Promise.all([
    runner.run(0, "amd-smi", [log]),
    runner.run(0, "amd-smi", [log]),
  ]);
  expect(both).toEqual([
    { ok: true, value: "done\n" },
    { ok: false, reason: "failed" },
  ]);
  expect(readFileSync(log, "utf8")).toBe("once\n");
});

test("a tool that prints without end is stopped", async () => {
  const folder = toolFolder({ "amd-smi": "exec /usr/bin/yes" });
  const runner = new ToolRunner({ deadlineMs: 5_000, path: folder });
  expect(await runner.run(0, "amd-smi", [])).toEqual({ ok: false, reason: "failed" });
});

test("where /sys reports nothing, amd-smi's pages are the cards", async () => {
  const pages = writeTree({
    static: JSON.stringify([staticCard]),
    metric: JSON.stringify([metricCard]),
  });
  const folder = toolFolder({ "amd-smi": `/bin/cat "${pages}/$1"` });
  const machine = new ToolMachine({ nowMs: () => 0, machine: "3f2a9c01d4e5", path: folder });
  const source = await CardSource.open({
    host: "box",
    nowMs: () => 0,
    discover: () => machine.discover(),
  });
  expect(source.devices()[0]).toMatchObject({
    uuid: "GPU-abcdef0123456789",
    model: "AMD Radeon RX 9999/9999 XT",
  });
  // Device 0x73ff is RDNA 2, whose power covers the chip.
  expect(await readAll(source, 0)).toMatchObject({
    gpu_up: 1,
    gpu_chip_power_watts: 187,
    gpu_power_limit_watts: 250,
  });
});

test("where there is no amd-smi, rocm-smi is asked, and only to show", async () => {
  const page = rocm({
    "GPU use (%)": "7",
    "PCI Bus": "0000:4A:00.0",
    "Card Series": "Radeon Test",
  });
  const said = path.join(temporaryFolder(), "arguments");
  const folder = toolFolder({ "rocm-smi": `echo "$@" > ${said}\n/bin/cat <<'END'\n${page}\nEND` });
  const machine = new ToolMachine({ nowMs: () => 0, machine: "3f2a9c01d4e5", path: folder });
  const source = await CardSource.open({
    host: "box",
    nowMs: () => 0,
    discover: () => machine.discover(),
  });
  expect(source.devices()[0]).toMatchObject({
    uuid: "amd-0000:4a:00.0-3f2a9c01d4e5",
    model: "AMD Radeon Test",
  });
  expect(await readAll(source, 0)).toMatchObject({ gpu_utilization_ratio: 0.07 });
  expect(readFileSync(said, "utf8")).not.toMatch(/--(?:set|reset|gpureset|ras|load)/);
});

test("a tool's page that has grown old is no reading", async () => {
  let nowMs = 0;
  const page = rocm({ "GPU use (%)": "7", "PCI Bus": "0000:4A:00.0" });
  const once = path.join(temporaryFolder(), "ran");
  const folder = toolFolder({
    "rocm-smi": `[ -e ${once} ] && exit 1\n: > ${once}\n/bin/cat <<'END'\n${page}\nEND`,
  });
  const machine = new ToolMachine({ nowMs: () => nowMs, machine: "3f2a9c01d4e5", path: folder });
  const source = await CardSource.open({
    host: "box",
    nowMs: () => nowMs,
    discover: () => machine.discover(),
  });
  expect(await readAll(source, 0)).toMatchObject({ gpu_up: 1, gpu_utilization_ratio: 0.07 });
  nowMs = 60_000;
  expect(await readAll(source, 60_000)).toMatchObject({
    gpu_up: 0,
    gpu_utilization_ratio: "failed",
  });
});

const installed = "/usr/bin/rocm-smi";
test("the real rocm-smi on a machine without the driver says there is nothing", async (context) => {
  if (!existsSync(installed)) context.skip(`${installed} is not installed`);
  const output = await new ToolRunner({ deadlineMs: 20_000 }).run(0, installed, ["-a", "--json"]);
  if (!output.ok) throw new Error(`it did not run: ${output.reason}`);
  if (existsSync("/sys/module/amdgpu")) return;
  expect(parseRocmSmi(output.value)).toEqual({ ok: false, reason: "unsupported" });
}, 30_000);

describe("captures from ../shared/captures/public", () => {
  const page = (...parts: string[]): string => publicCapture(...parts).toString();

  test.skipIf(noCaptures)("amd-smi of an RX 6600", () => {
    const [metric] = cards(parseAmdSmiMetric(page("amd-smi", "rx6600_metric_list-shape.json")));
    expect(reported(metric)).toEqual({
      utilization: 0.01,
      memoryControllerUtilization: 0,
      videoUtilization: 0,
      power: 6,
      "clock graphics": 8e8,
      "clock memory": 5.41e8,
      "clock video": 6.66e8,
      "clockMax graphics": 2.75e9,
      "clockMax memory": 8.75e8,
      "temperature edge": 36,
      "temperature hotspot": 37,
      "temperature memory": 32,
      pcieLinkWidth: 8,
      pcieLinkGeneration: 4,
      "eccErrors corrected": 0,
      "eccErrors uncorrected": 0,
      "eccErrors deferred": 0,
      "fanRpm 1": 0,
      "fanSpeed 1": 0,
      memoryTotal: 8_573_157_376,
      memoryUsed: 211_812_352,
      memoryFree: 8_361_345_024,
      visibleMemoryTotal: 8_573_157_376,
      visibleMemoryUsed: 211_812_352,
      sharedMemoryTotal: 67_483_205_632,
      sharedMemoryUsed: 68_157_440,
    });
    const [fixed] = cards(
      parseAmdSmiStatic(
        page("amd-smi", "rx6600_static_list-shape_truncated-before-cache_info.json"),
      ),
    );
    expect(fixed).toMatchObject({
      pciBusId: "0000:0b:00.0",
      deviceId: 0x73ff,
      model: "AMD Radeon RX 6600/6600 XT",
      vbios: "020.003.000.030.000000",
      driver: "7.0.0-3-pve",
    });
    expect(reported(fixed)).toMatchObject({
      powerLimit: 100,
      powerLimitMax: 100,
      powerLimitMin: 94,
      "temperatureLimit slowdown": 110,
      "temperatureLimit shutdown": 115,
      "temperatureLimit memory": 100,
      memoryTotal: 8_573_157_376,
      pcieLinkGenerationMax: 4,
    });
  });

  test.skipIf(noCaptures)(
    "amd-smi of a W7700, use alone, and a topology page without readings",
    () => {
      const [metric] = cards(parseAmdSmiMetric(page("amd-smi", "w7700_metric_-u.json")));
      expect(reported(metric)).toEqual({
        utilization: 0.42,
        memoryControllerUtilization: 0.01,
        videoUtilization: 0,
      });
      const [topology] = cards(parseAmdSmiMetric(page("amd-smi", "rx6600_topology.json")));
      expect(topology?.values).toEqual([]);
    },
  );

  test.skipIf(noCaptures)("rocm-smi of six MI100", () => {
    const found = cards(parseRocmSmi(page("rocm-smi", "telegraf_mi100_rocm571.json")));
    expect(found.map(({ pciBusId }) => pciBusId)).toEqual([
      "0000:1e:00.0",
      "0000:22:00.0",
      "0000:3f:00.0",
      "0000:43:00.0",
      "0000:46:00.0",
      "0000:49:00.0",
    ]);
    expect(found.map((card) => reported(card)["power"])).toEqual([39, 37, 35, 39, 39, 40]);
    expect(found[0]).toMatchObject({
      deviceId: 0x738c,
      model: "AMD Instinct MI100",
      vbios: "113-D3430400-037",
    });
    expect(reported(found[0])).toMatchObject({
      "temperature hotspot": 34,
      "clock memory": 1.2e9,
      powerLimit: 290,
      "voltage gfx": 0.662,
      memoryTotal: 34_342_961_152,
      pcieLinkGeneration: 3,
      pcieLinkWidth: 16,
    });
  });

  test.skipIf(noCaptures).each([
    ["telegraf_rx6700xt_rocm430.json", { model: undefined, used: 1_622_728_704, clock: 5e8 }],
    [
      "telegraf_rx6700xt_rocm612.json",
      { model: "AMD Radeon RX 6700/6700 XT / 6800M", used: 1_572_745_216, clock: 0 },
    ],
  ])("rocm-smi of an RX 6700 XT, %s; its 6 mV are no voltage", (file, wanted) => {
    const [card] = cards(parseRocmSmi(page("rocm-smi", file)));
    expect(card).toMatchObject({ pciBusId: "0000:07:00.0", deviceId: 0x73df, driver: "6.3.6" });
    expect(card?.model).toBe(wanted.model);
    const values = reported(card);
    expect(values).toMatchObject({
      "temperature hotspot": 47,
      power: 6,
      powerLimit: 211,
      memoryUsed: wanted.used,
      "clock graphics": wanted.clock,
      memoryControllerUtilization: 0,
      pcieLinkGeneration: 4,
    });
    expect(values).not.toHaveProperty("voltage gfx");
  });

  test.skipIf(noCaptures)("rocm-smi of a Vega 10", () => {
    const [card] = cards(parseRocmSmi(page("rocm-smi", "telegraf_vega-10-XT.json")));
    expect(card).toMatchObject({ uniqueId: "0x2150e7d042a1124", driver: "5.9.25" });
    expect(reported(card)).toMatchObject({
      "fanSpeed 1": 0.13,
      "fanRpm 1": 682,
      "voltage gfx": 0.906,
      "temperature memory": 92,
      "clock graphics": 1.269e9,
      power: 15,
    });
  });
});

test(
  "whatever a tool prints, it is cards or an absence",
  async () => {
    const samples = [
      JSON.stringify([metricCard, staticCard]),
      JSON.stringify({ gpu_data: [staticCard] }, undefined, 1),
      rocm({
        "GPU use (%)": "7",
        "sclk clock speed:": "(500Mhz)",
        "pcie clock level": "1 (16.0GT/s x16)",
        "PCI Bus": "0000:07:00.0",
      }),
    ];
    const parsers = [parseAmdSmiMetric, parseAmdSmiStatic, parseRocmSmi];
    const parse = (bytes: Buffer): unknown => parsers.map((parser) => parser(bytes.toString()));
    await fuzz({ seed: 0xa5d, samples, parse });
  },
  fuzzTimeoutMs,
);
