/** Reads a GPU's firmware and clock policy from its folder in sysfs. Files that would wake a sleeping card are not read. */
import type { Device } from "../model/device.ts";
import { readSleepState } from "./sysfs/pci.ts";
import { listDir, readNumber } from "./sysfs/read.ts";
import { type ReadResult, asleep, mapReadResult, unsupported } from "./sysfs/read-result.ts";
import type { GpuExtra } from "./snapshot-gpu.ts";
import { lineOf, type Machine, type MissingFacts, optionalFact } from "./machine.ts";

export async function driverFiles(
  machine: Machine,
  device: Device,
  missing: MissingFacts,
): Promise<GpuExtra> {
  const { pciBusId, vendor } = device;
  // A simulated GPU has a PCI address too, at which there may be another device.
  if (device.simulated || pciBusId === undefined || !/^[0-9a-f:.]{1,20}$/.test(pciBusId)) return {};
  const folder = `${machine.sysfs}/bus/pci/devices/${pciBusId}`;
  const node = await readNumber(`${folder}/numa_node`, machine.fileAccess);
  const numa = optionalFact("numaNode", node.ok && node.value >= 0 ? node.value : undefined);
  if (vendor === "amd") {
    const firmware = optionalFact(
      "firmware",
      await amdFirmware(machine, folder, `gpus.${device.uuid}.firmware`, missing),
    );
    // Reading the level wakes the card on older kernels.
    const sleeps = (await readSleepState(folder, machine.fileAccess)) === "asleep";
    const level = sleeps
      ? asleep
      : await lineOf(machine, `${folder}/power_dpm_force_performance_level`);
    const performanceLevel = missing.take(`gpus.${device.uuid}.clocks.performanceLevel`, level);
    return { ...numa, ...firmware, ...optionalFact("performanceLevel", performanceLevel) };
  }
  if (vendor === "intel")
    return { ...numa, ...(await intelFiles(machine, folder, device.uuid, missing)) };
  return numa;
}

async function amdFirmware(
  machine: Machine,
  folder: string,
  fact: string,
  missing: MissingFacts,
): Promise<Record<string, string> | undefined> {
  const names =
    missing.optional(fact, await listDir(`${folder}/fw_version`, machine.fileAccess)) ?? [];
  const firmware: Record<string, string> = {};
  for (const name of names.toSorted().slice(0, 64)) {
    const part = name.replace(/_fw_version$/, "");
    const version = missing.optional(
      `${fact}.${part}`,
      await lineOf(machine, `${folder}/fw_version/${name}`),
    );
    // A part that this card lacks reports 0.
    if (version !== undefined && !/^0x0+$/.test(version)) firmware[part] = version;
  }
  return Object.keys(firmware).length === 0 ? undefined : firmware;
}

/** i915 has the frequency files in the card's folder, xe in its tile's. */
async function intelFiles(
  machine: Machine,
  folder: string,
  uuid: string,
  missing: MissingFacts,
): Promise<GpuExtra> {
  const cards = await listDir(`${folder}/drm`, machine.fileAccess);
  const card = (cards.ok ? cards.value : []).find((name) => /^card\d+$/.test(name));
  const hertz = async (fact: string, ...paths: readonly string[]): Promise<number | undefined> => {
    let reading: ReadResult<number> = unsupported;
    for (const path of paths) {
      const next = await readNumber(`${folder}/${path}`, machine.fileAccess);
      if (next.ok || next.reason !== "unsupported") reading = next;
      if (next.ok) break;
    }
    return missing.optional(
      `gpus.${uuid}.clocks.${fact}`,
      mapReadResult(reading, (megahertz) => megahertz * 1e6),
    );
  };
  const i915 = `drm/${card ?? "card0"}`;
  return {
    ...optionalFact(
      "requestedMinHertz",
      await hertz("requestedMinHertz", `${i915}/gt_min_freq_mhz`, "tile0/gt0/freq0/min_freq"),
    ),
    ...optionalFact(
      "requestedMaxHertz",
      await hertz("requestedMaxHertz", `${i915}/gt_max_freq_mhz`, "tile0/gt0/freq0/max_freq"),
    ),
  };
}
