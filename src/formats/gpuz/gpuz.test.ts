import { expect, test } from "vitest";
import { fuzz, fuzzTimeoutMs } from "../../../test/fuzz/mutate.ts";
import type { Device } from "../../model/device.ts";
import type { Frame } from "../../model/frame.ts";
import { labelValue } from "../../model/labels.ts";
import { presenceNames } from "../../model/presence.ts";
import {
  geforceCells,
  geforceColumns,
  gpuzBytes,
  headerLine,
  intelColumns,
  radeonCells,
  radeonColumns,
  rowLine,
} from "../../../test/fixtures/formats/gpuz.ts";
import { GpuzFrames } from "./frames.ts";
import { RowParser } from "./rows.ts";
import { asWritten, converter, readCell } from "./units.ts";
import { vendorOfColumns, vendorOfName } from "./device.ts";

const device: Device = { uuid: "U", index: 0, vendor: "nvidia", model: "M", simulated: false };

/** Every series of a frame by a short name: metric and its own labels; an absent value by its reason. */
function shown(frame: Frame): Record<string, number | string> {
  const result: Record<string, number | string> = {};
  for (const [slot, { metric, labels }] of frame.layout.series.entries()) {
    const own = metric.labels.map(({ name }) => labelValue(labels, name)).filter(Boolean);
    const name = metric.name === "gpu_info" ? "gpu_info" : [metric.name, ...own].join(" ");
    const state = presenceNames[frame.presence[slot] ?? 0] ?? "";
    result[name] = state === "present" ? (frame.values[slot] ?? Number.NaN) : state;
  }
  return result;
}

function read(text: string, pieces = 1) {
  const bytes = gpuzBytes(text);
  const parser = new RowParser();
  const size = Math.ceil(bytes.length / pieces);
  const rows = Array.from({ length: pieces }, (_, index) =>
    parser.push(bytes.subarray(index * size, (index + 1) * size)),
  ).flat();
  rows.push(...parser.end());
  const frames = new GpuzFrames(device, "pc");
  return { parser, rows, values: rows.map((row) => shown(frames.frame(row, row.localMs))) };
}

const at = "2024-01-14 18:41:07";
const geforce = headerLine(geforceColumns);

test("every column of a GeForce log becomes its metric, with the decimals as written", () => {
  const { values } = read(geforce + rowLine(at, geforceCells));
  expect(values).toEqual([
    {
      gpu_up: 1,
      gpu_info: 1,
      "gpu_clock_hertz graphics": 1_785_500_000,
      "gpu_clock_hertz memory": 1_187_700_000,
      "gpu_temperature_celsius edge": 48.7,
      "gpu_temperature_celsius hotspot": 64.1,
      "gpu_temperature_celsius memory": 58,
      "gpu_fan_speed_ratio 1": 0.3,
      "gpu_fan_rpm 1": 1021,
      "gpu_fan_speed_ratio 2": 0.31,
      "gpu_fan_rpm 2": 1040,
      gpu_memory_used_bytes: 3543 * 1_048_576,
      gpu_utilization_ratio: 0.97,
      gpu_memory_controller_utilization_ratio: 0.41,
      gpu_decoder_utilization_ratio: 0.03,
      gpu_bus_utilization_ratio: 0.12,
      gpu_power_watts: 314.3,
      gpu_chip_power_watts: 128.2,
      gpu_memory_power_watts: 59.5,
      "gpuz_sensor_value PWR_SRC Power Draw W": 269.2,
      "gpu_voltage_volts pwr_src": 12.1,
      "gpu_rail_power_watts slot": 24.5,
      "gpu_voltage_volts slot": 12.2,
      "gpu_rail_power_watts 8pin_1": 141.1,
      "gpu_voltage_volts 8pin_1": 12,
      "gpu_rail_power_watts 8pin_2": 148.7,
      "gpu_voltage_volts 8pin_2": 12.1,
      gpu_power_tdp_ratio: 0.982,
      "gpuz_sensor_value PerfCap Reason": 5,
      "gpu_throttle_active power_cap": 1,
      "gpu_throttle_active thermal": 0,
      "gpu_throttle_active voltage": 1,
      "gpu_throttle_active sync_boost": 0,
      "gpu_voltage_volts gfx": 0.9187,
      "host_cpu_temperature_celsius package": 67.5,
      host_memory_used_bytes: 17_888 * 1_048_576,
    },
  ]);
});

