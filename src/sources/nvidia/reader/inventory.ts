/** Lists the GPUs and MIG instances of NVML with their identity. Read-only. */
import type { Device } from "../../../model/device.ts";
import { shortBusId } from "../bus-id.ts";
import { code, meansDriverGone } from "../nvml/codes.ts";
import type { Nvml } from "../nvml/library.ts";
import { gpuInstanceInfo, nameBytes, pciInfo, readText } from "../nvml/structs.ts";

/** The handle of a GPU that the driver does not list; NVML rejects it as an invalid argument. */
export const noHandle = 0;

export interface ListedDevice {
  readonly device: Device;
  /** Valid until NVML is shut down; afterwards the same number may be another GPU's handle. */
  readonly handle: number;
  readonly instance?: MigInstance & { readonly parentUuid: string };
}

/** A MIG instance by its ids: a compute instance, and the GPU instance that contains it. */
export interface MigInstance {
  readonly gpuInstance: number;
  /** Undefined if the driver does not report it. */
  readonly computeInstance: number | undefined;
}

export interface Inventory {
  readonly code: number;
  readonly found: readonly ListedDevice[];
}

export function readInventory(nvml: Nvml): Inventory {
  const count = Buffer.alloc(4);
  const got = nvml.nvmlDeviceGetCount_v2(count);
  if (got !== code.success) return { code: got, found: [] };
  const driver = readDriver(nvml);
  const found: ListedDevice[] = [];
  for (let index = 0; index < count.readUInt32LE(0); index++) {
    const out = Buffer.alloc(8);
    const answer = nvml.nvmlDeviceGetHandleByIndex_v2(index, out);
    if (meansDriverGone(answer)) return { code: answer, found: [] };
    // A GPU that fell off the bus is still counted but has no handle.
    if (answer !== code.success) continue;
    const handle = Number(out.readBigUInt64LE(0));
    const device = describe(nvml, handle, index, driver);
    if (device === undefined) continue;
    found.push({ device, handle }, ...instancesOf(nvml, handle, device));
  }
  return { code: code.success, found };
}

export function readDriver(nvml: Nvml): string | undefined {
  const text = Buffer.alloc(80);
  const got = nvml.nvmlSystemGetDriverVersion(text, text.length);
  return got === code.success ? readText(text) : undefined;
}

/** 13000 becomes 13.0, 12040 becomes 12.4. */
export function readCuda(nvml: Nvml): string | undefined {
  const out = Buffer.alloc(4);
  if (nvml.nvmlSystemGetCudaDriverVersion_v2(out) !== code.success) return undefined;
  const version = out.readInt32LE(0);
  return `${Math.floor(version / 1_000)}.${Math.floor((version % 1_000) / 10)}`;
}

/** Returns success if the handle is still this device's, an invalid argument if it is another's, otherwise NVML's code. */
export function checkIdentity(nvml: Nvml, handle: number, uuid: string): number {
  const text = Buffer.alloc(nameBytes);
  const got = nvml.nvmlDeviceGetUUID(handle, text, text.length);
  if (got === code.success && readText(text) !== "")
    return readText(text) === uuid ? code.success : code.invalidArgument;
  const identity = identityByAddress(readBusId(nvml, handle));
  return identity === uuid ? code.success : got === code.success ? code.invalidArgument : got;
}

/** The identity of a GPU that reports no UUID. */
const identityByAddress = (pciBusId: string | undefined): string | undefined =>
  pciBusId === undefined ? undefined : `nvidia-${pciBusId}`;

function readBusId(nvml: Nvml, handle: number): string | undefined {
  const pci = Buffer.alloc(pciInfo.bytes);
  if (nvml.nvmlDeviceGetPciInfo_v3(handle, pci) !== code.success) return undefined;
  return shortBusId(readText(pci, pciInfo.busId, pciInfo.busIdBytes));
}

