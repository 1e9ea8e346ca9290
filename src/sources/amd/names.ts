/**
 * The name of a card: its own product name if it has one; otherwise by device and revision, from a small table or from libdrm's
 * amdgpu.ids if installed; otherwise the device id. Never a guess between two cards that share an id.
 */
import type { FileAccess } from "../../machine/sysfs/file-access.ts";
import { pciIdText } from "../../machine/sysfs/pci.ts";
import { readText } from "../../machine/sysfs/read.ts";

/**
 * Names by device id, then by revision. `*` applies to every card of the id if the revision cannot be read; if `*` is the only
 * entry, it applies to each revision. An unlisted revision is a different card.
 */
const names: Readonly<Record<number, Readonly<Record<string, string>>>> = {
  0x1114: { "*": "AMD Radeon 840M / 860M" },
  0x1435: { "*": "AMD Custom GPU 0932" },
  0x1506: { "*": "AMD Radeon 610M" },
  0x150e: { "*": "AMD Radeon 880M / 890M" },
  0x1586: { "*": "AMD Radeon 8040S / 8050S / 8060S" },
  0x15bf: { "*": "AMD Radeon 740M / 760M / 780M" },
  0x15c8: { "*": "AMD Radeon 740M" },
  0x163f: { "*": "AMD Custom GPU 0405" },
  0x164e: { "*": "AMD Radeon Graphics (Raphael)" },
  0x1681: { "*": "AMD Radeon 660M / 680M" },
  0x1900: { "*": "AMD Radeon 760M / 780M" },
  0x1901: { "*": "AMD Radeon 740M" },
  0x1902: { "*": "AMD Radeon 820M / 840M" },
  0x66af: { "*": "AMD Radeon VII" },
  0x67df: {
    c0: "AMD Radeon Pro 580X",
    c4: "AMD Radeon RX 480",
    c5: "AMD Radeon RX 470",
    c7: "AMD Radeon RX 480",
    cf: "AMD Radeon RX 470",
    d7: "AMD Radeon RX 470",
    e1: "AMD Radeon RX 590",
    e7: "AMD Radeon RX 580",
    eb: "AMD Radeon Pro 580X",
    ef: "AMD Radeon RX 570",
    "*": "AMD Radeon RX 470 / 480 / 570 / 580 / 590 / Pro 580X",
  },
  0x687f: { "*": "AMD Radeon RX Vega" },
  0x731f: {
    c0: "AMD Radeon RX 5700 XT 50th Anniversary",
    c1: "AMD Radeon RX 5700 XT",
    c2: "AMD Radeon RX 5600M",
    c3: "AMD Radeon RX 5700M",
    c4: "AMD Radeon RX 5700",
    c5: "AMD Radeon RX 5700 XT",
    ca: "AMD Radeon RX 5600 XT",
    cb: "AMD Radeon RX 5600 OEM",
    "*": "AMD Radeon RX 5600 OEM / 5600 XT / 5600M / 5700 / 5700 XT / 5700M",
  },
  0x7340: {
    c1: "AMD Radeon RX 5500M",
    c3: "AMD Radeon RX 5300M",
    c5: "AMD Radeon RX 5500 XT",
    c7: "AMD Radeon RX 5500",
    c9: "AMD Radeon RX 5500 XTB",
    cf: "AMD Radeon RX 5300",
    "*": "AMD Radeon RX 5300 / 5300M / 5500 / 5500 XT / 5500 XTB / 5500M",
  },
  0x7360: {
    "41": "AMD Radeon Pro 5600M",
    c3: "AMD Radeon Pro V520",
    "*": "AMD Radeon Pro 5600M / V520",
  },
  0x738c: { "*": "AMD Instinct MI100" },
  0x73a3: { "*": "AMD Radeon Pro W6800" },
  0x73a5: { "*": "AMD Radeon RX 6950 XT" },
  0x73af: { "*": "AMD Radeon RX 6900 XT" },
  0x73bf: {
    c0: "AMD Radeon RX 6900 XT",
    c1: "AMD Radeon RX 6800 XT",
    c3: "AMD Radeon RX 6800",
    "*": "AMD Radeon RX 6800 / 6800 XT / 6900 XT",
  },
  0x73df: {
    c0: "AMD Radeon RX 6750 XT",
    c1: "AMD Radeon RX 6700 XT",
    c2: "AMD Radeon RX 6800M",
    c3: "AMD Radeon RX 6800M",
    c5: "AMD Radeon RX 6700 XT",
    cf: "AMD Radeon RX 6700M",
    d5: "AMD Radeon RX 6750 GRE 12GB",
    df: "AMD Radeon RX 6700",
    e5: "AMD Radeon RX 6750 GRE 12GB",
    ff: "AMD Radeon RX 6700",
    "*": "AMD Radeon RX 6700 / 6700 XT / 6700M / 6750 GRE 12GB / 6750 XT / 6800M",
  },
  0x73e0: { "*": "AMD Radeon RX 6600M" },
  0x73e3: { "*": "AMD Radeon Pro W6600" },
  0x73ef: {
    c0: "AMD Radeon RX 6800S",
    c1: "AMD Radeon RX 6650 XT",
    c2: "AMD Radeon RX 6700S",
    c3: "AMD Radeon RX 6650M",
    c4: "AMD Radeon RX 6650M XT",
    "*": "AMD Radeon RX 6650 XT / 6650M / 6650M XT / 6700S / 6800S",
  },
  0x73ff: {
    c1: "AMD Radeon RX 6600 XT",
    c3: "AMD Radeon RX 6600M",
    c7: "AMD Radeon RX 6600",
    cb: "AMD Radeon RX 6600S",
    cf: "AMD Radeon RX 6600 LE",
    df: "AMD Radeon RX 6750 GRE 10GB",
    "*": "AMD Radeon RX 6600 / 6600 LE / 6600 XT / 6600M / 6600S / 6750 GRE 10GB",
  },
  0x7408: { "*": "AMD Instinct MI250X" },
  0x740c: { "*": "AMD Instinct MI250X / MI250" },
  0x740f: { "*": "AMD Instinct MI210" },
  0x7422: { "*": "AMD Radeon Pro W6400" },
  0x7424: { "*": "AMD Radeon RX 6300" },
  0x743f: {
    c1: "AMD Radeon RX 6500 XT",
    c3: "AMD Radeon RX 6500M",
    c7: "AMD Radeon RX 6400",
    c8: "AMD Radeon RX 6500M",
    cc: "AMD Radeon 6550S",
    ce: "AMD Radeon RX 6450M",
    cf: "AMD Radeon RX 6300M",
    d3: "AMD Radeon RX 6550M",
    d7: "AMD Radeon RX 6400",
    "*": "AMD Radeon RX 6300M / 6400 / 6450M / 6500 XT / 6500M / 6550M / 6550S",
  },
  0x7448: { "*": "AMD Radeon Pro W7900" },
  0x7449: { "*": "AMD Radeon Pro W7800 48GB" },
  0x744a: { "*": "AMD Radeon Pro W7900 Dual Slot" },
  0x744c: {
    c8: "AMD Radeon RX 7900 XTX",
    cc: "AMD Radeon RX 7900 XT",
    ce: "AMD Radeon RX 7900 GRE",
    cf: "AMD Radeon RX 7900M",
    "*": "AMD Radeon RX 7900 GRE / 7900 XT / 7900 XTX / 7900M",
  },
  0x745e: { "*": "AMD Radeon Pro W7800" },
  0x7470: { "*": "AMD Radeon Pro W7700" },
  0x747e: {
    c8: "AMD Radeon RX 7800 XT",
    d8: "AMD Radeon RX 7800M",
    db: "AMD Radeon RX 7700",
    ff: "AMD Radeon RX 7700 XT",
    "*": "AMD Radeon RX 7700 / 7700 XT / 7800 XT / 7800M",
  },
  0x7480: {
    "00": "AMD Radeon Pro W7600",
    c0: "AMD Radeon RX 7600 XT",
    c1: "AMD Radeon RX 7700S",
    c2: "AMD Radeon RX 7650 GRE",
    c3: "AMD Radeon RX 7600S",
    c7: "AMD Radeon RX 7600M XT",
    cf: "AMD Radeon RX 7600",
    "*": "AMD Radeon RX 7600 / 7600 XT / 7600M XT / 7600S / 7650 GRE / 7700S / Pro W7600",
  },
  0x7483: { "*": "AMD Radeon RX 7600M" },
  0x7489: { "*": "AMD Radeon Pro W7500" },
  0x7499: {
    "00": "AMD Radeon Pro W7400",
    c0: "AMD Radeon RX 7400",
    c1: "AMD Radeon RX 7300",
    "*": "AMD Radeon RX 7300 / 7400 / Pro W7400",
  },
  0x74a0: { "*": "AMD Instinct MI300A" },
  0x74a1: { "*": "AMD Instinct MI300X" },
  0x74a2: { "*": "AMD Instinct MI308X" },
  0x74a5: { "*": "AMD Instinct MI325X" },
  0x74a9: { "*": "AMD Instinct MI300X HF" },
  0x7550: {
    c0: "AMD Radeon RX 9070 XT",
    c2: "AMD Radeon RX 9070 GRE",
    c3: "AMD Radeon RX 9070",
    "*": "AMD Radeon RX 9070 / 9070 GRE / 9070 XT",
  },
  0x7551: {
    c0: "AMD Radeon AI PRO R9700",
    c8: "AMD Radeon AI PRO R9600D",
    "*": "AMD Radeon AI PRO R9600D / R9700",
  },
  0x7590: {
    c0: "AMD Radeon RX 9060 XT",
    c1: "AMD Radeon RX 9060 XT LP",
    c7: "AMD Radeon RX 9060",
    "*": "AMD Radeon RX 9060 / 9060 XT / 9060 XT LP",
  },
  0x75a0: { "*": "AMD Instinct MI350X" },
  0x75a3: { "*": "AMD Instinct MI355X" },
};

