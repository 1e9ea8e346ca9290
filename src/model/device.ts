/** A GPU and its identity: the uuid (or vendor, PCI address and machine), never the index or the name. */
import type { MetricEntry } from "./catalogue/entry.ts";
import { type LabelSet, labelSet } from "./labels.ts";

export interface Device {
  /** The device's own UUID, or `fallbackUuid` if it has none. */
  readonly uuid: string;
  /** Index on the host. May change between boots, so it is a label and never the identity. */
  readonly index: number;
  /** One of `vendors`, or any text from another exporter. */
  readonly vendor: string;
  readonly model: string;
  readonly simulated: boolean;
  readonly pciBusId?: string | undefined;
  readonly driver?: string | undefined;
  readonly vbios?: string | undefined;
  /** The board's part number, such as `102-G30211-0C`. Absent if the board does not report one. */
  readonly partNumber?: string | undefined;
  /** How the GPU is attached to the host, as MLPerf reports it: `PCIe`, `SXM`, `OAM`. */
  readonly linkType?: string | undefined;
  /** uuid of the parent GPU of a MIG instance. Absent on a GPU itself. Parts are not counted as GPUs. */
  readonly parent?: string | undefined;
  /** NVIDIA's minor number, the 3 of /dev/nvidia3. A MIG instance has the number of its GPU. Never sent to other machines. */
  readonly minor?: number | undefined;
  /**
   * NVIDIA's ids of a MIG instance: the GPU instance, the compute instance in it if known, and the profile id and first slice if
   * the driver reports them. Never sent to other machines.
   */
  readonly mig?:
    | {
        readonly gpuInstance: string;
        readonly computeInstance?: string | undefined;
        readonly profileId?: number | undefined;
        readonly placementStart?: number | undefined;
      }
    | undefined;
}

/** The id of a GPU without a UUID, such as `amd-0000:03:00.0-3f2a9c01d4e5`. Earlier agents omitted the machine (`amd-0000:03:00.0`). */
export const fallbackUuid = (vendor: string, place: string, machine: string): string =>
  `${vendor}-${place}-${machine}`;

/** Identifies a GPU across hosts: two hosts may report one uuid (older agents, cloned machines, simulated GPUs). */
export const deviceKey = (host: string, uuid: string): string => `${host}\u0000${uuid}`;

/** Returns the labels that every series of the device has. */
export function deviceLabels(
  device: Device,
  host: string,
  extra: Readonly<Record<string, string | undefined>> = {},
): LabelSet {
  return labelSet({ ...extra, uuid: device.uuid, gpu: String(device.index), host });
}

/** Returns the labels of `gpu_info`. */
export function deviceInfoLabels(device: Device, host: string): LabelSet {
  return deviceLabels(device, host, {
    vendor: device.vendor,
    model: device.model,
    driver: device.driver,
    vbios: device.vbios,
    pci_bus_id: device.pciBusId,
    parent: device.parent,
    simulated: device.simulated ? "true" : undefined,
  });
}

/**
 * Returns the device that the labels of `gpu_info` describe, whichever program wrote them: the inverse of `deviceInfoLabels`.
 * Undefined without uuid or vendor. Nothing is inferred: the vendor is the label's text.
 */
export function deviceFromLabels(
  labels: Readonly<Record<string, string | undefined>>,
): Device | undefined {
  const { uuid, vendor, model, driver, vbios, pci_bus_id: pciBusId, parent, simulated } = labels;
  if (uuid === undefined || vendor === undefined) return undefined;
  return {
    ...unidentifiedDevice(uuid, labels["gpu"]),
    vendor,
    model: model ?? "unknown",
    simulated: simulated === "true",
    driver,
    vbios,
    pciBusId,
    parent,
  };
}

/** Returns a GPU of which only the uuid is known, because no `gpu_info` has been received. */
export function unidentifiedDevice(uuid: string, gpu: string | undefined): Device {
  const index = Number(gpu ?? 0);
  return {
    uuid,
    index: Number.isInteger(index) ? index : 0,
    vendor: "unknown",
    model: "unknown",
    simulated: false,
  };
}

/** True if devices of this vendor report the metric; false for a vendor that is not in the catalogue. */
export function isReportedBy(
  device: Pick<Device, "vendor" | "simulated">,
  metric: MetricEntry,
): boolean {
  const given: Readonly<Record<string, string | undefined>> = metric.given;
  return given[device.simulated ? "sim" : device.vendor] !== undefined;
}
