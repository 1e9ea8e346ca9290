/** A machine's GPUs as bytes: what the page needs to name them. */
import type { Device } from "../../model/device.ts";
import { ByteReader, ByteWriter, FramesError } from "./bytes.ts";
import { hashOf } from "./hash.ts";
import type { Definition } from "./layout.ts";
import { limits } from "./limits.ts";

/** Empty text where there is none. */
const optional = ["pciBusId", "driver", "vbios", "linkType", "parent"] as const;

export function encodeDevices(devices: readonly Device[]): Definition {
  const bytes = new ByteWriter();
  bytes.varint(devices.length);
  for (const device of devices) {
    bytes.text(device.uuid);
    bytes.varint(device.index);
    bytes.text(device.vendor);
    bytes.text(device.model);
    bytes.byte(device.simulated ? 1 : 0);
    bytes.varint(optional.length);
    for (const key of optional) bytes.text(device[key] ?? "");
  }
  const content = bytes.finish();
  return { hash: hashOf(content), content };
}

/** @throws FramesError */
export function decodeDevices(content: Uint8Array): readonly Device[] {
  const reader = new ByteReader(content);
  return Array.from({ length: reader.count("devices", limits.devices, 6) }, () => {
    const uuid = reader.text(limits.nameBytes);
    if (uuid === "") throw new FramesError("a device has no uuid");
    const index = reader.varint();
    const vendor = reader.text(limits.nameBytes);
    const model = reader.text(limits.nameBytes);
    const simulated = reader.byte() === 1;
    const texts = Array.from({ length: reader.count("texts of a device", 64, 1) }, () =>
      reader.text(limits.nameBytes),
    );
    const told = optional.flatMap((key, at) => {
      const text = texts[at] ?? "";
      return text === "" ? [] : [[key, text] as const];
    });
    return { uuid, index, vendor, model, simulated, ...Object.fromEntries(told) };
  });
}
