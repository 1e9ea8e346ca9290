/** A GPU as a thing with an identity: its uuid (or vendor, PCI address and machine), never its index or name. */
import type { MetricEntry } from "./catalogue/entry.ts";
import { type LabelSet, labelSet } from "./labels.ts";

export interface Device {
  /** The device's own UUID; where it has none, `fallbackUuid`. */
  readonly uuid: string;
  /** Position on the host; may change between boots, so it only labels. */
  readonly index: number;
  /** One of `vendors`, or the text that another program wrote. */
  readonly vendor: string;
  readonly model: string;
  readonly simulated: boolean;
  readonly pciBusId?: string | undefined;
  readonly driver?: string | undefined;
  readonly vbios?: string | undefined;
  /** The board's part number, such as `102-G30211-0C`; absent where the board does not report one. */
  readonly partNumber?: string | undefined;
  /** How the GPU is attached to the host, as MLPerf reports it: `PCIe`, `SXM`, `OAM`. */
  readonly linkType?: string | undefined;
  /** uuid of the GPU this is a part of (a MIG instance); absent on a GPU itself. Parts are not counted as GPUs. */
  readonly parent?: string | undefined;
  /** NVIDIA's number in /dev/nvidia3; of a MIG instance that of its GPU. Stays on its machine. */
  readonly minor?: number | undefined;
  /**
   * NVIDIA's numbers of a MIG instance: its GPU instance and, where known, the compute instance in it; the profile's id and
   * the first slice it occupies where the driver lets us read them. Stays on its machine.
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

/** `amd-0000:03:00.0-3f2a9c01d4e5`: for a GPU without a UUID. Earlier agents left the machine out (`amd-0000:03:00.0`). */
export const fallbackUuid = (vendor: string, place: string, machine: string): string =>
  `${vendor}-${place}-${machine}`;

/** Identifies a GPU across hosts: two hosts may report one uuid (older agents, cloned machines, simulated GPUs). */
export const deviceKey = (host: string, uuid: string): string => `${host}\u0000${uuid}`;

/** The labels every series of the device carries. */
export function deviceLabels(
  device: Device,
  host: string,
  extra: Readonly<Record<string, string | undefined>> = {},
): LabelSet {
  return labelSet({ ...extra, uuid: device.uuid, gpu: String(device.index), host });
}

/** The labels of `gpu_info`. */
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
 * The device that the labels of `gpu_info` describe, from any writer: the inverse of `deviceInfoLabels`. Undefined without
 * uuid and vendor. Nothing is guessed: the vendor is the label's text.
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

/** A GPU of which only the uuid is known, because no `gpu_info` of it has been seen. */
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

/** Whether a device of this kind is known to report the metric; of an unlisted vendor nothing is known. */
export function isReportedBy(
  device: Pick<Device, "vendor" | "simulated">,
  metric: MetricEntry,
): boolean {
  const given: Readonly<Record<string, string | undefined>> = metric.given;
  return given[device.simulated ? "sim" : device.vendor] !== undefined;
}
