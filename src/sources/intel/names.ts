/** Names of Intel GPUs by PCI device id; /sys contains none. */
import { pciIdText } from "../../machine/sysfs/pci.ts";

const names: Readonly<Record<number, string>> = {
  0x0bd5: "Intel Data Center GPU Max 1550",
  0x3e92: "Intel UHD Graphics 630",
  0x4680: "Intel UHD Graphics 770",
  0x4692: "Intel UHD Graphics 730",
  0x46a6: "Intel Iris Xe Graphics (Alder Lake)",
  0x46a8: "Intel Iris Xe Graphics (Alder Lake)",
  0x4c8a: "Intel UHD Graphics 750",
  0x56a0: "Intel Arc A770",
  0x56a1: "Intel Arc A750",
  0x56a2: "Intel Arc A580",
  0x56a5: "Intel Arc A380",
  0x56a6: "Intel Arc A310",
  0x56c0: "Intel Data Center GPU Flex 170",
  0x56c1: "Intel Data Center GPU Flex 140",
  0x5917: "Intel UHD Graphics 620",
  0x64a0: "Intel Arc Graphics 130V / 140V",
  0x7d55: "Intel Arc Graphics (Meteor Lake)",
  0x9a49: "Intel Iris Xe Graphics (Tiger Lake)",
  0x9bc5: "Intel UHD Graphics 630",
  0xa780: "Intel UHD Graphics 770",
  0xa7a0: "Intel Iris Xe Graphics (Raptor Lake)",
  0xe20b: "Intel Arc B580",
  0xe20c: "Intel Arc B570",
};

export function nameIntel(deviceId: number): string {
  return names[deviceId] ?? `Intel GPU ${pciIdText(deviceId)}`;
}
