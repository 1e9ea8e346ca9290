/** `gpulse config check`: every mistake in a configuration file at once. */
import type { Command } from "commander";
import type { CommandIo } from "../command/io.ts";
import type { ConfigFlags } from "./run.ts";
import type { Finish } from "../program.ts";

export function declareConfig(program: Command, io: CommandIo, finish: Finish): void {
  const config = program
    .command("config")
    .summary("check a configuration file")
    .description(
      "Works on gpulse.yaml, and on a prometheus.yml or an alertmanager.yml (recognised by their names).",
    );
  config
    .command("check")
    .summary("say every mistake in a configuration file")
    .description(
      "Reads the file as a start would, secrets included, and prints every mistake with its line.",
    )
    .argument("[file]", "the file", "gpulse.yaml")
    .option("--json", "print the problems as JSON")
    .addHelpText(
      "after",
      `
Exit code: 0 where the file is valid, 2 where not.

Examples:
  gpulse config check
  gpulse config check deploy.yaml --json
  gpulse config check prometheus.yml
  gpulse config check alertmanager.yml`,
    )
    .action((file: string, flags: ConfigFlags) =>
      finish(async () => (await import("./run.ts")).runConfigCheck(file, flags, io)),
    );
}
