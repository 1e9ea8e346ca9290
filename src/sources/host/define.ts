/** The source `host:`, the machine around the GPUs: off unless it is configured, since a node exporter often runs on the same machine. */
import * as v from "valibot";
import { wholeNumber } from "../../config/fields.ts";
import { hostFileAccess } from "../../machine/sysfs/file-access.ts";
import { defineSource } from "../source.ts";

export const host = defineSource({
  name: "host",
  summary:
    "The machine around the GPUs: processors, memory, disks, network, temperatures and containers, from /proc and /sys.",
  options: v.strictObject({
    containers: v.optional(
      v.pipe(
        wholeNumber(0, 1_000),
        v.description("Maximum number of containers with their own series; 0 for none."),
      ),
      100,
    ),
  }),
  examples: [
    { url: "host:", description: "everything, with up to 100 containers" },
    { url: "host:?containers=0", description: "without containers" },
  ],
  auto: false,
  doctor: async (_, context) => {
    const { findCgroupRoot } = await import("./container-walk.ts");
    const { readProcStat } = await import("./processor.ts");
    const machine = { ...context, fileAccess: context.fileAccess ?? hostFileAccess };
    const stat = await readProcStat(machine);
    if (!stat.ok && stat.reason === "denied")
      return {
        state: "denied",
        says: `This user may not read ${context.procfs}/stat.`,
        fix: "In a container, mount the host's with -v /proc:/host/proc:ro and add --procfs /host/proc.",
      };
    if (!stat.ok)
      return {
        state: "not-found",
        says: `There is no ${context.procfs}/stat here: this needs Linux.`,
      };
    const cgroups = await findCgroupRoot(machine);
    return {
      state: "found",
      says: `${context.procfs} and ${context.sysfs} can be read; containers ${
        cgroups.ok ? "by their version 2 cgroups" : "unavailable: cgroup version 2 is not mounted"
      }.`,
    };
  },
  create: async (
    { containers },
    { host: name, procfs, sysfs, nowMs, fileAccess = hostFileAccess },
  ) => {
    const { HostSource } = await import("./source.ts");
    return new HostSource({ host: name, procfs, sysfs, nowMs, containers, fileAccess });
  },
});
