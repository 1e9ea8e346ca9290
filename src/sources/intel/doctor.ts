/** What `gpulse doctor` says of Intel GPUs. Reads only what the PCI core knows: it wakes nothing. */
import type { FileAccess } from "../../machine/sysfs/file-access.ts";
import { findDrmCards, unidentifiedReason } from "../../machine/sysfs/drm.ts";
import { listDir } from "../../machine/sysfs/read.ts";
import type { DoctorFinding } from "../source.ts";
import { isIntelDriver } from "./machine.ts";
import { intelVendorId, nameIntel } from "./names.ts";

export async function examine(
  sysfs: string,
  procfs: string,
  fileAccess: FileAccess,
): Promise<DoctorFinding> {
  const { cards, unidentified, absent } = await findDrmCards(sysfs, intelVendorId, fileAccess);
  const own = cards.filter(({ driver }) => isIntelDriver(driver));
  if (own.length > 0) {
    const names = own.map(
      ({ deviceId, pciBusId, driver }) => `${nameIntel(deviceId)} (${pciBusId}, ${driver})`,
    );
    // The first process belongs to root: one who may look into it may look into all.
    const first = await listDir(`${procfs}/1/fd`, fileAccess);
    if (first.ok) return { state: "found", says: `${names.join(", ")}.` };
    return {
      state: "found",
      says: `${names.join(", ")}. Utilization and memory are denied: they are told by the files of every process.`,
      fix: "Run as root, or in a container with --pid=host --cap-add SYS_PTRACE --cap-add DAC_READ_SEARCH.",
    };
  }
  const [damaged] = unidentified;
  if (damaged !== undefined)
    return { state: "failed", says: `${damaged} is left out: ${unidentifiedReason}.` };
  if (absent === "denied") {
    return {
      state: "denied",
      says: `${sysfs}/class/drm may not be read.`,
      fix: "Mount the host's /sys read-only (docker run -v /sys:/sys:ro) and give it with --sysfs.",
    };
  }
  return { state: "not-found", says: "No Intel GPU with i915 or xe on this machine." };
}
