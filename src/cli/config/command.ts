/** `gpulse config check`: reports every error in a configuration file. */
import type { Command } from "commander";
import type { CommandIo } from "../command/io.ts";
import type { ConfigFlags } from "./run.ts";
import type { Finish } from "../program.ts";

export function declareConfig(program: Command, io: CommandIo, finish: Finish): void {
  const config = program
    .command("config")
    .summary("check a configuration file")
    .description(
      "Works on gpulse.yaml, and on a prometheus.yml or alertmanager.yml (recognised by name).",
    )
    .addHelpText(
      "after",
      "\nExamples:\n  gpulse config check\n  gpulse config check prometheus.yml",
    );
  config
    .command("check")
    .summary("report every error in a configuration file")
    .description(
      "Reads the file and its secrets as a start would, and prints every error with its line.",
    )
    .argument("[file]", "configuration file", "gpulse.yaml")
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      `
Exit code: 0 if the file is valid, 2 if not.

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
