/**
 * Opens the AMD source: from /sys, or from the tools if /sys contains no card, but never the tools if /sys belongs to another machine.
 */
import type { FileAccess } from "../../machine/sysfs/file-access.ts";
import { CardSource } from "../cards.ts";
import { openDrmMachine } from "../drm-cards.ts";
import type { PolledSource, SourceContext } from "../source.ts";
import type { AmdOptions } from "./define.ts";
import { AmdMachine } from "./machine.ts";
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
  const { sysfs, nowMs, host } = context;
  const mayRunTools = options.tools === "auto" && sysfs === ownSysfs;
  const runner = new ToolRunner({ deadlineMs: staticDeadlineMs });
  const drm = await openDrmMachine(context, fileAccess);
  const machine = new AmdMachine({
    ...options,
    ...drm,
    runTool: mayRunTools ? () => readStatic(runner, nowMs()) : undefined,
  });
  const tools = mayRunTools ? new ToolMachine({ nowMs, machine: drm.machine }) : undefined;
  return CardSource.open({
    host,
    nowMs,
    onOwnerChange: (listener) => drm.resolver.onChange(listener),
    discover: async () => {
      const cards = await machine.discover();
      return cards.length > 0 || tools === undefined || machine.hasSeenCards
        ? cards
        : tools.discover();
    },
  });
}
