/** `gpulse stress`: a load of known size on an NVIDIA GPU or on simulated ones, recorded as runs. */
import type { Command } from "commander";
import type { CommandIo } from "../command/io.ts";
import type { Finish } from "../program.ts";
import type { StressFlags } from "./run.ts";

export function declareStress(program: Command, io: CommandIo, finish: Finish): void {
  program
    .command("stress")
    .summary("record runs of a counted load, for comparisons")
    .description(
      "Loads GPUs and writes each repeat as a .gpulserun file. With --source nvidia: the load is the bf16 tensor test of gpulse check on a " +
        "free GPU; with sim: it is simulated on models of GPUs in virtual time. To load other GPUs, wrap your own program with gpulse run " +
        "(see docs/guides/benchmark-runs.md).",
    )
    .option(
      "--source <url>",
      "nvidia: or simulated GPUs, such as sim:?model=RX7800XT or sim:4?model=H200&seed=7",
    )
    .option(
      "--rate <number>",
      "simulated GPUs: work per second, in H200-milliseconds (default: as much as possible)",
    )
    .option("--for <duration>", "measured time, in virtual time for simulated GPUs (default: 1m)")
    .option(
      "--warmup <duration>",
      "simulated GPUs: load before the measurement, until temperatures settle (default: 3m)",
    )
    .option("--baseline <duration>", "idle time before and after (default: 10s)")
    .option("--sampling <duration>", "sampling interval (default: 100ms)")
    .option("--repeats <number>", "number of runs, each with its own seed (default: 3)")
    .option("--ambient <celsius>", "simulated GPUs: ambient temperature (default: 24)")
    .option("--gpu <index|uuid>", "NVIDIA: the GPU to load (default: every free one in turn)")
    .option("--cuda-library <file>", "the driver's CUDA library (default: libcuda.so.1)")
    .option("--label <name>", "group repeats under this name (default: the model)")
    .option("--folder <dir>", "folder of the runs (default: gpulse-runs)")
    .option("--host-name <name>", "host name in the runs (default: this machine's name)")
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      `
Examples:
  gpulse stress --source nvidia: --for 30s                three runs of 30 s on a free NVIDIA GPU
  gpulse stress --source 'sim:?model=RX7800XT'            as much as possible, three repeats
  gpulse stress --source 'sim:?model=RX7700XT' --rate 50  the same work per second on a smaller GPU`,
    )
    .action((flags: StressFlags) =>
      finish(async () => (await import("./run.ts")).runStress(flags, io)),
    );
}
