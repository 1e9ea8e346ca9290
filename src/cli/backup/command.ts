/** `gpulse backup`: backs up and restores the history. */
import type { Command } from "commander";
import { addClientFlags } from "../command/client.ts";
import { addFlags } from "../command/flags.ts";
import type { CommandIo } from "../command/io.ts";
import type { BackupFlags } from "./run.ts";
import type { Finish } from "../program.ts";

export function declareBackup(program: Command, io: CommandIo, finish: Finish): void {
  const backup = program
    .command("backup")
    .summary("back up the history of a hub and restore it")
    .description("Works on the hub's data folder.")
    .addHelpText(
      "after",
      "\nExamples:\n  gpulse backup create /backup/2026-01-01\n  gpulse backup restore /backup/2026-01-01 --data ./gpulse-data",
    );
  const create = addFlags(
    backup
      .command("create")
      .summary("copy the history into a new folder")
      .description(
        "Requests a snapshot from the running hub, or opens the data folder if no hub runs. Links sealed blocks instead of copying them where possible.",
      )
      .argument("<folder>", "a folder that does not exist yet"),
    ["data", "config"],
  )
    .option("--url <url>", "the running hub (default: the hub that uses the data folder)")
    .option("--json", "print JSON")
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
      .summary("restore a data folder from a backup")
      .description("The data folder must not exist or must be empty. The backup is not changed.")
      .argument("<folder>", "a folder made by gpulse backup create"),
    ["data", "config"],
  )
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      "\nExamples:\n  gpulse backup restore /backup/2026-01-01 --data ./gpulse-data",
    )
    .action((folder: string, flags: BackupFlags) =>
      finish(async () => (await import("./run.ts")).restoreBackup(folder, flags, io)),
    );
}
