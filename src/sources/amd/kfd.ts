/** ROCm's view of the machine, under class/kfd: peer access between GPUs, partitions, and the memory held by compute programs. */
import type { DevicePartition } from "../../machine/owners/kubelet/device-names.ts";
import type { FileAccess } from "../../machine/sysfs/file-access.ts";
import { listDir, readNumber, readText } from "../../machine/sysfs/read.ts";
import { parseProperties } from "./parse.ts";

export interface KfdNode {
  readonly node: number;
  /** The id in the file names of processes. */
  readonly gpuId: number;
  readonly pciBusId: string;
  /** The number in /dev/dri/renderD129; a partition has its own number but its GPU's address. */
  readonly renderMinor: number | undefined;
  /** Nodes linked to it, by XGMI or PCIe peer to peer. */
  readonly peers: ReadonlySet<number>;
  /** Bandwidth by node in one direction, as reported by the driver; absent if it reports none. */
  readonly peerBytesPerSecond: ReadonlyMap<number, number>;
}

export interface KfdProcess {
  readonly pid: number;
  /** By the GPU's kfd id. */
  readonly vramBytes: ReadonlyMap<number, number>;
}

/** Nodes that are GPUs; empty if there is no kfd. */
export async function readKfdNodes(
  sysfs: string,
  fileAccess: FileAccess,
): Promise<readonly KfdNode[]> {
  const folder = `${sysfs}/class/kfd/kfd/topology/nodes`;
  const names = await listDir(folder, fileAccess);
  if (!names.ok) return [];
  const nodes = await Promise.all(
    names.value
      .filter((name) => /^\d{1,4}$/.test(name))
      .map((name) => readNode(`${folder}/${name}`, Number(name), fileAccess)),
  );
  return nodes.filter((node) => node !== undefined);
}

async function readNode(
  folder: string,
  node: number,
  fileAccess: FileAccess,
): Promise<KfdNode | undefined> {
  const [gpuId, text] = await Promise.all([
    readNumber(`${folder}/gpu_id`, fileAccess),
    readText(`${folder}/properties`, 4_096, fileAccess),
  ]);
  if (!gpuId.ok || gpuId.value === 0 || !text.ok) return undefined;
  const facts = parseProperties(text.value);
  const location = facts.get("location_id");
  if (location === undefined) return undefined;
  const links = await Promise.all(
    ["io_links", "p2p_links"].map((kind) => readLinks(`${folder}/${kind}`, fileAccess)),
  );
  return {
    node,
    gpuId: gpuId.value,
    pciBusId: pciAddress(facts.get("domain") ?? 0, location),
    renderMinor: facts.get("drm_render_minor"),
    peers: new Set(links.flat().map(({ node: peer }) => peer)),
    // io_links last, so that a direct XGMI link overrides the PCIe path that p2p_links may list for the same node.
    peerBytesPerSecond: new Map(
      links
        .toReversed()
        .flat()
        .flatMap(({ node: peer, bytesPerSecond }) =>
          bytesPerSecond === undefined ? [] : [[peer, bytesPerSecond] as const],
        ),
    ),
  };
}

/** location_id contains bus, device and function in PCI's encoding: 8, 5 and 3 bits. */
export function pciAddress(domain: number, location: number): string {
  const hex = (value: number, digits: number): string => value.toString(16).padStart(digits, "0");
  const bus = (location >> 8) & 0xff;
  return `${hex(domain, 4)}:${hex(bus, 2)}:${hex((location >> 3) & 0x1f, 2)}.${location & 7}`;
}

interface KfdLink {
  readonly node: number;
  readonly bytesPerSecond: number | undefined;
}

/** `max_bandwidth` is in MB/s, and 0 if the driver does not know it. */
async function readLinks(folder: string, fileAccess: FileAccess): Promise<KfdLink[]> {
  const links = await listDir(folder, fileAccess);
  if (!links.ok) return [];
  const texts = await Promise.all(
    links.value.map((link) => readText(`${folder}/${link}/properties`, 4_096, fileAccess)),
  );
  return texts.flatMap((text) => {
    const facts = text.ok ? parseProperties(text.value) : undefined;
    const node = facts?.get("node_to");
    const megabytes = facts?.get("max_bandwidth") ?? 0;
    return node === undefined
      ? []
      : [{ node, bytesPerSecond: megabytes > 0 ? megabytes * 1e6 : undefined }];
  });
}

/** Compute programs and the memory they hold; world-readable, unlike their fdinfo. */
export async function readKfdProcesses(
  sysfs: string,
  fileAccess: FileAccess,
): Promise<readonly KfdProcess[]> {
  const folder = `${sysfs}/class/kfd/kfd/proc`;
  const pids = await listDir(folder, fileAccess);
  if (!pids.ok) return [];
  return Promise.all(
    pids.value
      .filter((name) => /^\d{1,10}$/.test(name))
      .map(async (name) => {
        const files = await listDir(`${folder}/${name}`, fileAccess);
        const vramBytes = new Map<number, number>();
        for (const file of files.ok ? files.value : []) {
          const gpuId = /^vram_(\d{1,10})$/.exec(file)?.[1];
          if (gpuId === undefined) continue;
          const bytes = await readNumber(`${folder}/${name}/${file}`, fileAccess);
          if (bytes.ok) vramBytes.set(Number(gpuId), bytes.value);
        }
        return { pid: Number(name), vramBytes };
      }),
  );
}

/** A partitioned GPU has a platform device for each partition except the first; only its kfd node shows which GPU it belongs to. */
export async function readPartitions(
  sysfs: string,
  pciBusId: string,
  nodes: readonly KfdNode[],
  fileAccess: FileAccess,
): Promise<readonly DevicePartition[]> {
  const folder = `${sysfs}/devices/platform`;
  const names = await listDir(folder, fileAccess);
  if (!names.ok) return [];
  const parts = await Promise.all(
    names.value
      .filter((name) => /^amdgpu_xcp_\d{1,4}$/.test(name))
      .map(async (name): Promise<DevicePartition> => {
        const entries = await listDir(`${folder}/${name}/drm`, fileAccess);
        const numberOf = (form: RegExp): number | undefined => {
          const [, digits] =
            (entries.ok ? entries.value : [])
              .map((entry) => form.exec(entry))
              .find((match) => match !== null) ?? [];
          return digits === undefined ? undefined : Number(digits);
        };
        return { name, drmCard: numberOf(/^card(\d+)$/), drmRender: numberOf(/^renderD(\d+)$/) };
      }),
  );
  // Some drivers put a partition's number into the function of its address.
  const slotOf = (address: string): string => address.replace(/\.\d$/, "");
  const own = nodes.filter((node) => slotOf(node.pciBusId) === slotOf(pciBusId));
  return parts.filter(
    ({ drmRender }) =>
      drmRender !== undefined && own.some(({ renderMinor }) => renderMinor === drmRender),
  );
}