function describe(
  nvml: Nvml,
  handle: number,
  index: number,
  driver: string | undefined,
): Device | undefined {
  const text = Buffer.alloc(nameBytes);
  const readTextOf = (call: (out: Buffer, bytes: number) => number): string | undefined => {
    text.fill(0);
    const got = call(text, text.length);
    const answer = readText(text);
    return got === code.success && answer !== "" ? answer : undefined;
  };
  const uuid = readTextOf((out, bytes) => nvml.nvmlDeviceGetUUID(handle, out, bytes));
  const pciBusId = readBusId(nvml, handle);
  const identity = uuid ?? identityByAddress(pciBusId);
  if (identity === undefined) return undefined;
  const vbios = readTextOf((out, bytes) => nvml.nvmlDeviceGetVbiosVersion(handle, out, bytes));
  const bus = Buffer.alloc(4);
  const minor = Buffer.alloc(4);
  const hasMinor = nvml.nvmlDeviceGetMinorNumber(handle, minor) === code.success;
  const isPcie =
    nvml.nvmlDeviceGetBusType(handle, bus) === code.success && bus.readUInt32LE(0) === 2;
  return {
    uuid: identity,
    index,
    vendor: "nvidia",
    model: readTextOf((out, bytes) => nvml.nvmlDeviceGetName(handle, out, bytes)) ?? "NVIDIA GPU",
    simulated: false,
    pciBusId,
    driver,
    vbios,
    linkType: isPcie ? "PCIe" : undefined,
    minor: hasMinor ? minor.readUInt32LE(0) : undefined,
  };
}

/** The MIG instances of a GPU in MIG mode; they have the GPU's index, and their own names and UUIDs. */
function instancesOf(nvml: Nvml, handle: number, parent: Device): ListedDevice[] {
  const [current, pending] = [Buffer.alloc(4), Buffer.alloc(4)];
  if (nvml.nvmlDeviceGetMigMode(handle, current, pending) !== code.success) return [];
  if (current.readUInt32LE(0) !== 1) return [];
  const most = Buffer.alloc(4);
  if (nvml.nvmlDeviceGetMaxMigDeviceCount(handle, most) !== code.success) return [];
  const found: ListedDevice[] = [];
  for (let place = 0; place < Math.min(most.readUInt32LE(0), 64); place++) {
    const out = Buffer.alloc(8);
    if (nvml.nvmlDeviceGetMigDeviceHandleByIndex(handle, place, out) !== code.success) continue;
    const instance = Number(out.readBigUInt64LE(0));
    const [id, part] = [Buffer.alloc(4), Buffer.alloc(4)];
    if (nvml.nvmlDeviceGetGpuInstanceId(instance, id) !== code.success) continue;
    const hasPart = nvml.nvmlDeviceGetComputeInstanceId(instance, part) === code.success;
    const own = describe(nvml, instance, parent.index, parent.driver);
    if (own === undefined || own.uuid === parent.uuid) continue;
    const mig = {
      gpuInstance: String(id.readUInt32LE(0)),
      computeInstance: hasPart ? String(part.readUInt32LE(0)) : undefined,
      ...placementOf(nvml, handle, id.readUInt32LE(0)),
    };
    const device: Device = {
      ...parent,
      uuid: own.uuid,
      model: own.model,
      parent: parent.uuid,
      mig,
    };
    found.push({
      device,
      handle: instance,
      instance: {
        parentUuid: parent.uuid,
        gpuInstance: id.readUInt32LE(0),
        computeInstance: hasPart ? part.readUInt32LE(0) : undefined,
      },
    });
  }
  return found;
}

/** The profile of a GPU instance and its start; a container may lack the permission to read them. */
function placementOf(
  nvml: Nvml,
  handle: number,
  gpuInstance: number,
): { readonly profileId?: number; readonly placementStart?: number } {
  const out = Buffer.alloc(8);
  if (nvml.nvmlDeviceGetGpuInstanceById(handle, gpuInstance, out) !== code.success) return {};
  const info = Buffer.alloc(gpuInstanceInfo.bytes);
  const got = nvml.nvmlGpuInstanceGetInfo(Number(out.readBigUInt64LE(0)), info);
  if (got !== code.success) return {};
  return {
    profileId: info.readUInt32LE(gpuInstanceInfo.profileId),
    placementStart: info.readUInt32LE(gpuInstanceInfo.placementStart),
  };
}
