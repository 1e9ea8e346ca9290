/** `gpulse silence`: keeps alerts quiet for a while. */
import type { Command } from "commander";
import { addClientFlags } from "../command/client.ts";
import type { CommandIo } from "../command/io.ts";
import type { Finish } from "../program.ts";
import type { SilenceAddFlags, SilenceListFlags } from "./run.ts";

export function declareSilence(program: Command, io: CommandIo, finish: Finish): void {
  const silence = program
    .command("silence")
    .summary("keep alerts quiet for a while")
    .description("Silences of a running hub; the same that Alertmanager's amtool sees and makes.");
  addClientFlags(
    silence
      .command("add")
      .summary("make a silence and print its id")
      .description(
        "Alerts that match all of it are not notified until it ends. A word without a comparison is an alert's name.",
      )
      .argument("<matchers...>", 'such as GpuHot host=gpu-1, or severity=~"info|warning"')
      .option("--for <duration>", "how long (default: 1h)")
      .option("--comment <text>", "why")
      .option("--by <name>", "who makes it (default: this user)")
      .option("--url <url>", "the hub (default: http://127.0.0.1:9410)")
      .option("--json", "print it for a program")
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
      .summary("show the silences")
      .description("Those that run and those to come; --expired shows those that ended as well.")
      .argument("[matchers...]", "only silences that have these matchers")
      .option("--expired", "also those that have ended")
      .option("--url <url>", "the hub (default: http://127.0.0.1:9410)")
      .option("--json", "print them for a program")
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
      .summary("end silences now")
      .description("Alerts they silenced are sent with the next notification of their group.")
      .argument("<ids...>", "their ids, or the beginnings of them")
      .option("--url <url>", "the hub (default: http://127.0.0.1:9410)")
      .option("--json", "print what was ended for a program")
      .addHelpText("after", "\nExamples:\n  gpulse silence expire 4f2c81d0")
      .action((ids: readonly string[], flags: SilenceListFlags) =>
        finish(async () => (await import("./run.ts")).expireSilences(ids, flags, io)),
      ),
  );
}
