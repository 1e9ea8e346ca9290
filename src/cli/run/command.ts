/** `gpulse run`: runs a command and records the GPUs meanwhile. */
import type { Command } from "commander";
import { addClientFlags } from "../command/client.ts";
import { choice } from "../command/choice.ts";
import { addFlags } from "../command/flags.ts";
import type { CommandIo } from "../command/io.ts";
import type { Finish } from "../program.ts";
import type { RunFlags } from "./options.ts";

export function declareRun(program: Command, io: CommandIo, finish: Finish): void {
  const command = program
    .command("run")
    .summary("run a benchmark and record its GPUs")
    .description(
      "Runs a command and records its GPUs ten times a second into one .gpulserun file: snapshots and idle baselines before and " +
        "after, energy, phases, and other processes on the GPUs. Output, signals and exit code are those of the command.",
    )
    .argument("<command...>", "the command and its arguments, after --")
    .option("--label <name>", "group repeats under this name (default: the command's name)")
    .option("--work <number>", "amount of work the command does")
    .option("--unit <name>", "unit of the work, such as images (default: units)")
    .option(
      "--work-pattern <regex>",
      "read the work from the output: a regex with one group around the number",
    )
    .addOption(
      choice("--work-take <how>", "which of several matches to use", ["sum", "last"], "last"),
    )
    .option(
      "--work-metric <name>",
      "read the work from a counter of the sources, or from PromQL on --with-hub",
    )
    .option(
      "--result <path>",
      "read work, phases and the measured window from the benchmark's own result: a log folder of MLPerf LoadGen, or the JSON of " +
        "vllm bench serve, guidellm or llama-bench (default: none)",
    )
    .option(
      "--phase-pattern <regex>",
      "output that starts a phase; '::phase NAME::' always does if the output is captured",
    )
    .option(
      "--measure-phase <name>",
      "cut work, energy, rates and averages to the phase of this name (default: the whole command)",
    )
    .option(
      "--baseline <duration>",
      "idle time to record before and after, 0 for none (default: 2s)",
    )
    .option("--sampling <duration>", "sampling interval (default: 100ms)")
    .option(
      "--out <file>",
      "file of the run; with --repeats, -1, -2, … follow its name (default: gpulse-runs/LABEL-TIME.gpulserun)",
    )
    .option(
      "--repeats <number>",
      "run the command this many times, a file each, and report warm-up, outliers and how many more are needed; ends at the first failure (default: 1)",
    )
    .option("--capture", "capture the output even if it is a terminal")
    .option("--no-capture", "do not capture the output: no phases, no patterns, no copy")
    .option("--measure-overhead", "first measure the overhead of recording (about ten seconds)")
    .option(
      "--with-hub <url>",
      "hub with the other machines of this run, or with the metric of the work",
    )
    .option("--hosts <names>", "the other machines, comma-separated")
    .option(
      "--fail-on-change",
      "exit with 1 if the command succeeded but the system changed or was shared",
    )
    .option("--quiet", "print no summary")
    .option("--json", "print the run as JSON; the command's own output goes to standard error");
  addFlags(
    addClientFlags(command),
    ["source", "tensorPrecision", "hostName", "config", "sysfs", "procfs", "logLevel"],
    {
      logLevel: "warn",
    },
  )
    .addHelpText(
      "after",
      `
Examples:
  gpulse run --label a --work 5000 --unit images -- ./benchmark --images 5000
  gpulse run --label bf16 --unit tokens --work-pattern 'trained ([0-9]+) tokens' -- python3 train.py
  gpulse run --source 'sim:1?model=RX7800XT' --label try -- sleep 5
  gpulse run --label a --repeats 5 --work 5000 --unit images -- ./benchmark --images 5000
  gpulse run --label offline --result build/logs -- python3 run_loadgen.py --scenario Offline
  gpulse run --with-hub http://hub:9410 --hosts node-2,node-3 -- mpirun ./benchmark

Exit code: that of the command; 128 + n if signal n ended it, 127 if it does not exist, 126 if it cannot be executed.`,
    )
    .action((args: string[], flags: RunFlags) =>
      finish(async () => (await import("./run.ts")).runRun(args, flags, io)),
    );
}
