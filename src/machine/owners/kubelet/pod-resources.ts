/**
 * The kubelet's list of which container holds which device (pkg podresources/v1):
 *   ListPodResourcesResponse { repeated PodResources pod_resources = 1; }
 *   PodResources             { string name = 1; string namespace = 2; repeated ContainerResources containers = 3; }
 *   ContainerResources       { string name = 1; repeated ContainerDevices devices = 2; repeated DynamicResource dynamic_resources = 5; }
 *   ContainerDevices         { string resource_name = 1; repeated string device_ids = 2; }
 *   DynamicResource          { repeated ClaimResource claim_resources = 4; }
 *   ClaimResource            { repeated CDIDevice cdi_devices = 1; string device_name = 4; }   CDIDevice { string name = 1; }
 */

/*
 * As much of the protobuf wire format as the kubelet's answer needs: a message is a run of fields, each a varint tag
 * (number << 3 | type) and a value: 0 varint, 1 eight bytes, 2 length and bytes, 5 four bytes. Unknown fields are passed over.
 */

/** Bytes that are no message of this format. */
export class WireError extends Error {}

interface ProtoField {
  readonly number: number;
  /** Only fields of type 2 (text, bytes, messages) carry something we read. */
  readonly bytes: Uint8Array | undefined;
}

export function* fields(message: Uint8Array): Generator<ProtoField> {
  let at = 0;
  const varint = (): number => {
    let value = 0;
    for (let shift = 0; shift < 70; shift += 7) {
      const byte = message[at++];
      if (byte === undefined) throw new WireError("a number is cut off");
      value += (byte & 0x7f) * 2 ** shift;
      if ((byte & 0x80) === 0) return value;
    }
    throw new WireError("a number is longer than ten bytes");
  };
  const skip = (length: number): Uint8Array => {
    if (!(length <= message.length - at)) throw new WireError("a field is cut off");
    at += length;
    return message.subarray(at - length, at);
  };
  while (at < message.length) {
    const tag = varint();
    const number = Math.floor(tag / 8);
    if (number === 0 || number > 0x1fffffff) throw new WireError("a field has no number");
    switch (tag % 8) {
      case 0:
        varint();
        yield { number, bytes: undefined };
        break;
      case 1:
        skip(8);
        yield { number, bytes: undefined };
        break;
      case 2:
        yield { number, bytes: skip(varint()) };
        break;
      case 5:
        skip(4);
        yield { number, bytes: undefined };
        break;
      default:
        throw new WireError(`a field has the unknown type ${tag % 8}`);
    }
  }
}

const utf8 = new TextDecoder("utf-8");

const textOf = (bytes: Uint8Array): string => utf8.decode(bytes);

export interface AllocatedDevice {
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
  /** `nvidia.com/gpu`; empty for a device claimed by dynamic allocation. */
  readonly resource: string;
  readonly deviceId: string;
}

/** A node runs at most some hundred pods with some devices each. */
const mostDevices = 65_536;

export function decodePodResources(message: Uint8Array): readonly AllocatedDevice[] {
  const held: AllocatedDevice[] = [];
  for (const pod of messages(message, 1)) {
    const [name, namespace] = [text(pod, 1), text(pod, 2)];
    for (const container of messages(pod, 3)) {
      const holder = { namespace, pod: name, container: text(container, 1) };
      for (const devices of messages(container, 2)) {
        const resource = text(devices, 1);
        for (const id of messages(devices, 2)) {
          if (held.length >= mostDevices) return held;
          held.push({ ...holder, resource, deviceId: textOf(id) });
        }
      }
      for (const deviceId of claimed(container)) {
        if (held.length >= mostDevices) return held;
        held.push({ ...holder, resource: "", deviceId });
      }
    }
  }
  return held;
}

/** `nvidia.com/gpu=GPU-…` is the device GPU-…; a claim without such a name has the driver's own. */
function* claimed(container: Uint8Array): Generator<string> {
  for (const dynamic of messages(container, 5))
    for (const claim of messages(dynamic, 4)) {
      const named = [...messages(claim, 1)].map((device) => text(device, 1));
      const own = text(claim, 4);
      if (named.length === 0 && own !== "") yield own;
      for (const name of named) yield name.slice(name.lastIndexOf("=") + 1);
    }
}

/**
 * Ids as device plugins write them, to the id our sources use: time slicing adds `::3` to the UUID, and plugins of other
 * vendors name the PCI address.
 */
export function plainDeviceId(deviceId: string): string {
  return deviceId.replace(/::\d+$/, "").toLowerCase();
}

function* messages(message: Uint8Array, wanted: number): Generator<Uint8Array> {
  for (const { number, bytes } of fields(message))
    if (number === wanted && bytes !== undefined) yield bytes;
}

function text(message: Uint8Array, wanted: number): string {
  let found = "";
  for (const bytes of messages(message, wanted)) found = textOf(bytes);
  return found.slice(0, 512);
}
