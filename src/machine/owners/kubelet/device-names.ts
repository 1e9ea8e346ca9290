/**
 * The names under which the kubelet lists a GPU. Every device plugin and every DRA driver uses its own names, and few of them are the
 * UUID. This file normalises both sides: the names in the kubelet's list, and the possible names of a device.
 *
 *   NVIDIA's plugin    GPU-<uuid>, MIG-<uuid>; shared by time slicing or MPS: GPU-<uuid>::3
 *   GKE's plugin       nvidia<minor>, nvidia<minor>/gi<instance>; shared: nvidia<minor>/vgpu3
 *   AMD's plugin       0000:05:00.0, also a GPU's first partition; amdgpu_xcp_30 for the others; shared: 0000:05:00.0-slice-3
 *   Intel's plugin     card<number>-<share>, resource gpu.intel.com/…
 *   NVIDIA's driver    gpu-<minor>, gpu-<minor>-mig-<profile>-<profile id>-<placement>; CDI k8s.gpu.nvidia.com/claim=<claim uid>-<name>
 *   AMD's driver       gpu-<card number>-<render number>
 *   Intel's driver     0000-03-00-0-0x56a0
 */

/** Identifiers of a device besides its UUID; an absent one adds no name. */
export interface DeviceFacts {
  readonly uuid: string;
  readonly vendor: string;
  readonly pciBusId?: string | undefined;
  /** The number in /dev/nvidia3; for a MIG instance that of its GPU. */
  readonly minor?: number | undefined;
  readonly mig?:
    | {
        readonly gpuInstance: string;
        readonly profileId?: number | undefined;
        readonly placementStart?: number | undefined;
      }
    | undefined;
  /** The numbers in /dev/dri/card1 and /dev/dri/renderD129. */
  readonly drmCard?: number | undefined;
  readonly drmRender?: number | undefined;
  /** PCI device id, such as 0x56a0. */
  readonly pciDeviceId?: number | undefined;
  /** Partitions of an AMD GPU (CPX, DPX, QPX) except the first, which has the name of the whole GPU. */
  readonly partitions?: readonly DevicePartition[] | undefined;
}

export interface DevicePartition {
  /** Such as amdgpu_xcp_30. */
  readonly name: string;
  readonly drmCard?: number | undefined;
  readonly drmRender?: number | undefined;
}

const shares = /(?:::\d+|\/vgpu\d+|-slice-\d+)$/;
const claimUid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}-/;
/** gpu-0-mig-1g18gb-19-0, and gpu-0-mig-19-0-1 of drivers before 25.8: the profile's id, the placement, its size. */
const migName =
  /^gpu-(?<minor>\d+)-mig-(?:(?<id>\d+)-(?<start>\d+)-\d+|[0-9a-z-]*[a-z][0-9a-z-]*-(?<newId>\d+)-(?<newStart>\d+))$/;

/** A device plugin's id without the suffix for sharing. */
export function pluginDeviceName(resource: string, deviceId: string): string {
  const name = deviceId.replace(shares, "").toLowerCase();
  const card = resource.startsWith("gpu.intel.com/")
    ? /^(card\d+)-\d+$/.exec(name)?.[1]
    : undefined;
  return card === undefined ? name : `gpu.intel.com/${card}`;
}

/** The name of a claimed device, from its driver and the driver's name for it. */
export function claimedDeviceName(driver: string, device: string): string {
  const name = device.toLowerCase();
  const mig = migName.exec(name)?.groups;
  if (mig === undefined) return `${driver}/${name}`;
  const { minor = "", id = mig["newId"], start = mig["newStart"] } = mig;
  return migClaimName(driver, minor, id ?? "", start ?? "");
}

/** The CDI name from a kubelet that lists neither driver nor device: `k8s.gpu.nvidia.com/claim=<claim uid>-gpu-0`. */
export function cdiDeviceName(name: string): string {
  const [kind = "", device = ""] = name.split("=", 2);
  const [owner = ""] = kind.split("/", 1);
  const driver = owner.replace(/^k8s\./, "").replace(/^(nvidia|amd|intel)\.com$/, "gpu.$1.com");
  return claimedDeviceName(driver, device.toLowerCase().replace(claimUid, ""));
}

function migClaimName(driver: string, minor: string, profileId: string, start: string): string {
  return `${driver}/gpu-${minor}-mig-${profileId}-${start}`;
}

/** All names under which the kubelet may list the device. */
export function kubeletNames(device: DeviceFacts): readonly string[] {
  const { uuid, vendor, pciBusId, mig } = device;
  const names = [uuid.toLowerCase()];
  // A MIG instance shares its GPU's address and minor number, which are names of the whole GPU.
  if (mig === undefined && pciBusId !== undefined) names.push(pciBusId.toLowerCase());
  if (vendor === "nvidia") names.push(...nvidiaNames(device));
  if (vendor === "amd") names.push(...amdNames(device));
  if (vendor === "intel") names.push(...intelNames(device));
  return names;
}

function nvidiaNames({ minor, mig }: DeviceFacts): readonly string[] {
  if (minor === undefined) return [];
  if (mig === undefined) return [`nvidia${minor}`, `gpu.nvidia.com/gpu-${minor}`];
  const { gpuInstance, profileId, placementStart } = mig;
  const ofPlugin = `nvidia${minor}/gi${gpuInstance}`;
  if (profileId === undefined || placementStart === undefined) return [ofPlugin];
  const ofDriver = migClaimName(
    "gpu.nvidia.com",
    String(minor),
    String(profileId),
    String(placementStart),
  );
  return [ofPlugin, ofDriver];
}

/** A pod that holds a partition holds the GPU, because partitions have no readings of their own. */
function amdNames({ drmCard, drmRender, partitions = [] }: DeviceFacts): readonly string[] {
  return [
    ...partitions.map(({ name }) => name.toLowerCase()),
    ...[{ drmCard, drmRender }, ...partitions].flatMap(({ drmCard: card, drmRender: render }) =>
      card === undefined || render === undefined
        ? []
        : [claimedDeviceName("gpu.amd.com", `gpu-${card}-${render}`)],
    ),
  ];
}

function intelNames({ pciBusId, drmCard, pciDeviceId }: DeviceFacts): readonly string[] {
  const names = drmCard === undefined ? [] : [`gpu.intel.com/card${drmCard}`];
  if (pciBusId === undefined || pciDeviceId === undefined) return names;
  const address = pciBusId.toLowerCase().replaceAll(/[:.]/g, "-");
  const id = pciDeviceId.toString(16).padStart(4, "0");
  return [...names, `gpu.intel.com/${address}-0x${id}`];
}
