/** `gpulse audit`: the audit log of a hub. */
import type { Command } from "commander";
import { addFlags } from "../command/flags.ts";
import type { CommandIo } from "../command/io.ts";
import type { AuditFlags } from "./run.ts";
import type { Finish } from "../program.ts";

export function declareAudit(program: Command, io: CommandIo, finish: Finish): void {
  addFlags(
    program
      .command("audit")
      .summary("show administrative changes of the hub and refused requests")
      .description(
        "Reads the audit log in the hub's data folder, whether the hub runs or not. The newest entry comes last. " +
          "Samples and queries change nothing and are not logged.",
      ),
    ["data", "config"],
  )
    .option("--since <duration>", "only entries of this period, such as 1d (default: all)")
    .option("--limit <number>", "number of entries, the newest (default: 100)")
    .option("--json", "print one line of JSON per entry")
    .addHelpText("after", "\nExamples:\n  gpulse audit\n  gpulse audit --since 7d --json")
    .action((flags: AuditFlags) =>
      finish(async () => (await import("./run.ts")).showAudit(flags, io)),
    );
}
