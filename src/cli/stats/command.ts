/** `gpulse stats`: the inventory of GPUs. */
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
      "Reads the GPUs of this machine for a moment, or queries a running agent or hub, and prints the inventory.",
    );
  addFlags(command, readingFlags, { logLevel: "error" })
    .option("--url <url>", "query this agent or hub instead, such as http://gpu-node:9400")
    .option("--window <duration>", "time over which power is averaged, without --url (default: 2s)")
    .option("--json", "print JSON, numbers with units")
    .addHelpText(
      "after",
      `
Exit code: 0 with at least one GPU, 1 with none.

Examples:
  gpulse stats                                 this machine
  gpulse stats --json --window 30s             average power over 30 s
  gpulse stats --url http://gpu-node:9400      another machine's agent`,
    )
    .action((flags: StatsFlags) =>
      finish(async () => (await import("./run.ts")).runStats(flags, io)),
    );
  addClientFlags(command);
}
