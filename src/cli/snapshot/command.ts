/** `gpulse snapshot`: what a machine is and does at one moment, and whether it changed. */
import type { Command } from "commander";
import { addClientFlags } from "../command/client.ts";
import { addFlags, readingFlags } from "../command/flags.ts";
import type { CommandIo } from "../command/io.ts";
import type { Finish } from "../program.ts";
import type { DiffFlags, SaveFlags, ShowFlags } from "./run.ts";

const load = () => import("./run.ts");

export function declareSnapshot(program: Command, io: CommandIo, finish: Finish): void {
  const snapshot = program
    .command("snapshot")
    .summary("prove that a machine did not change: save what it is, compare two")
    .description(
      "Everything a benchmark stands on: GPUs, their limits, clocks, modes, links and processes; processor,\n" +
        "memory, disks, system, container limits and versions. Changes nothing and wakes no GPU.",
    );
  addClientFlags(
    addFlags(
      snapshot
        .command("save")
        .summary("write a snapshot of this machine, or of another by its agent or hub")
        .description(
          "Reads the GPUs for a moment and writes everything to a JSON file; - is standard output.",
        )
        .argument("<file>", "where to write it, such as before.json"),
      readingFlags,
    )
      .option(
        "--url <url>",
        "of the machine of a running agent or hub, such as http://gpu-node:9400",
      )
      .option("--label <text>", "a name for it")
      .option(
        "--window <duration>",
        "how long power is averaged when reading directly (default: 2s)",
      )
      .addHelpText(
        "after",
        `
Examples:
  gpulse snapshot save before.json                             this machine
  gpulse snapshot save before.json --url http://gpu-node:9400  another machine's agent`,
      )
      .action((file: string, flags: SaveFlags) =>
        finish(async () => (await load()).saveSnapshot(file, flags, io)),
      ),
  );
  snapshot
    .command("show")
    .summary("print a snapshot for people")
    .description("Facts, readings, what a container hides or narrows, and what could not be read.")
    .argument("<file>", "a file that save wrote")
    .option("--json", "print it as JSON")
    .addHelpText("after", "\nExamples:\n  gpulse snapshot show before.json")
    .action((file: string, flags: ShowFlags) =>
      finish(async () => (await load()).showSnapshot(file, flags, io)),
    );
  snapshot
    .command("diff")
    .summary("compare two snapshots: same, changed, or loaded by something else")
    .description(
      "Facts must be identical. Memory in use and power may differ by a threshold; more is another load on the GPU.\n" +
        "GPUs are matched by uuid, so another order is no change; a PCIe link that trained down at idle is none either.",
    )
    .argument("<before>", "the first snapshot")
    .argument("<after>", "the second one")
    .option("--memory-threshold <size>", "memory that counts as another load (default: 256MiB)")
    .option(
      "--power-threshold <watts>",
      "power that does (default: a tenth of the GPU's limit, 15 at least)",
    )
    .option("--json", "print the verdict and every difference as JSON")
    .addHelpText(
      "after",
      `
Exit code: 0 same; 1 the system changed, or something else was on a GPU (the first word says which); 2 a file cannot be read.

Examples:
  gpulse snapshot diff before.json after.json
  gpulse snapshot diff before.json after.json --memory-threshold 1GiB --power-threshold 50`,
    )
    .action((before: string, after: string, flags: DiffFlags) =>
      finish(async () => (await load()).diffFiles(before, after, flags, io)),
    );
  snapshot
    .command("mlperf")
    .summary("print a snapshot as an MLPerf system description")
    .description(
      "What is known is filled in; what is missing is empty, and listed with its reason on standard error.\n" +
        "Power is never part of it: MLPerf power is measured at the wall.",
    )
    .argument("<file>", "a file that save wrote")
    .option("--json", "print the description and what is missing as one JSON document")
    .addHelpText("after", "\nExamples:\n  gpulse snapshot mlperf before.json > system.json")
    .action((file: string, flags: ShowFlags) =>
      finish(async () => (await load()).printMlperf(file, flags, io)),
    );
}
