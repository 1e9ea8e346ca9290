/** Intel's part of `gpulse doctor`. Reads only files of the PCI core: it wakes nothing. */
import type { FileAccess } from "../../machine/sysfs/file-access.ts";
import { listDir } from "../../machine/sysfs/read.ts";
import { findVendorCards, unreadableCards } from "../drm-cards.ts";
import type { DoctorFinding } from "../source.ts";
import { intelVendor } from "./machine.ts";
import { nameIntel } from "./names.ts";

export async function examine(
  sysfs: string,
  procfs: string,
  fileAccess: FileAccess,
): Promise<DoctorFinding> {
  const found = await findVendorCards(sysfs, intelVendor, fileAccess);
  if (found.own.length > 0) {
    const names = found.own.map(
      ({ deviceId, pciBusId, driver }) => `${nameIntel(deviceId)} (${pciBusId}, ${driver})`,
    );
    // The first process belongs to root: a user who may read it may read every process.
    const first = await listDir(`${procfs}/1/fd`, fileAccess);
    if (first.ok) return { state: "found", says: `${names.join(", ")}.` };
    return {
      state: "found",
      says: `${names.join(", ")}. Utilization and memory are denied: they are in the files of every process.`,
      fix: "Run as root, or in a container with --pid=host --cap-add SYS_PTRACE --cap-add DAC_READ_SEARCH.",
    };
  }
  const notFound = "No Intel GPU with i915 or xe on this machine.";
  return unreadableCards(sysfs, found) ?? { state: "not-found", says: notFound };
}
