/** `gpulse alerts`: active alerts, the history of notifications, and test notifications. */
import type { Command } from "commander";
import { addClientFlags, hubUrlOption } from "../command/client.ts";
import type { CommandIo } from "../command/io.ts";
import type { AlertsFlags, AlertHistoryFlags } from "./run.ts";
import type { Finish } from "../program.ts";

export function declareAlerts(program: Command, io: CommandIo, finish: Finish): void {
  const alerts = program
    .command("alerts")
    .summary("show firing alerts and their notifications")
    .description(
      "Shows the alerts of a running hub by group: state, start, labels, and the silence or inhibition that suppresses them.",
    )
    .argument("[matchers...]", 'only alerts that match, such as severity=critical host=~"gpu-.*"')
    .option(...hubUrlOption)
    .option("--check", "exit with 1 if an alert is active and not suppressed")
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      `
Examples:
  gpulse alerts                        all alerts, by group
  gpulse alerts severity=critical      only critical alerts
  gpulse alerts --check --json         for a script: exit code 1 if an alert is active
  gpulse alerts history                notifications that were sent, failed or were suppressed
  gpulse alerts test team-mail         send a test notification to every channel of a receiver`,
    )
    .action((matchers: readonly string[], flags: AlertsFlags) =>
      finish(async () => (await import("./run.ts")).listAlerts(matchers, flags, io)),
    );
  addClientFlags(alerts);
  addClientFlags(
    alerts
      .command("history")
      .summary("show the notifications that were sent, failed or were suppressed")
      .description(
        "Newest first, with the error of a failed notification and the reason of a suppressed one.",
      )
      .option(...hubUrlOption)
      .option("--limit <number>", "number of notifications, at most 2000 (default: 50)")
      .option("--json", "print JSON")
      .addHelpText(
        "after",
        "\nExamples:\n  gpulse alerts history\n  gpulse alerts history --limit 500 --json",
      )
      .action((_: AlertHistoryFlags, command: Command) =>
        finish(async () => (await import("./run.ts")).listHistory(command.optsWithGlobals(), io)),
      ),
  );
  addClientFlags(
    alerts
      .command("test")
      .summary("send a test notification to every channel of a receiver")
      .description(
        "Sends a real notification that is marked as a test. Exits with 1 if a channel fails.",
      )
      .argument("<receiver>", "name of the receiver in alertmanager.yml")
      .option(...hubUrlOption)
      .option("--json", "print JSON")
      .addHelpText(
        "after",
        "\nExamples:\n  gpulse alerts test team-mail\n  gpulse alerts test team-mail --json",
      )
      .action((receiver: string, _: AlertsFlags, command: Command) =>
        finish(async () =>
          (await import("./run.ts")).testAlert(receiver, command.optsWithGlobals(), io),
        ),
      ),
  );
}
