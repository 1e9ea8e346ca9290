/** `gpulse health`: one verdict per GPU. */
import type { Command } from "commander";
import { addClientFlags } from "../command/client.ts";
import { addFlags, readingFlags } from "../command/flags.ts";
import type { CommandIo } from "../command/io.ts";
import type { Finish } from "../program.ts";
import type { HealthFlags } from "./run.ts";

export function declareHealth(program: Command, io: CommandIo, finish: Finish): void {
  const command = program
    .command("health")
    .summary("judge the GPUs: healthy, degraded, failing or lost, with reason and action")
    .description(
      "Reads the GPUs of this machine for a moment, with the kernel's log, or asks a running agent or hub, which know more: how counters grew and what has held for minutes.",
    );
  addFlags(command, readingFlags, { logLevel: "error" })
    .option("--url <url>", "ask this agent or hub instead, such as http://127.0.0.1:9400")
    .option(
      "--only <host>",
      "only the GPUs of this machine, with --url of a hub (default: all machines)",
    )
    .option("--window <duration>", "how long to read, without --url (default: 3s)")
    .option(
      "--fail-on <states>",
      "states that give an exit code other than 0 (default: degraded,failing,lost,unknown)",
    )
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      `
Exit code, of the worst GPU or machine:
  0  healthy, or a state that --fail-on does not list
  1  could not read or reach anything
  2  the command line is not valid
  3  unknown: too little is reported to judge
  4  degraded: works, with less speed or reserve
  5  failing: do not give it new work
  6  lost: does not respond

Examples:
  gpulse health                                       this machine
  gpulse health --json                                the same for a program
  gpulse health --url http://127.0.0.1:9400           what the agent has seen since it started
  gpulse health --url http://hub:9410 --only node-7   one machine of a fleet
  gpulse health --fail-on failing,lost                for a scheduler: drain only what fails`,
    )
    .action((flags: HealthFlags) =>
      finish(async () => (await import("./run.ts")).runHealth(flags, io)),
    );
  addClientFlags(command);
}
