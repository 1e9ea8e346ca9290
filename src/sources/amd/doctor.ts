/** AMD's part of `gpulse doctor`. Reads only files of the PCI core: it wakes nothing and opens no sensor. */
import type { FileAccess } from "../../machine/sysfs/file-access.ts";
import { findPciDisplays } from "../../machine/sysfs/pci-devices.ts";
import { readSleepState } from "../../machine/sysfs/pci.ts";
import { findVendorCards, unreadableCards } from "../drm-cards.ts";
import type { DoctorFinding } from "../source.ts";
import { amdVendor } from "./family.ts";
import { nameCard } from "./names.ts";

export async function examine(sysfs: string, fileAccess: FileAccess): Promise<DoctorFinding> {
  const found = await findVendorCards(sysfs, amdVendor, fileAccess);
  const { own } = found;
  if (own.length > 0) {
    const states = await Promise.all(own.map(({ device }) => readSleepState(device, fileAccess)));
    const asleep = states.filter((state) => state === "asleep").length;
    const names = own.map(({ deviceId, revision, pciBusId }) => {
      const name = nameCard({ deviceId, revision, productName: undefined }, new Map());
      return `${name} (${pciBusId})`;
    });
    const sleeping = asleep === 0 ? "" : ` ${asleep} of them asleep, and left asleep.`;
    return { state: "found", says: `${names.join(", ")}.${sleeping}` };
  }
  const unreadable = unreadableCards(sysfs, found);
  if (unreadable !== undefined) return unreadable;
  const [unbound] = await findPciDisplays(sysfs, amdVendor.vendorId, fileAccess);
  if (unbound === undefined) return { state: "not-found", says: "No AMD GPU on this machine." };
  const holder = unbound.driver === "" ? "no driver" : `the driver ${unbound.driver}`;
  return {
    state: "not-found",
    says: `An AMD GPU is at ${unbound.pciBusId}, but ${holder} holds it and not amdgpu.`,
    ...(unbound.driver === "" ? { fix: "Load the driver: modprobe amdgpu" } : {}),
  };
}
