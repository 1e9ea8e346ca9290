/** Opens the Intel source. */
import { createOwnerResolver } from "../../machine/owners/resolver.ts";
import type { FileAccess } from "../../machine/sysfs/file-access.ts";
import { machineIdentity } from "../../machine/sysfs/machine-id.ts";
import { CardSource } from "../cards.ts";
import type { PolledSource, SourceContext } from "../source.ts";
import { IntelMachine } from "./machine.ts";

export async function openIntel(
  options: { readonly processes: boolean },
  { sysfs, procfs, nowMs, log, host }: SourceContext,
  fileAccess: FileAccess,
): Promise<PolledSource> {
  const resolver = createOwnerResolver({ procfs, nowMs, log, fileAccess });
  const machine = new IntelMachine({
    ...options,
    sysfs,
    procfs,
    fileAccess,
    resolver,
    machine: await machineIdentity(host, procfs),
    log,
  });
  return CardSource.open({ host, nowMs, discover: () => machine.discover() });
}
