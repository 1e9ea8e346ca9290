/** `gpulse stress`: a counted load on simulated cards. */
import type { Command } from "commander";
import type { CommandIo } from "../command/io.ts";
import type { Finish } from "../program.ts";
import type { StressFlags } from "./run.ts";

export function declareStress(program: Command, io: CommandIo, finish: Finish): void {
  program
    .command("stress")
    .summary("load simulated cards with counted work, as runs to compare")
    .description(
      "Runs a load on models of cards in virtual time and keeps each repeat as a .gpulserun file. It loads no real GPU: for\n" +
        "that wrap a program of yours with gpulse run (docs/guides/benchmark-runs.md has some).",
    )
    .option("--source <url>", "the simulated card: sim:?model=RX7800XT, sim:4?model=H200&seed=7")
    .option("--rate <number>", "work a second, in H200-milliseconds (default: as much as it can)")
    .option("--for <duration>", "the measured span, in virtual time (default: 1m)")
    .option("--warmup <duration>", "load before it, until heat has settled (default: 3m)")
    .option("--baseline <duration>", "idle before and after (default: 10s)")
    .option("--sampling <duration>", "time between two readings (default: 100ms)")
    .option("--repeats <number>", "how many runs, each with a seed of its own (default: 3)")
    .option("--ambient <celsius>", "the room (default: 24)")
    .option("--label <name>", "what repeats are grouped by (default: the model)")
    .option("--folder <dir>", "where runs are kept (default: gpulse-runs)")
    .option("--host-name <name>", "the host the runs say (default: this machine's name)")
    .addHelpText(
      "after",
      `
Examples:
  gpulse stress --source 'sim:?model=RX7800XT'            as much as the card can, three repeats
  gpulse stress --source 'sim:?model=RX7700XT' --rate 50  the same work a second on a smaller card`,
    )
    .action((flags: StressFlags) =>
      finish(async () => (await import("./run.ts")).runStress(flags, io)),
    );
}
