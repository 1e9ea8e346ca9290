/** `gpulse top`: the GPUs in this terminal. */
import { type Command, Option } from "commander";
import { addClientFlags } from "../command/client.ts";
import { addFlags, readingFlags } from "../command/flags.ts";
import type { CommandIo } from "../command/io.ts";
import type { Finish } from "../program.ts";
import type { TopFlags } from "./run.ts";

export function declareTop(program: Command, io: CommandIo, finish: Finish): void {
  const command = program
    .command("top")
    .summary("watch GPUs and who is on them in this terminal")
    .description(
      "Shows the GPUs of this machine, of an agent or of a whole hub, live: bars against each card's own limits, charts of the last minutes, PCIe and NVLink rates, energy, processes.",
    );
  addFlags(command, readingFlags)
    .option("--url <url>", "watch a running agent or hub instead, such as http://hub:9410")
    .option("--filter <words>", "show only what holds these words: host, model, user, pod, state")
    .option("--theme <name>", "okabe, light, cividis, contrast or mono (default: okabe)")
    .option("--ascii", "draw with ASCII alone (default where the locale is not UTF-8)")
    .option("--once", "print one picture and end")
    .addOption(new Option("--json", "with --once: as JSON, numbers with units").conflicts("csv"))
    .option("--csv", "with --once: one line a GPU")
    .addHelpText(
      "after",
      `
Keys: q quit, ? help, / filter, Tab processes, Enter details, Space pause, 2 heatmap. The mouse works too.
A process is ended only after a question, and only on this machine. NO_COLOR is respected.

Examples:
  gpulse top                                this machine
  gpulse top --source sim:8                 eight simulated GPUs
  gpulse top --url http://hub:9410          the whole fleet of a hub
  gpulse top --once --json                  for a program`,
    )
    .action((flags: TopFlags) => finish(async () => (await import("./run.ts")).runTop(flags, io)));
  addClientFlags(command);
}
