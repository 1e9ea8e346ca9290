/** `gpulse pipe`: any source to any sink. */
import type { Command } from "commander";
import { addFlags } from "../../command/flags.ts";
import type { CommandIo } from "../../command/io.ts";
import type { PipeFlags } from "../pipe/run.ts";
import type { Finish } from "../program.ts";

export function declarePipe(program: Command, io: CommandIo, finish: Finish): void {
  const command = program
    .command("pipe")
    .summary("carry frames from any source to any sink")
    .description(
      "Runs sources into sinks until their data ends, the time is over, or it is stopped.",
    )
    .option(
      "--from <url>",
      "a source; repeatable",
      (value: string, before: readonly string[] | undefined) => [...(before ?? []), value],
    )
    .option(
      "--to <url>",
      "a sink; repeatable (default: stdout:)",
      (value: string, before: readonly string[] | undefined) => [...(before ?? []), value],
    )
    .option("--for <duration>", "stop after this long");
  addFlags(command, ["interval", "hostName", "config", "sysfs", "procfs", "logLevel"])
    .addHelpText(
      "after",
      `
Examples:
  gpulse pipe --from sim:2 --for 10s                     live frames as JSON lines
  gpulse pipe --from 'sim:8?seed=7&speed=max&start=2026-01-01T00:00:00Z&duration=1h' --to stdout:prometheus
                                                         an hour of virtual time at once`,
    )
    .action((flags: PipeFlags) =>
      finish(async () => (await import("../pipe/run.ts")).runPipe(flags, io)),
    );
}
