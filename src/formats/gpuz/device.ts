/** The GPU a log is of, which the log itself does not say: from what a person told, and from its columns. */
import { createHash } from "node:crypto";
import { GpulseError } from "../../base/error.ts";
import type { Device } from "../../model/device.ts";
import { type Vendor, vendorChoice } from "../../model/vendor.ts";
import type { GpuzHeader } from "./header.ts";
import { vendorOfColumns, vendorOfName } from "./vendor.ts";

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
  if (gpuName === undefined) note("the log does not name its GPU: give it with gpu-name=…");
  const model = gpuName ?? "unknown (GPU-Z log)";
  return {
    uuid: uuid ?? logIdentity(host, model, index),
    index,
    vendor,
    model,
    simulated: false,
  };
}

/** The same host, name and index are the same GPU in every log of it. */
function logIdentity(host: string, model: string, index: number): string {
  const hash = createHash("sha256").update(`${host}\n${model}\n${index}`).digest("hex");
  return `GPUZ-${[hash.slice(0, 8), hash.slice(8, 12), hash.slice(12, 16), hash.slice(16, 20), hash.slice(20, 32)].join("-")}`;
}
