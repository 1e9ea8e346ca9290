// GPUs of simulated nodes, and their owners on an agent's page.

import { expect } from "vitest";

import { radeonFiles } from "../captures/amd-card.ts";
import { prefixed, type TreeFiles } from "../captures/tree.ts";
import { NAMESPACE } from "./kubernetes-lab.ts";

export const GPUS = 4;
export const numbers = Array.from({ length: GPUS }, (_, index) => index);
/** The NVML stub's UUIDs. */
export const gpuUuid = (index: number): string => `GPU-0000000${index}-0000-4000-8000-000000000000`;
export const migUuid = (place: number): string => `MIG-00000000-0000-4000-8000-00000000000${place}`;
export const busId = (index: number): string => `0000:${(0x20 + index).toString(16)}:00.0`;

function cards(driver: string, ids: string, files: TreeFiles): TreeFiles {
  const trees = numbers.map((index) =>
    prefixed(`class/drm/card${index}/device`, {
      ...files,
      uevent: `DRIVER=${driver}\nPCI_CLASS=30000\nPCI_ID=${ids}\nPCI_SLOT_NAME=${busId(index)}`,
      driver: `-> ../../../../bus/pci/drivers/${driver}`,
      unique_id: `5e3d11c0ffee004${index}`,
      [`drm/renderD${128 + index}/dev`]: `226:${128 + index}`,
    }),
  );
  return Object.assign({}, ...trees) as TreeFiles;
}

const arc: TreeFiles = { vendor: "0x8086", device: "0xe20b", "power/runtime_status": "active" };

/** The /sys of a node with four Radeon cards. */
export const radeonCards = cards("amdgpu", "1002:744C", radeonFiles);
/** The /sys of a node with four Arc cards. */
export const arcCards = cards("xe", "8086:E20B", arc);

/** The arguments of NVIDIA's device plugin for the stub's GPU with MIG instances. */
export const migPlugin = {
  script: ["gpus 1", `mig 0 ${GPUS}`],
  args: ["--mig-strategy=mixed"],
  migMinors: numbers.flatMap((place) => [
    `gpu0/gi${7 + place}/access ${20 + 2 * place}`,
    `gpu0/gi${7 + place}/ci0/access ${21 + 2 * place}`,
  ]),
} as const;

/** A configuration of NVIDIA's device plugin that shares each GPU twice. */
export const sharedTwice = (strategy: string): string =>
  `version: v1\nsharing: { ${strategy}, resources: [{ name: nvidia.com/gpu, replicas: 2 }] } }\n`;

/** The holders of each GPU in `gpu_owner_info`, by the GPU's UUID or address. */
export function ownersOn(
  page: string,
  holder: "pod" | "container" = "pod",
): Readonly<Record<string, readonly string[]>> {
  const label = (line: string, name: string): string =>
    new RegExp(`[{,]${name}="([^"]*)"`).exec(line)?.[1] ?? "";
  const lines = page.split("\n");
  const addresses = new Map(
    lines
      .filter((line) => line.startsWith("gpu_info{"))
      .map((line) => [label(line, "uuid"), label(line, "pci_bus_id")]),
  );
  const owners: Record<string, string[]> = {};
  for (const line of lines.filter((one) => one.startsWith("gpu_owner_info{"))) {
    const uuid = label(line, "uuid");
    const gpu = /^(GPU|MIG)-\d{8}-/.test(uuid) ? uuid : (addresses.get(uuid) ?? uuid);
    expect(label(line, "namespace")).toBe(NAMESPACE);
    const name =
      holder === "pod" ? label(line, "pod") : `${label(line, "pod")}/${label(line, holder)}`;
    owners[gpu] = [...(owners[gpu] ?? []), name].sort();
  }
  return owners;
}
