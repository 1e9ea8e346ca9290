/** `gpulse silence`: creates and expires silences. */
import type { Command } from "commander";
import { addClientFlags, hubUrlOption } from "../command/client.ts";
import type { CommandIo } from "../command/io.ts";
import type { Finish } from "../program.ts";
import type { SilenceAddFlags, SilenceListFlags } from "./run.ts";

export function declareSilence(program: Command, io: CommandIo, finish: Finish): void {
  const silence = program
    .command("silence")
    .summary("silence alerts for a while")
    .description(
      "Manages the silences of a running hub, which are compatible with Alertmanager's amtool.",
    )
    .addHelpText(
      "after",
      `
Examples:
  gpulse silence add GpuHot host=gpu-1 --for 2h --comment 'fan is being replaced'
  gpulse silence list
  gpulse silence expire 4f2c81d0`,
    );
  addClientFlags(
    silence
      .command("add")
      .summary("create a silence and print its id")
      .description(
        "Alerts that match all matchers send no notifications until the silence ends. A word without an operator is an alert name.",
      )
      .argument("<matchers...>", 'such as GpuHot host=gpu-1, or severity=~"info|warning"')
      .option("--for <duration>", "duration of the silence (default: 1h)")
      .option("--comment <text>", "reason (default: none)")
      .option("--by <name>", "author (default: this user)")
      .option(...hubUrlOption)
      .option("--json", "print JSON")
      .addHelpText(
        "after",
        `
Examples:
  gpulse silence add GpuHot host=gpu-1 --for 2h --comment 'fan is being replaced'
  gpulse silence add 'host=~"gpu-[12]"' --for 30m`,
      )
      .action((matchers: readonly string[], flags: SilenceAddFlags) =>
        finish(async () => (await import("./run.ts")).addSilence(matchers, flags, io)),
      ),
  );
  addClientFlags(
    silence
      .command("list")
      .summary("list the silences")
      .description("Lists active and pending silences; with --expired also expired ones.")
      .argument("[matchers...]", "only silences that have these matchers")
      .option("--expired", "also list expired silences")
      .option(...hubUrlOption)
      .option("--json", "print JSON")
      .addHelpText(
        "after",
        "\nExamples:\n  gpulse silence list\n  gpulse silence list host=gpu-1 --expired",
      )
      .action((matchers: readonly string[], flags: SilenceListFlags) =>
        finish(async () => (await import("./run.ts")).listSilences(matchers, flags, io)),
      ),
  );
  addClientFlags(
    silence
      .command("expire")
      .summary("expire silences now")
      .description("Alerts that were silenced are part of the next notification of their group.")
      .argument("<ids...>", "ids of the silences, or unique prefixes")
      .option(...hubUrlOption)
      .option("--json", "print JSON")
      .addHelpText("after", "\nExamples:\n  gpulse silence expire 4f2c81d0")
      .action((ids: readonly string[], flags: SilenceListFlags) =>
        finish(async () => (await import("./run.ts")).expireSilences(ids, flags, io)),
      ),
  );
}
