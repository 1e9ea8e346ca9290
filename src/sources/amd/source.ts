/** Opens the AMD source: /sys first, the tools only where it tells nothing, and never for a /sys that is not this machine's. */
import { createOwnerResolver } from "../../machine/owners/resolver.ts";
import type { FileAccess } from "../../machine/sysfs/file-access.ts";
import { machineIdentity } from "../../machine/sysfs/machine-id.ts";
import { CardSource } from "../cards.ts";
import type { PolledSource, SourceContext } from "../source.ts";
import { AmdMachine } from "./machine.ts";
import type { AmdOptions } from "./options.ts";
import { ToolMachine } from "./tools/machine.ts";
import { ToolRunner } from "./tools/run.ts";
import { readStatic } from "./tools/snapshot.ts";

const ownSysfs = "/sys";
const staticDeadlineMs = 15_000;

export async function openAmd(
  options: AmdOptions,
  context: SourceContext,
  fileAccess: FileAccess,
): Promise<PolledSource> {
  const { sysfs, procfs, nowMs, log, host } = context;
  const mayAsk = options.tools === "auto" && sysfs === ownSysfs;
  const runner = new ToolRunner({ deadlineMs: staticDeadlineMs });
  const identity = await machineIdentity(host, procfs);
  const machine = new AmdMachine({
    ...options,
    machine: identity,
    log,
    sysfs,
    procfs,
    fileAccess,
    resolver: createOwnerResolver({ procfs, nowMs, log, fileAccess }),
    ...(mayAsk ? { askTool: () => readStatic(runner, nowMs()) } : {}),
  });
  const tools = mayAsk ? new ToolMachine({ nowMs, machine: identity }) : undefined;
  return CardSource.open({
    host,
    nowMs,
    discover: async () => {
      const cards = await machine.discover();
      return cards.length > 0 || tools === undefined || machine.hasSeenCards
        ? cards
        : tools.discover();
    },
  });
}
