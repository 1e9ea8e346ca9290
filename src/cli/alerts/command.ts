/** `gpulse alerts`: what fires, what became of notifications, and a try at sending one. */
import type { Command } from "commander";
import { addClientFlags } from "../command/client.ts";
import type { CommandIo } from "../command/io.ts";
import type { AlertsFlags, HistoryFlags } from "./run.ts";
import type { Finish } from "../program.ts";

export function declareAlerts(program: Command, io: CommandIo, finish: Finish): void {
  const alerts = program
    .command("alerts")
    .summary("show firing alerts and their notifications")
    .description(
      "Shows the alerts of a running hub by group: state, since when, what it is about, and what keeps it quiet.",
    )
    .argument(
      "[matchers...]",
      'only alerts with these labels, such as severity=critical host=~"gpu-.*"',
    )
    .option("--url <url>", "the hub (default: http://127.0.0.1:9410)")
    .option("--check", "exit with 1 where an alert is active that nothing keeps quiet")
    .option("--json", "print them for a program")
    .addHelpText(
      "after",
      `
Examples:
  gpulse alerts                        everything, by group
  gpulse alerts severity=critical      what is critical
  gpulse alerts --check --json         for a script: exit code 1 where something fires
  gpulse alerts history                what was sent, failed or was kept quiet
  gpulse alerts test team-mail         send a test by every way of a receiver`,
    )
    .action((matchers: readonly string[], flags: AlertsFlags) =>
      finish(async () => (await import("./run.ts")).listAlerts(matchers, flags, io)),
    );
  addClientFlags(alerts);
  addClientFlags(
    alerts
      .command("history")
      .summary("show what became of notifications")
      .description("The newest first: sent, failed and why, or suppressed and by what.")
      .option("--url <url>", "the hub (default: http://127.0.0.1:9410)")
      .option("--limit <number>", "how many, at most 2000 (default: 50)")
      .option("--json", "print them for a program")
      .addHelpText(
        "after",
        "\nExamples:\n  gpulse alerts history\n  gpulse alerts history --limit 500 --json",
      )
      .action((_: HistoryFlags, command: Command) =>
        finish(async () => (await import("./run.ts")).listHistory(command.optsWithGlobals(), io)),
      ),
  );
  addClientFlags(
    alerts
      .command("test")
      .summary("send a test by every way of a receiver")
      .description(
        "Sends one notification, marked as a test, for real. Exits with 1 where a way did not take it.",
      )
      .argument("<receiver>", "its name in the alertmanager.yml")
      .option("--url <url>", "the hub (default: http://127.0.0.1:9410)")
      .option("--json", "print what came of it for a program")
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
