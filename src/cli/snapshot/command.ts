/** `gpulse snapshot`: the state of a machine at one time, and whether it changed. */
import type { Command } from "commander";
import { addClientFlags } from "../command/client.ts";
import { addFlags, readingFlags } from "../command/flags.ts";
import type { CommandIo } from "../command/io.ts";
import type { Finish } from "../program.ts";
import type { DiffFlags, SaveFlags, SnapshotShowFlags } from "./run.ts";

const load = () => import("./run.ts");

export function declareSnapshot(program: Command, io: CommandIo, finish: Finish): void {
  const snapshot = program
    .command("snapshot")
    .summary("save the state of a machine and compare two snapshots")
    .description(
      "A snapshot contains the GPUs with their limits, clocks, modes, links and processes; processor, memory, disks, " +
        "system, container limits and versions. It changes nothing and wakes no GPU.",
    )
    .addHelpText(
      "after",
      `
Examples:
  gpulse snapshot save before.json
  gpulse snapshot show before.json
  gpulse snapshot diff before.json after.json`,
    );
  addClientFlags(
    addFlags(
      snapshot
        .command("save")
        .summary("write a snapshot of this machine, or of an agent's or hub's machine")
        .description("Reads the GPUs for a moment and writes a JSON file; - is standard output.")
        .argument("<file>", "file to write, such as before.json"),
      readingFlags,
      { logLevel: "error" },
    )
      .option(
        "--url <url>",
        "take the snapshot from this agent or hub, such as http://gpu-node:9400",
      )
      .option("--label <text>", "name of the snapshot")
      .option(
        "--window <duration>",
        "time over which power is averaged, without --url (default: 2s)",
      )
      .option("--json", "print JSON")
      .addHelpText(
        "after",
        `
Examples:
  gpulse snapshot save before.json                             this machine
  gpulse snapshot save before.json --url http://gpu-node:9400  the machine of an agent`,
      )
      .action((file: string, flags: SaveFlags) =>
        finish(async () => (await load()).saveSnapshot(file, flags, io)),
      ),
  );
  snapshot
    .command("show")
    .summary("print a snapshot")
    .description("Prints facts, readings, the limits of a container, and what could not be read.")
    .argument("<file>", "file written by gpulse snapshot save")
    .option("--json", "print JSON")
    .addHelpText("after", "\nExamples:\n  gpulse snapshot show before.json")
    .action((file: string, flags: SnapshotShowFlags) =>
      finish(async () => (await load()).showSnapshot(file, flags, io)),
    );
  snapshot
    .command("diff")
    .summary("compare two snapshots: same, changed, or loaded by another process")
    .description(
      "Facts must be identical. Memory in use and power may differ by a threshold; more counts as another load on the GPU. " +
        "Matches GPUs by UUID, so their order does not matter. Ignores a PCIe link that trained down at idle.",
    )
    .argument("<before>", "first snapshot")
    .argument("<after>", "second snapshot")
    .option(
      "--memory-threshold <size>",
      "difference of memory that counts as another load (default: 256MiB)",
    )
    .option(
      "--power-threshold <watts>",
      "difference of power that does (default: a tenth of the power limit, at least 15)",
    )
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      `
Exit code: 0 same; 1 the system changed, or another process used a GPU (the first word names which); 2 a file cannot be read.

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
      "Fills in the known fields. Missing fields stay empty and are listed with a reason on standard error. " +
        "Never contains power: MLPerf measures power at the wall.",
    )
    .argument("<file>", "file written by gpulse snapshot save")
    .option("--json", "print the description and the missing fields as one JSON document")
    .addHelpText("after", "\nExamples:\n  gpulse snapshot mlperf before.json > system.json")
    .action((file: string, flags: SnapshotShowFlags) =>
      finish(async () => (await load()).printMlperf(file, flags, io)),
    );
}
