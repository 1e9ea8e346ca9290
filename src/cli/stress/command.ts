/** `gpulse stress`: a counted load on simulated GPUs. */
import type { Command } from "commander";
import type { CommandIo } from "../command/io.ts";
import type { Finish } from "../program.ts";
import type { StressFlags } from "./run.ts";

export function declareStress(program: Command, io: CommandIo, finish: Finish): void {
  program
    .command("stress")
    .summary("record runs of a simulated load, for comparisons")
    .description(
      "Simulates a load on models of GPUs in virtual time and writes each repeat as a .gpulserun file. It loads no real GPU: " +
        "to do that, wrap your own program with gpulse run (see docs/guides/benchmark-runs.md).",
    )
    .option(
      "--source <url>",
      "the simulated GPUs, such as sim:?model=RX7800XT or sim:4?model=H200&seed=7",
    )
    .option(
      "--rate <number>",
      "work per second, in H200-milliseconds (default: as much as possible)",
    )
    .option("--for <duration>", "measured time, in virtual time (default: 1m)")
    .option(
      "--warmup <duration>",
      "load before the measurement, until temperatures settle (default: 3m)",
    )
    .option("--baseline <duration>", "idle time before and after (default: 10s)")
    .option("--sampling <duration>", "sampling interval (default: 100ms)")
    .option("--repeats <number>", "number of runs, each with its own seed (default: 3)")
    .option("--ambient <celsius>", "ambient temperature (default: 24)")
    .option("--label <name>", "group repeats under this name (default: the model)")
    .option("--folder <dir>", "folder of the runs (default: gpulse-runs)")
    .option("--host-name <name>", "host name in the runs (default: this machine's name)")
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      `
Examples:
  gpulse stress --source 'sim:?model=RX7800XT'            as much as possible, three repeats
  gpulse stress --source 'sim:?model=RX7700XT' --rate 50  the same work per second on a smaller GPU`,
    )
    .action((flags: StressFlags) =>
      finish(async () => (await import("./run.ts")).runStress(flags, io)),
    );
}
