/**
 * What a card is called. The card itself where it tells; else the device and revision, by a small table and by libdrm's
 * amdgpu.ids where the machine has it; else the device id. Never a guess between two cards that share an id.
 */
import type { FileDoor } from "../../sysfs/door.ts";
import { pciIdText } from "../../sysfs/pci.ts";
import { readText } from "../../sysfs/read.ts";

/** Device id, then by revision; `*` is what the id alone says. */
const names: Readonly<Record<number, Readonly<Record<string, string>>>> = {
  0x1435: { "*": "AMD Custom GPU 0932" },
  0x1586: { "*": "AMD Radeon 8050S / 8060S" },
  0x150e: { "*": "AMD Radeon 880M / 890M" },
  0x15bf: { "*": "AMD Radeon 740M / 760M / 780M" },
  0x163f: { "*": "AMD Custom GPU 0405" },
  0x164e: { "*": "AMD Radeon Graphics (Raphael)" },
  0x1681: { "*": "AMD Radeon 660M / 680M" },
  0x66af: { c1: "AMD Radeon VII", "*": "AMD Radeon VII" },
  0x67df: {
    c4: "AMD Radeon RX 480",
    c7: "AMD Radeon RX 480",
    e1: "AMD Radeon RX 590",
    e7: "AMD Radeon RX 580",
    ef: "AMD Radeon RX 570",
    "*": "AMD Radeon RX 470 / 480 / 570 / 580 / 590",
  },
  0x687f: { "*": "AMD Radeon RX Vega" },
  0x731f: {
    c1: "AMD Radeon RX 5700 XT",
    c4: "AMD Radeon RX 5700",
    ca: "AMD Radeon RX 5600 XT",
    "*": "AMD Radeon RX 5600 XT / 5700 / 5700 XT",
  },
  0x7340: { c5: "AMD Radeon RX 5500 XT", c7: "AMD Radeon RX 5500", "*": "AMD Radeon RX 5500" },
  0x738c: { "*": "AMD Instinct MI100" },
  0x73a5: { "*": "AMD Radeon RX 6950 XT" },
  0x73bf: {
    c0: "AMD Radeon RX 6900 XT",
    c1: "AMD Radeon RX 6800 XT",
    c3: "AMD Radeon RX 6800",
    "*": "AMD Radeon RX 6800 / 6800 XT / 6900 XT",
  },
  0x73df: {
    c0: "AMD Radeon RX 6750 XT",
    c1: "AMD Radeon RX 6700 XT",
    c5: "AMD Radeon RX 6700 XT",
    "*": "AMD Radeon RX 6700 XT / 6750 XT",
  },
  0x73ef: { c1: "AMD Radeon RX 6650 XT", "*": "AMD Radeon RX 6650 XT" },
  0x73ff: {
    c1: "AMD Radeon RX 6600 XT",
    c7: "AMD Radeon RX 6600",
    "*": "AMD Radeon RX 6600 / 6600 XT",
  },
  0x7408: { "*": "AMD Instinct MI250X" },
  0x740c: { "*": "AMD Instinct MI250X / MI250" },
  0x740f: { "*": "AMD Instinct MI210" },
  0x743f: {
    c1: "AMD Radeon RX 6500 XT",
    c7: "AMD Radeon RX 6400",
    "*": "AMD Radeon RX 6400 / 6500 XT",
  },
  0x744c: {
    c8: "AMD Radeon RX 7900 XTX",
    cc: "AMD Radeon RX 7900 XT",
    ce: "AMD Radeon RX 7900 GRE",
    "*": "AMD Radeon RX 7900 XT / XTX / GRE",
  },
  0x747e: {
    c8: "AMD Radeon RX 7800 XT",
    ff: "AMD Radeon RX 7700 XT",
    "*": "AMD Radeon RX 7700 XT / 7800 XT",
  },
  0x7480: {
    c0: "AMD Radeon RX 7600 XT",
    cf: "AMD Radeon RX 7600",
    "*": "AMD Radeon RX 7600 / 7600 XT",
  },
  0x74a0: { "*": "AMD Instinct MI300A" },
  0x74a1: { "*": "AMD Instinct MI300X" },
  0x74a5: { "*": "AMD Instinct MI325X" },
  0x7550: {
    c0: "AMD Radeon RX 9070 XT",
    c3: "AMD Radeon RX 9070",
    "*": "AMD Radeon RX 9070 / 9070 XT",
  },
  0x7590: { c0: "AMD Radeon RX 9060 XT", "*": "AMD Radeon RX 9060 XT" },
  0x75a0: { "*": "AMD Instinct MI350X" },
  0x75a3: { "*": "AMD Instinct MI355X" },
};

/** How a card is called that nothing names. */
export const unnamed = "AMD GPU ";

export interface NameFacts {
  readonly deviceId: number;
  readonly revision: number | undefined;
  /** product_name, which Instinct modules and a few workstation cards fill. */
  readonly productName: string | undefined;
}

export function nameCard(facts: NameFacts, ids: ReadonlyMap<string, string>): string {
  const { deviceId, revision, productName } = facts;
  if (productName !== undefined && productName !== "") return productName;
  const known = names[deviceId];
  const byRevision = revision === undefined ? undefined : revision.toString(16).padStart(2, "0");
  return (
    (byRevision === undefined ? undefined : known?.[byRevision]) ??
    (byRevision === undefined ? undefined : ids.get(idKey(deviceId, byRevision))) ??
    known?.["*"] ??
    `${unnamed}${pciIdText(deviceId)}`
  );
}

const idKey = (deviceId: number, revision: string): string => `${pciIdText(deviceId)}:${revision}`;

/** libdrm's table, lines of `73BF,	C0,	AMD Radeon RX 6900 XT`; empty where the machine has none. */
export async function readNameTable(
  door: FileDoor,
  file = "/usr/share/libdrm/amdgpu.ids",
): Promise<ReadonlyMap<string, string>> {
  const text = await readText(file, 1 << 18, door);
  return text.ok ? parseNameTable(text.value) : new Map();
}

export function parseNameTable(text: string): ReadonlyMap<string, string> {
  const table = new Map<string, string>();
  for (const line of text.split("\n")) {
    const match = /^([0-9a-f]{4}),\s*([0-9a-f]{1,2}),\s*(\S.{0,127}?)\s*$/i.exec(line);
    if (match === null) continue;
    const [, device = "", revision = "", name = ""] = match;
    table.set(`${device.toLowerCase()}:${revision.toLowerCase().padStart(2, "0")}`, name);
  }
  return table;
}
