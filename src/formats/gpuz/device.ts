/** The GPU of a log, from the user's options and the log's columns: the log does not name it. */
import { type Vendor, vendorChoice } from "../../model/vendor.ts";
import type { GpuzHeader } from "./header.ts";
import { createHash } from "node:crypto";
import { GpulseError } from "../../base/error.ts";
import type { Device } from "../../model/device.ts";

/* The vendor comes from the name in the user's options, or from columns that only one vendor has. */

const names: readonly (readonly [RegExp, Vendor])[] = [
  [/nvidia|geforce|quadro|tesla|titan|\b[rg]tx?\b|\b[rg]tx?\s?\d/i, "nvidia"],
  [/\bamd\b|\bati\b|radeon|instinct|firepro|vega|\brx\s?\d/i, "amd"],
  [/intel|\barc\b|iris|\buhd\b/i, "intel"],
];

export function vendorOfName(name: string): Vendor | undefined {
  return names.find(([pattern]) => pattern.test(name))?.[1];
}

export function vendorOfColumns(header: GpuzHeader): Vendor | undefined {
  const has = (pattern: RegExp): boolean => header.columns.some(({ name }) => pattern.test(name));
  if (has(/^(?:PerfCap Reason|MVDDC Power Draw|PWR_SRC|Bus Interface Load)/)) return "nvidia";
  if (has(/^(?:UVD Clock|GPU Temperature \(Hot Spot\)|Mem1 VRM)/)) return "amd";
  if (has(/^GPU Power$/)) return "intel";
  return undefined;
}

export interface GpuzIdentity {
  readonly gpuName: string | undefined;
  readonly vendor: Vendor | undefined;
  readonly uuid: string | undefined;
  readonly index: number;
  readonly host: string;
}

export function gpuzDevice(
  header: GpuzHeader,
  file: string,
  { gpuName, vendor: given, uuid, index, host }: GpuzIdentity,
  note: (sentence: string) => void,
): Device {
  const vendor = given ?? vendorOfName(gpuName ?? "") ?? vendorOfColumns(header);
  if (vendor === undefined)
    throw new GpulseError(
      "SOURCE_OPTIONS",
      `A GPU-Z log does not name its GPU, and the columns of ${file} do not tell the vendor: say gpu-name=… or vendor=${vendorChoice} (as options of import, replay and analyze: --gpu-name or --vendor).`,
    );
  if (gpuName === undefined) note("the log does not name its GPU: pass gpu-name=…");
  const model = gpuName ?? "unknown (GPU-Z log)";
  return {
    uuid: uuid ?? logIdentity(host, model, index),
    index,
    vendor,
    model,
    simulated: false,
  };
}

/** The same host, name and index are the same GPU in all its logs. */
function logIdentity(host: string, model: string, index: number): string {
  const hash = createHash("sha256").update(`${host}\n${model}\n${index}`).digest("hex");
  return `GPUZ-${[hash.slice(0, 8), hash.slice(8, 12), hash.slice(12, 16), hash.slice(16, 20), hash.slice(20, 32)].join("-")}`;
}
