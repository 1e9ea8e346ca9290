/** `gpulse backup`: copies of the history, and back. */
import type { Command } from "commander";
import { addClientFlags } from "../command/client.ts";
import { addFlags } from "../command/flags.ts";
import type { CommandIo } from "../command/io.ts";
import type { BackupFlags } from "./run.ts";
import type { Finish } from "../program.ts";

export function declareBackup(program: Command, io: CommandIo, finish: Finish): void {
  const backup = program
    .command("backup")
    .summary("copy the history, and bring a copy back")
    .description("Works on the hub's data folder.");
  const create = addFlags(
    backup
      .command("create")
      .summary("copy everything kept so far into a new folder")
      .description(
        "Asks the running hub for a snapshot, or opens the data folder where none runs. Sealed data is linked, not copied, where that is possible.",
      )
      .argument("<folder>", "a folder that does not exist yet"),
    ["data", "config"],
  )
    .option("--url <url>", "the running hub (default: the one that uses the data folder)")
    .addHelpText(
      "after",
      "\nExamples:\n  gpulse backup create /backup/2026-01-01\n  gpulse backup create /backup/now --data /var/lib/gpulse",
    )
    .action((folder: string, flags: BackupFlags) =>
      finish(async () => (await import("./run.ts")).createBackup(folder, flags, io)),
    );
  addClientFlags(create);
  addFlags(
    backup
      .command("restore")
      .summary("make a data folder out of a copy")
      .description("The data folder must not exist yet, or be empty; the copy stays as it is.")
      .argument("<folder>", "a folder made by gpulse backup create"),
    ["data", "config"],
  )
    .addHelpText(
      "after",
      "\nExamples:\n  gpulse backup restore /backup/2026-01-01 --data ./gpulse-data",
    )
    .action((folder: string, flags: BackupFlags) =>
      finish(async () => (await import("./run.ts")).restoreBackup(folder, flags, io)),
    );
}
