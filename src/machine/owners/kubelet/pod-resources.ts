/**
 * The kubelet's list of devices by container (pkg podresources/v1):
 *   ListPodResourcesResponse { repeated PodResources pod_resources = 1; }
 *   PodResources             { string name = 1; string namespace = 2; repeated ContainerResources containers = 3; }
 *   ContainerResources       { string name = 1; repeated ContainerDevices devices = 2; repeated DynamicResource dynamic_resources = 5; }
 *   ContainerDevices         { string resource_name = 1; repeated string device_ids = 2; }
 *   DynamicResource          { repeated ClaimResource claim_resources = 4; }
 *   ClaimResource            { repeated CDIDevice cdi_devices = 1; string driver_name = 2; string pool_name = 3; string device_name = 4; }
 *   CDIDevice                { string name = 1; }
 */
import { ProtoReader } from "../../../formats/protobuf/reader.ts";
import { cdiDeviceName, claimedDeviceName, pluginDeviceName } from "./device-names.ts";

const utf8 = new TextDecoder("utf-8");

const textOf = (bytes: Uint8Array): string => utf8.decode(bytes);

export interface AllocatedDevice {
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
  /** Such as `nvidia.com/gpu`; empty for a device claimed by dynamic allocation. */
  readonly resource: string;
  /** One of the `kubeletNames` of its device. */
  readonly device: string;
}

/** Limit; a node runs at most some hundred pods with some devices each. */
const maxDevices = 65_536;

export function decodePodResources(message: Uint8Array): readonly AllocatedDevice[] {
  const held: AllocatedDevice[] = [];
  for (const pod of messages(message, 1)) {
    const [name, namespace] = [text(pod, 1), text(pod, 2)];
    for (const container of messages(pod, 3)) {
      const holder = { namespace, pod: name, container: text(container, 1) };
      for (const devices of messages(container, 2)) {
        const resource = text(devices, 1);
        for (const id of messages(devices, 2)) {
          if (held.length >= maxDevices) return held;
          held.push({ ...holder, resource, device: pluginDeviceName(resource, textOf(id)) });
        }
      }
      for (const device of claimed(container)) {
        if (held.length >= maxDevices) return held;
        held.push({ ...holder, resource: "", device });
      }
    }
  }
  return held;
}

/** Kubelets before 1.32 list only a claim's CDI names. */
function* claimed(container: Uint8Array): Generator<string> {
  for (const dynamic of messages(container, 5))
    for (const claim of messages(dynamic, 4)) {
      const [driver, device] = [text(claim, 2), text(claim, 4)];
      if (driver !== "" && device !== "") yield claimedDeviceName(driver, device);
      else for (const cdi of messages(claim, 1)) yield cdiDeviceName(text(cdi, 1));
    }
}

function* messages(message: Uint8Array, field: number): Generator<Uint8Array> {
  const reader = new ProtoReader(message, 0, message.length);
  while (reader.next()) {
    if (reader.field === field && reader.wireType === 2) {
      const end = reader.payloadEnd();
      yield message.subarray(reader.position, end);
      reader.passTo(end);
    } else reader.skip();
  }
}

/** The last value of a repeated field wins, as protobuf defines. */
function text(message: Uint8Array, field: number): string {
  let last = "";
  for (const bytes of messages(message, field)) last = textOf(bytes);
  return last.slice(0, 512);
}
