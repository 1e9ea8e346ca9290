/** `gpulse audit`: who changed what on a hub. */
import type { Command } from "commander";
import { addFlags } from "../command/flags.ts";
import type { CommandIo } from "../command/io.ts";
import type { AuditFlags } from "./run.ts";
import type { Finish } from "../program.ts";

export function declareAudit(program: Command, io: CommandIo, finish: Finish): void {
  addFlags(
    program
      .command("audit")
      .summary("show who changed what on the hub, and who was refused")
      .description(
        "Reads the hub's data folder, whether the hub runs or not. The newest comes last.\n" +
          "Sending samples and asking queries change nothing and are not in it.",
      ),
    ["data", "config"],
  )
    .option("--since <duration>", "only what is younger, such as 1d")
    .option("--limit <number>", "at most so many, the newest (default: 100)")
    .option("--json", "one line of JSON each, for a program")
    .addHelpText("after", "\nExamples:\n  gpulse audit\n  gpulse audit --since 7d --json")
    .action((flags: AuditFlags) =>
      finish(async () => (await import("./run.ts")).showAudit(flags, io)),
    );
}
