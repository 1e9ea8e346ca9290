import { expect, test } from "vitest";
import { fuzz, fuzzTimeoutMs } from "../../../test/fuzz/mutate.ts";
import { familyOf } from "./family.ts";
import { pciAddress } from "./kfd.ts";
import { nameCard, parseNameTable } from "./names.ts";
import {
  parseBadPages,
  parseErrorCounts,
  parseHighestClock,
  parsePcieBandwidth,
  parseProperties,
  parseUniqueId,
} from "./parse.ts";

const absent = (reason: string) => ({ ok: false, reason });
const value = (is: unknown) => ({ ok: true, value: is });

test.each([
  ["0: 500Mhz \n1: 31Mhz *\n2: 2219Mhz ", value(2.219e9)],
  ["0: 300Mhz\nS: 19Mhz *\n1: 1500Mhz", value(1.5e9)],
  ["0: 0Mhz *\n1: 0Mhz *", absent("unsupported")],
  ["0: 500Mhz *\n1: 65535Mhz", value(5e8)],
  ["0: 65535Mhz *", absent("unsupported")],
  ["", absent("unsupported")],
  ["garbage", absent("failed")],
])("the highest clock of %j is %j", (text, result) =>
  expect(parseHighestClock(text)).toEqual(result),
);

test.each([
  ["ue: 0\nce: 7", { uncorrected: 0, corrected: 7 }],
  ["ue: 1\nce: 2\nde: 3", { uncorrected: 1, corrected: 2, deferred: 3 }],
])("error counts %j are %j", (text, counts) => {
  const reading = parseErrorCounts(text);
  expect(reading.ok && Object.fromEntries(reading.value)).toEqual(counts);
});

test.each(["", "ue: -1", "query failed"])("error counts %j fail", (text) =>
  expect(parseErrorCounts(text)).toEqual(absent("failed")),
);

test.each([
  ["", value({ retired: 0, pending: 0 })],
  ["0x1 : 0x1000 : R\n0x2 : 0x1000 : F\n0x3 : 0x1000 : P", value({ retired: 1, pending: 2 })],
  ["no pages", absent("failed")],
])("bad pages %j are %j", (text, result) => expect(parseBadPages(text)).toEqual(result));

test.each([
  ["11886 2528 256", value({ receivedBytes: 3_042_816, sentBytes: 647_168 })],
  ["", absent("unsupported")],
  ["11886 2528", absent("failed")],
])("pcie_bw %j is %j", (text, result) => expect(parsePcieBandwidth(text)).toEqual(result));

test.each([
  ["946d7e1ef9b172dd", "946d7e1ef9b172dd"],
  ["0x2150e7d042a1124", "02150e7d042a1124"],
  ["", undefined],
  ["0", undefined],
  ["ffffffffffffffff", undefined],
  ["N/A", undefined],
])("the unique id %j is %j", (text, id) => expect(parseUniqueId(text)).toBe(id));

test.each([
  [0x73bf, "RDNA 2", "chip", undefined],
  [0x731f, "RDNA", "chip", undefined],
  [0x744c, "RDNA 3", "board", undefined],
  [0x7550, "RDNA 4", "board", undefined],
  [0x740f, "CDNA 2", "board", 2 ** -16],
  [0x74a1, "CDNA 3", "board", 2 ** -16],
  [0x67df, "Polaris", "chip", undefined],
  [0x15bf, "", "board", undefined],
  [0x7fff, "", "board", undefined],
])(
  "device 0x%s is of the family %j, reports the power of its %s, counts energy in %s J",
  (id, name, power, step) => expect(familyOf(id)).toEqual({ name, power, joulesPerStep: step }),
);

test.each([
  [{ deviceId: 0x73bf, revision: 0xc1, productName: "" }, "AMD Radeon RX 6800 XT"],
  [
    { deviceId: 0x73bf, revision: undefined, productName: undefined },
    "AMD Radeon RX 6800 / 6800 XT / 6900 XT",
  ],
  [{ deviceId: 0x7480, revision: 0xc3, productName: "" }, "AMD Radeon RX 7600S"],
  [{ deviceId: 0x7480, revision: 0xc1, productName: "" }, "AMD Radeon RX 7700S"],
  [{ deviceId: 0x7480, revision: 0xcf, productName: "" }, "AMD Radeon RX 7600"],
  [{ deviceId: 0x7480, revision: 0x00, productName: "" }, "AMD Radeon Pro W7600"],
  [{ deviceId: 0x73df, revision: 0xc3, productName: "" }, "AMD Radeon RX 6800M"],
  [{ deviceId: 0x73ef, revision: 0xc0, productName: "" }, "AMD Radeon RX 6800S"],
  [{ deviceId: 0x7480, revision: 0xee, productName: "" }, "AMD GPU 7480"],
  [{ deviceId: 0x744c, revision: 0xee, productName: "" }, "AMD GPU 744c"],
  [
    { deviceId: 0x7480, revision: undefined, productName: "" },
    "AMD Radeon RX 7600 / 7600 XT / 7600M XT / 7600S / 7650 GRE / 7700S / Pro W7600",
  ],
  [{ deviceId: 0x15bf, revision: 0xd8, productName: "" }, "AMD Radeon 740M / 760M / 780M"],
  [
    { deviceId: 0x74a1, revision: 0, productName: "AMD Instinct MI300X OAM" },
    "AMD Instinct MI300X OAM",
  ],
  [{ deviceId: 0x1234, revision: 0x01, productName: undefined }, "A card of the table"],
  [{ deviceId: 0x1235, revision: 0x01, productName: undefined }, "AMD GPU 1235"],
])("%j is called %s", (facts, name) =>
  expect(
    nameCard(facts, parseNameTable("# comment\n1.0.0\n1234,\t1,\tA card of the table\n")),
  ).toBe(name),
);

test("kfd's location is a PCI address", () => {
  expect(pciAddress(0, 25_600)).toBe("0000:64:00.0");
  expect(pciAddress(1, 0x1d_fb)).toBe("0001:1d:1f.3");
});

test(
  "whatever the text, every file of the driver is read or refused",
  async () => {
    const samples = [
      "0: 500Mhz \n1: 31Mhz *\n2: 2219Mhz ",
      "ue: 1\nce: 2\nde: 3",
      "0x00000001 : 0x00001000 : R",
      "11886 2528 256",
      "946d7e1ef9b172dd",
      "simd_count 24\nlocation_id 25600",
      "73BF,\tC0,\tAMD Radeon RX 6900 XT",
    ];
    const parsers: readonly ((text: string) => unknown)[] = [
      parseHighestClock,
      parseErrorCounts,
      parseBadPages,
      parsePcieBandwidth,
      parseUniqueId,
      parseProperties,
      parseNameTable,
    ];
    const parse = (bytes: Buffer): unknown => parsers.map((parser) => parser(bytes.toString()));
    await fuzz({ seed: 0xa4d, samples, parse });
  },
  fuzzTimeoutMs,
);
