/** `gpulse up`, the default: agent and hub in one process, and a page to look at. */
import type { Command } from "commander";
import { addFlags, readingFlags } from "../command/flags.ts";
import { addAlertingFlags } from "../command/alerting.ts";
import { addLakeFlags } from "../command/lake.ts";
import { addOutboundFlags } from "../command/outbound.ts";
import { addToFlag } from "../command/to.ts";
import { addAccessFlags } from "../command/web.ts";
import type { CommandIo } from "../command/io.ts";
import type { UpFlags } from "./run.ts";
import type { Finish } from "../program.ts";

export function declareUp(program: Command, io: CommandIo, finish: Finish): void {
  const command = program
    .command("up", { isDefault: true })
    .summary("read this machine's GPUs and show them live in a browser (the default)")
    .description(
      "Reads the GPUs of this machine and serves a live page on http://127.0.0.1:9410.\n" +
        "Where there is no GPU it says so and shows a simulated fleet, labelled as simulated everywhere.",
    );
  addFlags(command, [
    ...readingFlags,
    "port",
    "host",
    "compat",
    "data",
    "retention",
    "retentionSize",
    "durability",
    "memory",
    "store",
    "prometheusConfig",
  ])
    .option("--no-open", "do not open the browser")
    .option("--json", "log as JSON lines")
    .addHelpText(
      "after",
      `
Examples:
  gpulse                                   live page of this machine
  gpulse up --source sim:64 --no-open      a bigger simulated fleet, no browser
  gpulse up --source 'sim:2?scenario=stress'  RX 7800 XT beside RX 7700 XT under stress`,
    )
    .action((flags: UpFlags) => finish(async () => (await import("./run.ts")).runUp(flags, io)));
  addLakeFlags(command, true);
  addToFlag(command);
  addAlertingFlags(command);
  addAccessFlags(command);
  addOutboundFlags(command);
}
