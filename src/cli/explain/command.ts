/** `gpulse explain`: explains the state of a GPU, host, job or alert. */
import type { Command } from "commander";
import { addClientFlags, hubUrlOption } from "../command/client.ts";
import type { CommandIo } from "../command/io.ts";
import type { Finish } from "../program.ts";
import type { ExplainFlags } from "./run.ts";

export function declareExplain(program: Command, io: CommandIo, finish: Finish): void {
  const command = program
    .command("explain")
    .summary("find the cause: why a GPU, machine, job or alert is as it is")
    .description(
      "Asks a running hub what departs from the GPU's own past and from its peers, and prints the likely causes with their numbers, the PromQL that returns each number, and the runbook's fix. No model is involved.",
    )
    .argument("[gpu]", "UUID of the GPU, its first characters, or MACHINE:INDEX")
    .option("--host <name>", "all GPUs of this machine (default: the GPU named)")
    .option(
      "--job <id>",
      "the GPUs of this job, by its id or the scheduler's number (default: the GPU named)",
    )
    .option("--alert <fingerprint>", "the GPU or machine of this alert (default: the GPU named)")
    .option(
      "--at <time>",
      "a time such as 2026-11-01T12:00:00Z, seconds since 1970, or how long ago, such as 30m (default: now, the end of the job or the start of the alert)",
    )
    .option(
      "--from <time>",
      "list the series that changed in a range that begins here instead of causes; a time as for --at (default: off)",
    )
    .option("--to <time>", "the end of that range, a time as for --at (default: now)")
    .option(...hubUrlOption)
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      `
Exit code:
  0  causes were found, or nothing stands out
  1  the hub cannot be reached, or knows no such GPU, machine, job or alert
  2  the command line is not valid

Examples:
  gpulse explain GPU-5be54ba0                 one GPU, now
  gpulse explain node-7:3 --at 30m            GPU 3 of node-7, half an hour ago
  gpulse explain --host node-7                what is wrong on a machine
  gpulse explain --job 4711                   why a job is slow, or how it ended
  gpulse explain --alert 1a2b3c4d5e6f7a8b     what an alert is about
  gpulse explain node-7:3 --from 2h --to 1h   which of its series changed in that hour
  gpulse explain --host node-7 --json         the same for a program`,
    )
    .action((gpu: string | undefined, flags: ExplainFlags) =>
      finish(async () => (await import("./run.ts")).runExplain(gpu, flags, io)),
    );
  addClientFlags(command);
}
