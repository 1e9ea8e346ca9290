/** A GPU as a thing with an identity: its uuid (or vendor, PCI address and machine), never its index or name. */
import { type LabelSet, labelSet } from "./labels.ts";

export type Vendor = "nvidia" | "amd" | "intel";

export interface Device {
  /** The device's own UUID; where it has none, `fallbackUuid`. */
  readonly uuid: string;
  /** Position on the host; may change between boots, so it only labels. */
  readonly index: number;
  readonly vendor: Vendor;
  readonly model: string;
  readonly simulated: boolean;
  readonly pciBusId?: string;
  readonly driver?: string;
  readonly vbios?: string;
  /** The board's part number, such as `102-G30211-0C`; absent where the board does not report one. */
  readonly partNumber?: string;
  /** How the GPU hangs on the host, as MLPerf asks for it: `PCIe`, `SXM`, `OAM`. */
  readonly linkType?: string;
  /** uuid of the GPU this is a part of (a MIG instance); absent on a GPU itself. Parts are not counted as GPUs. */
  readonly parent?: string;
}

/** `amd-0000:03:00.0-3f2a9c01d4e5`: for a GPU without a UUID. Earlier agents left the machine out (`amd-0000:03:00.0`). */
export const fallbackUuid = (vendor: Vendor, place: string, machine: string): string =>
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