test("a Radeon log's repeated column keeps both, and a sensor the board lacks is absent, not 0", () => {
  const { values } = read(headerLine(radeonColumns) + rowLine(at, radeonCells));
  expect(values[0]).toMatchObject({
    "gpu_clock_hertz video": 105_000_000,
    "gpu_clock_hertz video_2": 102_000_000,
    "gpu_temperature_celsius hotspot": 51,
    "gpu_temperature_celsius vrm": 47,
    "gpu_temperature_celsius vrm_memory": "unsupported",
    "gpu_fan_speed_ratio 1": 0,
    "gpu_fan_rpm 1": 0,
    gpu_memory_used_bytes: 534 * 1_048_576,
    gpu_memory_shared_used_bytes: 57 * 1_048_576,
    gpu_chip_power_watts: 8,
    "gpu_voltage_volts gfx": 0.725,
  });
  expect(values[0]).not.toHaveProperty("gpu_power_watts");
});

test("an Intel log's dash is unsupported in that row alone, and an unknown column is kept under its name", () => {
  const { values } = read(
    headerLine(intelColumns) +
      rowLine(at, [350, 41, 0.4, 3, "-", 120, 7]) +
      rowLine("2024-01-14 18:41:08", [350, 41, 0.4, 3, 0.6875, 120, "junk"]),
  );
  expect(values[0]).toMatchObject({
    "gpu_voltage_volts gfx": "unsupported",
    gpu_chip_power_watts: 0.4,
    "gpuz_sensor_value Render Standby State x": 7,
  });
  expect(values[1]).toMatchObject({
    "gpu_voltage_volts gfx": 0.6875,
    "gpuz_sensor_value Render Standby State x": "failed",
  });
});

test.each([
  ["Board Power Draw [W]", "104.0", "gpu_power_tdp_ratio", "failed"],
  ["Board Power Draw [W]", "0.0", "gpu_power_tdp_ratio", 0],
])("0 %% TDP beside %s %s is %s %s", (column, watts, name, expected) => {
  const { values } = read(
    headerLine([column, "Power Consumption (%) [% TDP]"]) + rowLine(at, [watts, "0.0"]),
  );
  expect(values[0]?.[name]).toBe(expected);
});

test.each([
  ["GPU Clock [MHz]", "65535", "gpu_clock_hertz graphics", "failed"],
  ["GPU Clock [MHz]", "1e3", "gpu_clock_hertz graphics", "failed"],
  ["GPU Clock [MHz]", "-", "gpu_clock_hertz graphics", "unsupported"],
  ["GPU Clock [MHz]", "N/A", "gpu_clock_hertz graphics", "unsupported"],
  ["GPU Clock [MHz]", "", "gpu_clock_hertz graphics", "failed"],
  ["GPU Clock [MHz]", "-5", "gpu_clock_hertz graphics", "failed"],
  ["GPU Temperature [\u00b0C]", "-12.5", "gpu_temperature_celsius edge", -12.5],
  ["GPU Temperature [\u00b0C]", "511", "gpu_temperature_celsius edge", "failed"],
  ["GPU Temperature [\u00b0F]", "122.0", "gpu_temperature_celsius edge", 50],
  ["GPU Temperature [C]", "50.0", "gpu_temperature_celsius edge", 50],
  ["GPU Temperature [\u00c2\u00b0C]", "50.0", "gpu_temperature_celsius edge", 50],
  ["GPU Temperature [\u00ef\u00bf\u00bdC]", "50.0", "gpu_temperature_celsius edge", 50],
  ["Memory Used [MB]", "65535", "gpu_memory_used_bytes", 65_535 * 1_048_576],
  ["GPU Load [%]", "0", "gpu_utilization_ratio", 0],
  ["Fan Speed [%]", "44", "gpu_fan_speed_ratio 1", 0.44],
  ["16-Pin Power [W]", "301.5", "gpu_rail_power_watts 16pin", 301.5],
  ["6-Pin #2 Power [W]", "16.2", "gpu_rail_power_watts 6pin_2", 16.2],
  ["PCIe RX [GB/s]", "1.25", "gpu_pcie_throughput_bytes_per_second receive", 1_250_000_000],
  ["Power Consumption (W) [W]", "98.7", "gpu_power_watts", 98.7],
  ["VDDC Current [A]", "12.5", "gpu_current_amperes gfx", 12.5],
  ["GPU Clock [__proto__]", "5", "gpuz_sensor_value GPU Clock __proto__", 5],
  ["GPU Clock [furlong]", "3", "gpuz_sensor_value GPU Clock furlong", 3],
])("%s %s is %s %s", (column, cell, name, expected) => {
  const { values } = read(headerLine([column]) + rowLine(at, [cell]));
  expect(values[0]?.[name]).toBe(expected);
});

