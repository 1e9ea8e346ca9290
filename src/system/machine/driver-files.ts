/** What a GPU's folder in sysfs says of its firmware and its clocks' policy. A card that sleeps is not asked what would wake it. */
import type { Device } from "../../model/device.ts";
import { readSleepState } from "../../sysfs/pci.ts";
import { listDir, readNumber } from "../../sysfs/read.ts";
import type { GpuExtra } from "../snapshot/gpu.ts";
import type { Machine, Missing } from "./machine.ts";
import { known, lineOf } from "./machine.ts";

export async function driverFiles(
  machine: Machine,
  device: Device,
  missing: Missing,
): Promise<GpuExtra> {
  const { pciBusId, vendor } = device;
  // A simulated GPU has an address too, and somebody else may be there.
  if (device.simulated || pciBusId === undefined || !/^[0-9a-f:.]{1,20}$/.test(pciBusId)) return {};
  const folder = `${machine.sysfs}/bus/pci/devices/${pciBusId}`;
  const node = await readNumber(`${folder}/numa_node`, machine.door);
  const numa = known("numaNode", node.ok && node.value >= 0 ? node.value : undefined);
  if (vendor === "amd") {
    const firmware = known("firmware", await amdFirmware(machine, folder));
    // Older kernels wake the card to tell its level.
    const sleeps = (await readSleepState(folder, machine.door)) === "asleep";
    const level = sleeps
      ? undefined
      : await lineOf(machine, `${folder}/power_dpm_force_performance_level`);
    if (level === undefined)
      missing.note(
        `gpus.${device.uuid}.clocks.performanceLevel`,
        sleeps ? "asleep" : "unsupported",
      );
    return { ...numa, ...firmware, ...known("performanceLevel", level) };
  }
  if (vendor === "intel") return { ...numa, ...(await intelFiles(machine, folder)) };
  return numa;
}

async function amdFirmware(
  machine: Machine,
  folder: string,
): Promise<Record<string, string> | undefined> {
  const names = await listDir(`${folder}/fw_version`, machine.door);
  const firmware: Record<string, string> = {};
  for (const name of (names.ok ? names.value : []).toSorted().slice(0, 64)) {
    const version = await lineOf(machine, `${folder}/fw_version/${name}`);
    // A part this card does not have says 0.
    if (version !== undefined && !/^0x0+$/.test(version))
      firmware[name.replace(/_fw_version$/, "")] = version;
  }
  return Object.keys(firmware).length === 0 ? undefined : firmware;
}

/** i915 has the frequencies beside the card, xe below its tile. */
async function intelFiles(machine: Machine, folder: string): Promise<GpuExtra> {
  const cards = await listDir(`${folder}/drm`, machine.door);
  const card = (cards.ok ? cards.value : []).find((name) => /^card\d+$/.test(name));
  const megahertz = async (...paths: readonly string[]): Promise<number | undefined> => {
    for (const path of paths) {
      const value = await readNumber(`${folder}/${path}`, machine.door);
      if (value.ok) return value.value * 1e6;
    }
    return undefined;
  };
  const i915 = `drm/${card ?? "card0"}`;
  return {
    ...known(
      "requestedMinHertz",
      await megahertz(`${i915}/gt_min_freq_mhz`, "tile0/gt0/freq0/min_freq"),
    ),
    ...known(
      "requestedMaxHertz",
      await megahertz(`${i915}/gt_max_freq_mhz`, "tile0/gt0/freq0/max_freq"),
    ),
  };
}
