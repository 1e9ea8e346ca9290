/** `gpulse doctor`: what can be read here, and what prevents it. */
import type { Command } from "commander";
import { addFlags } from "../command/flags.ts";
import type { CommandIo } from "../command/io.ts";
import type { DoctorFlags } from "./run.ts";
import type { Finish } from "../program.ts";

export function declareDoctor(program: Command, io: CommandIo, finish: Finish): void {
  const command = program
    .command("doctor")
    .summary("show which GPUs can be read here, what prevents it, and how to fix it")
    .description(
      "Looks at every source without waking or changing anything, and at the ports gpulse uses.",
    );
  addFlags(command, ["source", "hostName", "config", "sysfs", "procfs"])
    .option("--json", "print the findings as JSON")
    .option("--capture <file>", "write what the GPUs of this machine say, masked, to a new file")
    .addHelpText(
      "after",
      `
Exit code: 0 where a GPU can be read (or every --source works), 1 where not.

Examples:
  gpulse doctor                    every source on this machine
  gpulse doctor --source sim:8     one source as it would be run
  gpulse doctor --capture me.json  a masked capture of this machine, to attach to a report`,
    )
    .action((flags: DoctorFlags) =>
      finish(async () => (await import("./run.ts")).runDoctor(flags, io)),
    );
}
