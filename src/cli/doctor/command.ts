/** `gpulse doctor`: which GPUs can be read, and how to fix problems. */
import type { Command } from "commander";
import { addFlags } from "../command/flags.ts";
import type { CommandIo } from "../command/io.ts";
import type { DoctorFlags } from "./run.ts";
import type { Finish } from "../program.ts";

export function declareDoctor(program: Command, io: CommandIo, finish: Finish): void {
  const command = program
    .command("doctor")
    .argument("[url]", "a metrics page or a Prometheus to check instead of this machine")
    .summary("show which GPUs can be read, and how to fix what cannot")
    .description(
      "Checks every source without waking a GPU or changing anything, and the ports that gpulse uses. " +
        "With a URL it checks that metrics page or Prometheus: which GPU exporter is there, which features work and what is missing.",
    );
  addFlags(command, ["source", "hostName", "config", "sysfs", "procfs"])
    .option("--all", "also show sources that need an address, such as s3 and kafka")
    .option("--json", "print JSON")
    .option("--capture <file>", "write the readings of this machine, masked, to a new file")
    .addHelpText(
      "after",
      `
Exit code: 0 if a GPU can be read (or every --source works, or the URL has GPUs), 1 if not.

Examples:
  gpulse doctor                    GPUs, problems and metrics of this machine
  gpulse doctor --all              also the sources that need an address
  gpulse doctor --source sim:8     only this source
  gpulse doctor http://node-1:9400/metrics    what this exporter gives gpulse
  gpulse doctor http://prometheus:9090        the same for all exporters of a Prometheus
  gpulse doctor --capture me.json  a masked capture of this machine for a bug report`,
    )
    .action((url: string | undefined, flags: DoctorFlags) =>
      finish(async () => (await import("./run.ts")).runDoctor(flags, io, url)),
    );
}
