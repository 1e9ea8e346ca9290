/** Pressure stall information: how long tasks waited for processors, memory and disks. Kernels without it lack the folder. */
import { host } from "../../model/catalogue/index.ts";
import { readText } from "../../machine/sysfs/read.ts";
import { mapReadResult } from "../../machine/sysfs/read-result.ts";
import type { HostContext } from "./machine.ts";
import { parsePressure } from "./proc.ts";
import { part } from "./processor.ts";
import type { HostFrameBuilder } from "./samples.ts";

const resources = ["cpu", "memory", "io"] as const;

export async function addPressure(
  { procfs, fileAccess }: HostContext,
  samples: HostFrameBuilder,
): Promise<void> {
  for (const resource of resources) {
    const text = await readText(`${procfs}/pressure/${resource}`, 512, fileAccess);
    const pressure = mapReadResult(text, parsePressure);
    samples.add(
      host.pressureWaiting,
      part(pressure, ({ waitingSeconds }) => waitingSeconds),
      { resource },
    );
    samples.add(
      host.pressureStalled,
      part(pressure, ({ stalledSeconds }) => stalledSeconds),
      { resource },
    );
  }
}
