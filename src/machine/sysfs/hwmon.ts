/**
 * A device's sensors under hwmon: its channels and their labels. The number of a channel differs between drivers and cards, so
 * only the label identifies it. Must not be called for a sleeping device.
 */
import type { FileAccess } from "./file-access.ts";
import { listDir, readSensor, readText } from "./read.ts";
import { type ReadResult, unsupported } from "./read-result.ts";

const kinds = ["temp", "power", "freq", "in", "fan", "pwm", "energy", "curr"] as const;
export type HwmonKind = (typeof kinds)[number];

export interface HwmonChannel {
  /** The folder's own name, such as amdgpu or i915_gt0; a device may have several folders. */
  readonly chip: string;
  readonly kind: HwmonKind;
  readonly number: number;
  /** In lower case; empty if the driver has none. */
  readonly label: string;
  /** The suffixes after the number: `input`, `crit`; empty for the bare file, as in `pwm1`. */
  readonly attributes: ReadonlySet<string>;
  /** Reads one attribute; returns `unsupported` without a read if it does not exist. */
  readonly read: (attribute: string) => Promise<ReadResult<number>>;
}

/** Every channel of the device's own hwmon folders, ordered by kind and number. */
export async function readHwmon(
  device: string,
  fileAccess: FileAccess,
): Promise<readonly HwmonChannel[]> {
  const folders = await listDir(`${device}/hwmon`, fileAccess);
  if (!folders.ok) return [];
  const found = await Promise.all(
    folders.value
      .filter((name) => /^hwmon\d+$/.test(name))
      .map((name) => readFolder(`${device}/hwmon/${name}`, fileAccess)),
  );
  return found.flat();
}

async function readFolder(
  folder: string,
  fileAccess: FileAccess,
): Promise<readonly HwmonChannel[]> {
  const files = await listDir(folder, fileAccess);
  if (!files.ok) return [];
  const channels = groupFiles(files.value);
  const name = await readText(`${folder}/name`, 64, fileAccess);
  const chip = name.ok ? name.value : "";
  return Promise.all(
    channels.map(async ({ kind, number, attributes }) => {
      const stem = `${folder}/${kind}${number}`;
      const label = attributes.has("label")
        ? await readText(`${stem}_label`, 256, fileAccess)
        : unsupported;
      return {
        chip,
        kind,
        number,
        label: label.ok ? label.value.toLowerCase() : "",
        attributes,
        read: async (attribute: string) =>
          attributes.has(attribute)
            ? readSensor(attribute === "" ? stem : `${stem}_${attribute}`, fileAccess)
            : unsupported,
      };
    }),
  );
}

interface FileGroup {
  readonly kind: HwmonKind;
  readonly number: number;
  readonly attributes: Set<string>;
}

/** Groups `temp1_input`, `temp1_crit` and `temp1_label` into one channel. */
export function groupFiles(files: readonly string[]): readonly FileGroup[] {
  const groups = new Map<string, FileGroup>();
  for (const file of files) {
    const match = /^([a-z]+)(\d{1,3})(?:_([a-z_]+))?$/.exec(file);
    const kind = kinds.find((name) => name === match?.[1]);
    if (match === null || kind === undefined) continue;
    const number = Number(match[2]);
    const key = `${kind}${number}`;
    const group = groups.get(key) ?? { kind, number, attributes: new Set<string>() };
    group.attributes.add(match[3] ?? "");
    groups.set(key, group);
  }
  return [...groups.values()].toSorted(
    (a, b) => kinds.indexOf(a.kind) - kinds.indexOf(b.kind) || a.number - b.number,
  );
}
