/** Display devices on the PCI bus with any driver, for doctor findings about a card whose driver is missing. */
import type { FileAccess } from "./file-access.ts";
import { parseUevent } from "./drm.ts";
import { listDir, readText } from "./read.ts";

export interface PciDisplay {
  readonly pciBusId: string;
  /** Empty if no driver is bound. */
  readonly driver: string;
}

/** PCI class 0x03 is a display controller, 0x12 a processing accelerator such as an Instinct. */
const displayClass = /^0x(?:03|12)/;

export async function findPciDisplays(
  sysfs: string,
  vendorId: number,
  fileAccess: FileAccess,
): Promise<readonly PciDisplay[]> {
  const folder = `${sysfs}/bus/pci/devices`;
  const names = await listDir(folder, fileAccess);
  if (!names.ok) return [];
  const found = await Promise.all(
    names.value.toSorted().map(async (name) => {
      const [vendor, kind] = await Promise.all([
        readText(`${folder}/${name}/vendor`, 64, fileAccess),
        readText(`${folder}/${name}/class`, 64, fileAccess),
      ]);
      if (!vendor.ok || Number(vendor.value) !== vendorId) return [];
      if (!kind.ok || !displayClass.test(kind.value)) return [];
      const uevent = await readText(`${folder}/${name}/uevent`, 4_096, fileAccess);
      const driver = uevent.ok ? (parseUevent(uevent.value).get("DRIVER") ?? "") : "";
      return [{ pciBusId: name, driver }];
    }),
  );
  return found.flat();
}
