/**
 * Determines which GPUs a command can see from its runtime's environment variables. Pure. Follows each runtime's own rules: CUDA
 * and ROCm read a list up to its first invalid entry, and an empty list means none.
 */
import type { Env } from "../config/secrets.ts";
import type { Device } from "../model/device.ts";
import type { Visibility } from "./run.ts";

export interface VisibleDevices {
  readonly devices: readonly Device[];
  readonly visibility: Visibility;
  readonly notes: readonly string[];
}

const variableNames = [
  "CUDA_VISIBLE_DEVICES",
  "CUDA_DEVICE_ORDER",
  "ROCR_VISIBLE_DEVICES",
  "HIP_VISIBLE_DEVICES",
  "GPU_DEVICE_ORDINAL",
  "ZE_AFFINITY_MASK",
] as const;

export function visibleDevices(all: readonly Device[], env: Env): VisibleDevices {
  const notes: string[] = [];
  const of = (vendor: Device["vendor"]): Device[] =>
    all.filter((device) => device.vendor === vendor);
  const seen = new Set([
    ...throughCuda(of("nvidia"), env, notes),
    ...throughRocm(of("amd"), env, notes),
    ...throughLevelZero(of("intel"), env, notes),
  ]);
  const variables = Object.fromEntries(
    variableNames.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]])),
  );
  const devices = all.filter((device) => seen.has(device));
  const hidden = all.filter((device) => !seen.has(device)).map(({ uuid }) => uuid);
  if (all.length > 0 && devices.length === 0)
    notes.push("The command could see no GPU: its variables hide every one.");
  return { devices, visibility: { variables, hidden }, notes };
}

function throughCuda(devices: readonly Device[], env: Env, notes: string[]): readonly Device[] {
  const list = env["CUDA_VISIBLE_DEVICES"];
  if (list === undefined || devices.length === 0) return devices;
  const whole = wholeOf(devices);
  const numbered = /^\s*\d/.test(list);
  const mixed = new Set(whole.map(({ model }) => model)).size > 1;
  if (numbered && mixed && env["CUDA_DEVICE_ORDER"] !== "PCI_BUS_ID")
    notes.push(
      "CUDA numbers unlike GPUs fastest first: set CUDA_DEVICE_ORDER=PCI_BUS_ID, or name GPUs by uuid, so that the recorded ones are surely those the command used.",
    );
  return pick("CUDA_VISIBLE_DEVICES", list, whole, devices, notes);
}

/** ROCr filters first, HIP then indexes the rest; HIP uses CUDA's variable if its own is not set. */
function throughRocm(devices: readonly Device[], env: Env, notes: string[]): readonly Device[] {
  if (devices.length === 0) return devices;
  let seen: readonly Device[] = devices;
  const rocr = env["ROCR_VISIBLE_DEVICES"];
  if (rocr !== undefined) seen = pick("ROCR_VISIBLE_DEVICES", rocr, wholeOf(seen), seen, notes);
  const name = ["HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL"].find(
    (variable) => env[variable] !== undefined,
  );
  if (name === undefined) return seen;
  // A uuid of another vendor's card is not meant for HIP.
  const list = env[name] ?? "";
  if (name === "CUDA_VISIBLE_DEVICES" && !/^[\d,\s-]*$/.test(list)) {
    const picked = pick(name, list, wholeOf(seen), seen, []);
    return picked.length > 0 ? picked : seen;
  }
  return pick(name, list, wholeOf(seen), seen, notes);
}

/** `0,1.0`: a card, or a tile of one; a tile counts as its card, which is what is measured. */
function throughLevelZero(
  devices: readonly Device[],
  env: Env,
  notes: string[],
): readonly Device[] {
  const mask = env["ZE_AFFINITY_MASK"];
  if (mask === undefined || mask.trim() === "" || devices.length === 0) return devices;
  if (mask.includes("."))
    notes.push("ZE_AFFINITY_MASK names tiles: readings are of the whole card they belong to.");
  const cards = mask.replace(/\.\d+/g, "");
  return pick(
    "ZE_AFFINITY_MASK",
    [...new Set(cards.split(","))].join(","),
    wholeOf(devices),
    devices,
    notes,
  );
}

function pick(
  variable: string,
  list: string,
  whole: readonly Device[],
  devices: readonly Device[],
  notes: string[],
): readonly Device[] {
  const picked: Device[] = [];
  for (const entry of list.split(",").map((text) => text.trim())) {
    if (entry === "" && list.trim() === "") return [];
    const found = resolveEntry(entry, whole, devices);
    if (found === undefined) {
      if (!/^(-1|NoDevFiles|none|void)?$/i.test(entry))
        notes.push(
          `${variable} names ${JSON.stringify(entry)}, which is not a GPU of this machine: it and all later entries are hidden.`,
        );
      break;
    }
    if (picked.includes(found)) {
      notes.push(`${variable} names a GPU twice: CUDA then sees none.`);
      return variable === "CUDA_VISIBLE_DEVICES" ? [] : picked;
    }
    picked.push(found);
  }
  for (const part of picked)
    if (part.parent !== undefined)
      notes.push(
        `The command saw the part ${part.uuid}: power and temperature are of the whole GPU ${part.parent}.`,
      );
  const parents = picked.flatMap(({ parent }) => devices.filter(({ uuid }) => uuid === parent));
  // MIG instances and partitions of a visible GPU are visible with it.
  const parts = devices.filter(({ parent }) => picked.some(({ uuid }) => uuid === parent));
  return [...picked, ...parents, ...parts];
}

function resolveEntry(
  entry: string,
  whole: readonly Device[],
  devices: readonly Device[],
): Device | undefined {
  if (/^\d+$/.test(entry)) return whole[Number(entry)];
  // The old form of a MIG device: MIG-GPU-<uuid>/<gpu instance>/<compute instance>.
  const old = /^MIG-(GPU-[\w-]+)\/\d+\/\d+$/.exec(entry)?.[1];
  if (old !== undefined) return devices.find(({ uuid }) => uuid === old);
  if (entry.length < 5) return undefined;
  const found = devices.filter(({ uuid }) => uuid.toLowerCase().startsWith(entry.toLowerCase()));
  return found.length === 1 ? found[0] : undefined;
}

/** In the order of their index, which is that of the bus. */
const wholeOf = (devices: readonly Device[]): readonly Device[] =>
  devices
    .filter(({ parent }) => parent === undefined)
    .toSorted((one, other) => one.index - other.index);
