/** A log never names its GPU: the vendor is read off the name a person gave, or off columns only that vendor has. */
import type { Vendor } from "../../model/vendor.ts";
import type { GpuzHeader } from "./header.ts";

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
