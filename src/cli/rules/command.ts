/** `gpulse rules`: check rule files, run their tests, and see when a rule would have fired. */
import type { Command } from "commander";
import { addClientFlags } from "../command/client.ts";
import type { CommandIo } from "../command/io.ts";
import type { Finish } from "../program.ts";
import type { BacktestFlags } from "./backtest.ts";
import type { CheckFlags } from "./check.ts";
import type { TestFlags } from "./test.ts";

export function declareRules(program: Command, io: CommandIo, finish: Finish): void {
  const rules = program
    .command("rules")
    .summary("check alerting and recording rules, test them, try them on past data")
    .description("Works on Prometheus's rule files as they are.");
  rules
    .command("check")
    .summary("say every mistake in rule files")
    .description("Reads the files as a hub would and prints every mistake with its line.")
    .argument("<files...>", "rule files")
    .option("--json", "print what was found as JSON")
    .addHelpText(
      "after",
      `
Exit code: 0 where every file is valid, 2 where not.

Examples:
  gpulse rules check rules.yml
  gpulse rules check rules/*.yml --json`,
    )
    .action((files: readonly string[], flags: CheckFlags) =>
      finish(async () => (await import("./check.ts")).runRulesCheck(files, flags, io)),
    );
  rules
    .command("test")
    .summary("run rule tests in promtool's file format")
    .description(
      "Gives the input series to the rules step by step and compares what fires with what the test expects.",
    )
    .argument("<files...>", "test files, as for promtool test rules")
    .option("--run <regex>", "only tests whose name fits")
    .option("--json", "print the outcome as JSON")
    .option("--junit <file>", "also write it as JUnit XML")
    .addHelpText(
      "after",
      `
Exit code: 0 where every test passes, 1 where one fails, 2 where a file is not valid.

Examples:
  gpulse rules test rules.test.yml
  gpulse rules test tests/*.yml --junit rules.xml`,
    )
    .action((files: readonly string[], flags: TestFlags) =>
      finish(async () => (await import("./test.ts")).runRulesTest(files, flags, io)),
    );
  addClientFlags(
    rules
      .command("backtest")
      .summary("when would a rule have fired over past data")
      .description(
        "Asks a hub, or anything with Prometheus's API, for what the rule's expression gave, and walks it through\n" +
          "for and keep_firing_for. Changes nothing there. What a rule reads from recording rules must be in the past data.",
      )
      .argument("<file>", "a rule file")
      .option("--rule <name>", "only the alerts of this name (default: all of the file)")
      .option("--since <duration>", "how far back (default: 1d)")
      .option("--step <duration>", "how often it is looked (default: the group's interval, or 15s)")
      .option("--url <url>", "the hub (default: http://127.0.0.1:9410)")
      .option("--json", "print it for a program"),
  )
    .addHelpText(
      "after",
      `
Examples:
  gpulse rules backtest rules.yml --since 7d
  gpulse rules backtest rules.yml --rule GpuHot --since 30d --step 1m --json`,
    )
    .action((file: string, flags: BacktestFlags) =>
      finish(async () => (await import("./backtest.ts")).runRulesBacktest(file, flags, io)),
    );
}
