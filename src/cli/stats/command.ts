/** `gpulse stats`: what GPUs are here. */
import type { Command } from "commander";
import { addClientFlags } from "../command/client.ts";
import { addFlags, readingFlags } from "../command/flags.ts";
import type { CommandIo } from "../command/io.ts";
import type { Finish } from "../program.ts";
import type { StatsFlags } from "./run.ts";

export function declareStats(program: Command, io: CommandIo, finish: Finish): void {
  const command = program
    .command("stats")
    .summary("list the GPUs: model, memory, average power, PCIe link, peer access")
    .description(
      "Reads the GPUs of this machine for a moment, or asks a running gpulse, and prints the inventory.",
    );
  addFlags(command, readingFlags)
    .option("--url <url>", "ask a running agent or hub instead, such as http://gpu-node:9400")
    .option("--window <duration>", "how long power is averaged when reading directly (default: 2s)")
    .option("--json", "print the inventory as JSON, numbers with units")
    .addHelpText(
      "after",
      `
Exit code: 0 with at least one GPU, 1 with none.

Examples:
  gpulse stats                                 this machine
  gpulse stats --json --window 30s             average power over half a minute
  gpulse stats --url http://gpu-node:9400      another machine's agent`,
    )
    .action((flags: StatsFlags) =>
      finish(async () => (await import("./run.ts")).runStats(flags, io)),
    );
  addClientFlags(command);
}
