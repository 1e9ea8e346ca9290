// cAdvisor, if it can be built: the only service of the stack without a package.

import { cadvisorArgs, findCadvisor as builtCadvisor } from "../../engines/cadvisor.ts";
import { EngineMissingError } from "../../engines/cache.ts";

export type Cadvisor =
  | { readonly path: string; readonly args: (port: number) => readonly string[] }
  | { readonly missing: string };

/** @param group the parent cgroup of the services' groups; undefined if they have none */
export async function findCadvisor(group: string | undefined): Promise<Cadvisor> {
  try {
    const path = await builtCadvisor();
    return { path, args: (port) => cadvisorArgs(port, group === undefined ? [] : [group]) };
  } catch (error) {
    if (error instanceof EngineMissingError) return { missing: error.message };
    // Without a network it cannot be built, but everything else can still be shown.
    const reason = error instanceof Error ? (error.message.split("\n")[0] ?? "") : String(error);
    return { missing: `could not be built: ${reason}` };
  }
}
