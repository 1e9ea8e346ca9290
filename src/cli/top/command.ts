/** `gpulse top`: shows the GPUs in the terminal. */
import { type Command, Option } from "commander";
import { addClientFlags } from "../command/client.ts";
import { choice } from "../command/choice.ts";
import { addFlags, readingFlags } from "../command/flags.ts";
import type { CommandIo } from "../command/io.ts";
import type { Finish } from "../program.ts";
import type { TopFlags } from "./run.ts";

export function declareTop(program: Command, io: CommandIo, finish: Finish): void {
  const command = program
    .command("top")
    .summary("watch GPUs and their processes in this terminal")
    .description(
      "Shows the GPUs of this machine, an agent or a hub, live: usage against the limits of each GPU, charts, PCIe and NVLink rates, energy and processes.",
    );
  addFlags(command, readingFlags)
    .option("--url <url>", "watch this agent or hub instead, such as http://hub:9410")
    .option(
      "--filter <words>",
      "show only GPUs with these words in host, model, user, pod or state",
    )
    .addOption(
      choice(
        "--theme <name>",
        "colour theme",
        ["okabe", "light", "cividis", "contrast", "mono"],
        "okabe",
      ),
    )
    .option("--ascii", "draw with ASCII only (default: if the locale is not UTF-8)")
    .option("--once", "print one frame and exit")
    .addOption(new Option("--json", "with --once: print JSON, numbers with units").conflicts("csv"))
    .option("--csv", "with --once: print CSV with one line per GPU")
    .addHelpText(
      "after",
      `
Keys: q quit, ? help, / filter, Tab processes, Enter details, Space pause, 2 heatmap. The mouse works too.
Ends a process only after confirmation, and only on this machine. Respects NO_COLOR.

Examples:
  gpulse top                                this machine
  gpulse top --source sim:8                 eight simulated GPUs
  gpulse top --url http://hub:9410          the whole fleet of a hub
  gpulse top --once --json                  for a script`,
    )
    .action((flags: TopFlags) => finish(async () => (await import("./run.ts")).runTop(flags, io)));
  addClientFlags(command);
}