test("two columns for one metric: the better known keeps it, the other its own name", () => {
  const { values } = read(
    headerLine(["Power Consumption (W) [W]", "Board Power Draw [W]", "Odd [x]", "Odd [x]"]) +
      rowLine(at, [90, 100, 1, 2]),
  );
  expect(values[0]).toMatchObject({
    gpu_power_watts: 100,
    "gpuz_sensor_value Power Consumption (W) W": 90,
    "gpuz_sensor_value Odd x": 1,
    "gpuz_sensor_value Odd #2 x": 2,
  });
});

test("a new header in the middle re-maps the columns, and the same one again shares its layout", () => {
  const two = headerLine(["GPU Load [%]", "GPU Clock [MHz]"]);
  const text =
    headerLine(["GPU Clock [MHz]"]) +
    rowLine(at, [100]) +
    two +
    rowLine(at, [50, 200]) +
    two +
    rowLine(at, [60, 300]);
  const { values, rows, parser } = read(text);
  expect(values.map((value) => value["gpu_clock_hertz graphics"])).toEqual([1e8, 2e8, 3e8]);
  expect(values.map((value) => value["gpu_utilization_ratio"])).toEqual([undefined, 0.5, 0.6]);
  expect(parser.counts.headers).toBe(3);
  const frames = new GpuzFrames(device, "pc");
  const layouts = rows.map((row) => frames.frame(row, 0).layout);
  expect(layouts[1]).toBe(layouts[2]);
});

test("a hole of NULs is a line break: the row behind it is read, wherever the pieces are cut", () => {
  const header = headerLine(["GPU Load [%]"], { lineEnd: "" });
  const text = header + "\0".repeat(40_000) + rowLine(at, [7]) + rowLine(at, [8]);
  for (const pieces of [1, 3, 1_000, text.length]) {
    const { values } = read(text, pieces);
    expect(values.map((value) => value["gpu_utilization_ratio"])).toEqual([0.07, 0.08]);
  }
});

test.each([
  ["LF", headerLine(["GPU Load [%]"], { lineEnd: "\n" }) + rowLine(at, [5], { lineEnd: "\n" })],
  ["a UTF-8 mark", `\u00ef\u00bb\u00bf${headerLine(["GPU Load [%]"])}${rowLine(at, [5])}`],
  ["no comma at the end", `Date,GPU Load [%]\r\n${at},5\r\n`],
  ["no line end", headerLine(["GPU Load [%]"]) + rowLine(at, [5], { lineEnd: "" })],
  ["a decimal comma", headerLine(["GPU Load [%]"]) + rowLine(at, ["5,0"])],
  ["a fraction of a second", headerLine(["GPU Load [%]"]) + rowLine(`${at}.250`, [5])],
])("a log with %s reads the same", (_, text) => {
  expect(read(text).values.map((value) => value["gpu_utilization_ratio"])).toEqual([0.05]);
});