/** Prefix of the name of a card without a known name. */
export const unnamedPrefix = "AMD GPU ";

export interface NameFacts {
  readonly deviceId: number;
  readonly revision: number | undefined;
  /** product_name, set on Instinct modules and a few workstation cards. */
  readonly productName: string | undefined;
}

export function nameCard(facts: NameFacts, ids: ReadonlyMap<string, string>): string {
  const { deviceId, revision, productName } = facts;
  if (productName !== undefined && productName !== "") return productName;
  const known = names[deviceId] ?? {};
  const any = known["*"];
  const byRevision = revision === undefined ? undefined : revision.toString(16).padStart(2, "0");
  const exact =
    byRevision === undefined
      ? undefined
      : (known[byRevision] ?? ids.get(idKey(deviceId, byRevision)));
  const isAny = byRevision === undefined || Object.keys(known).length === 1;
  return exact ?? (isAny ? any : undefined) ?? `${unnamedPrefix}${pciIdText(deviceId)}`;
}

const idKey = (deviceId: number, revision: string): string => `${pciIdText(deviceId)}:${revision}`;

/** libdrm's table, lines of `73BF,	C0,	AMD Radeon RX 6900 XT`; empty if it is not installed. */
export async function readNameTable(
  fileAccess: FileAccess,
  file = "/usr/share/libdrm/amdgpu.ids",
): Promise<ReadonlyMap<string, string>> {
  const text = await readText(file, 1 << 18, fileAccess);
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
