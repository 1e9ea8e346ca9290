/** `gpulse run`: a command with the GPUs recorded beside it. */
import type { Command } from "commander";
import { addClientFlags } from "../command/client.ts";
import { addFlags } from "../command/flags.ts";
import type { CommandIo } from "../command/io.ts";
import type { Finish } from "../program.ts";
import type { RunFlags } from "./options.ts";

export function declareRun(program: Command, io: CommandIo, finish: Finish): void {
  const command = program
    .command("run")
    .summary("run a benchmark with its GPUs recorded, and keep the proof")
    .description(
      "Runs a command and records its GPUs ten times a second: snapshots and idle baselines before and after, energy, phases,\n" +
        "who else was on the GPUs. All of it goes into one .gpulserun file. Output, signals and exit code are the command's own.",
    )
    .argument("<command...>", "the command and its arguments, behind --")
    .option("--label <name>", "what repeats are grouped by (default: the command's name)")
    .option("--work <number>", "how much work the command does")
    .option("--unit <name>", "what the work is counted in, such as images (default: units)")
    .option("--work-pattern <regex>", "read the work from the output: one group around the number")
    .option("--work-take <how>", "of several matches: sum or last (default: last)")
    .option("--work-metric <name>", "a counter of the sources, or PromQL on the hub of --with-hub")
    .option(
      "--phase-pattern <regex>",
      "output that begins a phase; '::phase NAME::' always does where output is read",
    )
    .option("--baseline <duration>", "idle time recorded before and after (default: 2s, 0: none)")
    .option("--sampling <duration>", "time between two readings (default: 100ms)")
    .option("--out <file>", "where the run goes (default: gpulse-runs/LABEL-TIME.gpulserun)")
    .option("--capture", "read the output also where it is a terminal")
    .option("--no-capture", "leave the terminal to the command: no phases, no patterns, no copy")
    .option("--measure-overhead", "measure first what recording costs (about ten seconds)")
    .option("--with-hub <url>", "a hub that has other machines of this run, or the work's metric")
    .option("--hosts <names>", "the other machines, comma-separated")
    .option("--fail-on-change", "end with 1 where the command went well and the system did not")
    .option("--quiet", "say nothing at the end");
  addFlags(addClientFlags(command), ["source", "hostName", "config", "sysfs", "procfs", "logLevel"])
    .addHelpText(
      "after",
      `
Examples:
  gpulse run --label a --work 5000 --unit images -- ./benchmark --images 5000
  gpulse run --label bf16 --unit tokens --work-pattern 'trained ([0-9]+) tokens' -- python3 train.py
  gpulse run --source 'sim:1?model=RX7800XT' --label try -- sleep 5
  gpulse run --with-hub http://hub:9410 --hosts node-2,node-3 -- mpirun ./benchmark

Ends with the command's own code: 128 + n where a signal ended it, 127 where it is not there, 126 where it cannot be run.`,
    )
    .action((args: string[], flags: RunFlags) =>
      finish(async () => (await import("./run.ts")).runRun(args, flags, io)),
    );
}