test("a row cut in the middle keeps its whole cells, and the cut one is failed, never a smaller number", () => {
  const header = headerLine(["GPU Load [%]", "Memory Used [MB]", "GPU Clock [MHz]"]);
  const { values, parser } = read(`${header}${at} ,   5   ,   114`);
  expect(values[0]).toMatchObject({
    gpu_utilization_ratio: 0.05,
    gpu_memory_used_bytes: "failed",
    "gpu_clock_hertz graphics": "failed",
  });
  expect(parser.counts.cut).toBe(1);
});

test("a row or header that begins inside a line is not lost, nor is its forerunner's cut cell used", () => {
  const header = headerLine(["GPU Load [%]", "Memory Used [MB]"]);
  const text = `${header}${at} ,  5  ,  11${rowLine(at, [6, 12])}${at} ,  7  ,  1${header}${rowLine(at, [8, 13])}`;
  const { values } = read(text);
  expect(
    values.map((value) => [value["gpu_utilization_ratio"], value["gpu_memory_used_bytes"]]),
  ).toEqual([
    [0.05, "failed"],
    [0.06, 12 * 1_048_576],
    [0.07, "failed"],
    [0.08, 13 * 1_048_576],
  ]);
});

const three = headerLine(["GPU Load [%]", "GPU Voltage [V]", "Board Power Draw [W]"]);
const whole = rowLine(at, [92, 0.918, 314.3]);

test.each([
  ["a comma too few", `${at} ,   92      0.918   ,   314.3   ,\r\n`],
  ["a comma too few and no padding", `${at} ,920.918,314.3,\r\n`],
  ["a comma too few beside an empty sensor", `${at} ,   92   ,   -      314.3   ,\r\n`],
  ["a cell less", `${at} ,   0.918   ,   314.3   ,\r\n`],
  ["a comma too many", `${at} ,   92   ,   ,   0.918   ,   314.3   ,\r\n`],
  ["a comma too many inside a number", `${at} ,   9,2   ,   0.918   ,   314.3   ,\r\n`],
  [
    "a comma too few, at the end of a file without a line end",
    `${at} ,   92      0.918   ,   314.3   ,`,
  ],
  ["a comma too few, cut short", `${at} ,   92      0.918   ,   31`],
])("a row with %s is left out and counted, whatever stands around it", (_name, row) => {
  const { values, parser } = read(`${three}${whole}${row}`);
  expect(values.map((value) => value["gpu_power_watts"])).toEqual([314.3]);
  expect(parser.counts).toMatchObject({ rows: 1, unusable: 1, cut: 0 });
});

test("a last row without its last comma is used but for its last cell, which may be a part of a number", () => {
  const { values, parser } = read(`${three}${at} ,   92   ,   0.918   ,   314.3\r\n${whole}`);
  expect(values.map((value) => [value["gpu_utilization_ratio"], value["gpu_power_watts"]])).toEqual(
    [
      [0.92, "failed"],
      [0.92, 314.3],
    ],
  );
  expect(parser.counts).toMatchObject({ rows: 2, unusable: 0, cut: 1 });
});

test("rows without a comma at their end that lack a cell are left out: which one is missing is unknown", () => {
  const { values, parser } = read(
    `Date,GPU Load [%],GPU Voltage [V]\r\n${at},92\r\n${at},92,0.9\r\n`,
  );
  expect(values.map((value) => value["gpu_utilization_ratio"])).toEqual([0.92]);
  expect(parser.counts).toMatchObject({ rows: 1, unusable: 1 });
});

test("a header with other columns in the middle of a log holds for the rows below it", () => {
  const { values, parser } = read(
    `${three}${whole}${headerLine(["GPU Load [%]"])}${rowLine(at, [7])}${whole}`,
  );
  expect(values.map((value) => value["gpu_utilization_ratio"])).toEqual([0.92, 0.07]);
  expect(parser.counts).toMatchObject({ rows: 2, headers: 2, unusable: 1 });
});

test("rows before a header, lines too long and rows with too many cells are counted, not guessed at", () => {
  const text =
    rowLine(at, [1]) +
    headerLine(["GPU Load [%]"]) +
    rowLine(at, [1, 2, 3]) +
    `${"x".repeat(70_000)}\r\n` +
    "2024-13-45 18:41:07 , 5 ,\r\n" +
    rowLine(at, [9]);
  const { values, parser } = read(text, 7);
  expect(values.map((value) => value["gpu_utilization_ratio"])).toEqual([0.09]);
  expect(parser.counts).toMatchObject({ rows: 1, headers: 1, beforeHeader: 1, unusable: 3 });
});

test.each([
  ["NVIDIA GeForce RTX 4090", "nvidia"],
  ["GTX 1080 Ti", "nvidia"],
  ["Quadro P2000", "nvidia"],
  ["Radeon RX 7900 XT", "amd"],
  ["RX 580", "amd"],
  ["Intel Arc A770", "intel"],
  ["UHD Graphics 630", "intel"],
  ["Voodoo 5", undefined],
])("%s is made by %s", (name, vendor) => expect(vendorOfName(name)).toBe(vendor));

test("the vendor is read off columns that only it has", () => {
  const of = (columns: readonly string[]) => {
    const { header } = read(headerLine(columns)).parser;
    return header === undefined ? undefined : vendorOfColumns(header);
  };
  expect(of(geforceColumns)).toBe("nvidia");
  expect(of(radeonColumns)).toBe("amd");
  expect(of(intelColumns)).toBe("intel");
  expect(of(["GPU Load [%]"])).toBeUndefined();
});

test(
  "whatever the bytes, the parser ends in rows and its frames in readings",
  async () => {
    const samples = [
      geforce + rowLine(at, geforceCells) + rowLine(at, geforceCells),
      `${headerLine(radeonColumns)}${rowLine(at, radeonCells)}${"\0".repeat(300)}${rowLine(at, radeonCells)}`,
      headerLine(intelColumns) + rowLine(at, [350, 41, 0.4, 3, "-", 120, 7]),
    ].map(gpuzBytes);
    await fuzz({
      seed: 3,
      samples,
      parse: (bytes) => {
        const parser = new RowParser();
        const frames = new GpuzFrames(device, "pc");
        const half = bytes.length >> 1;
        const rows = [
          ...parser.push(bytes.subarray(0, half)),
          ...parser.push(bytes.subarray(half)),
          ...parser.end(),
        ];
        for (const row of rows) {
          const frame = frames.frame(row, row.localMs);
          for (const [slot, code] of frame.presence.entries())
            if (code === 0) expect(Number.isFinite(frame.values[slot])).toBe(true);
        }
      },
    });
  },
  fuzzTimeoutMs,
);

test("a row that is read in one pass gives what a close look gives", () => {
  const texts = ["1", "-0.5", "n/a", "-", "", "65535", "4294967295", "1e3", "12.3456789", "+7"];
  const cells: readonly (string | number)[] = geforceCells;
  const rows = texts.map((text, place) => cells.with(place, text));
  const rowsWith = (fraction: string) => {
    const parser = new RowParser();
    const lines = rows.map((row) => rowLine(`2024-05-06 07:08:09${fraction}`, row));
    return parser.push(gpuzBytes(headerLine(geforceColumns) + lines.join("")));
  };
  // A row with a fraction of a second is not parsed as a plain row.
  const [plain, close] = [rowsWith(""), rowsWith(".0")];
  expect(plain).toHaveLength(rows.length);
  expect(plain).toEqual(close);
});

test.each([
  ["0.1", "MHz"],
  ["1725.3", "MHz"],
  ["-0", "MHz"],
  ["99999999999.9999", "GHz"],
  ["123456789012345.123456789", "kHz"],
  ["0.000000001", "kHz"],
])("%s %s is the decimal as written, rounded once", (text, unit) => {
  const exponent = { kHz: 3, MHz: 6, GHz: 9 }[unit] ?? 0;
  const conversion = converter("clock", unit) ?? asWritten;
  expect(readCell(text, "clock", conversion)).toBe(Number(`${text}e${exponent}`));
});
