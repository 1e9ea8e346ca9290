/** `gpulse rules`: validates rule files, runs their tests, and backtests rules. */
import type { Command } from "commander";
import { addClientFlags, hubUrlOption } from "../command/client.ts";
import type { CommandIo } from "../command/io.ts";
import type { Finish } from "../program.ts";
import type { BacktestFlags } from "./backtest.ts";
import type { RulesCheckFlags } from "./check.ts";
import type { TestFlags } from "./test.ts";

export function declareRules(program: Command, io: CommandIo, finish: Finish): void {
  const rules = program
    .command("rules")
    .summary("check, test and backtest alerting and recording rules")
    .description("Works on Prometheus's rule files.")
    .addHelpText(
      "after",
      `
Examples:
  gpulse rules check rules.yml
  gpulse rules test rules.test.yml
  gpulse rules backtest rules.yml --since 7d`,
    );
  rules
    .command("check")
    .summary("report every error in rule files")
    .description("Reads the files as a hub would and prints every error with its line.")
    .argument("<files...>", "rule files")
    .option("--json", "print JSON")
    .addHelpText(
      "after",
      `
Exit code: 0 if every file is valid, 2 if not.

Examples:
  gpulse rules check rules.yml
  gpulse rules check rules/*.yml --json`,
    )
    .action((files: readonly string[], flags: RulesCheckFlags) =>
      finish(async () => (await import("./check.ts")).runRulesCheck(files, flags, io)),
    );
  rules
    .command("test")
    .summary("run rule tests in promtool's file format")
    .description(
      "Evaluates the rules over the input series and compares the alerts with the expected ones.",
    )
    .argument("<files...>", "test files, as for promtool test rules")
    .option("--run <regex>", "only tests whose name matches")
    .option("--json", "print JSON")
    .option("--junit <file>", "also write the results as JUnit XML")
    .addHelpText(
      "after",
      `
Exit code: 0 if every test passes, 1 if one fails, 2 if a file is not valid.

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
      .summary("show when a rule would have fired over past data")
      .description(
        "Evaluates the rule's expression over the history of a hub, or of any server with Prometheus's API, and applies " +
          "for and keep_firing_for. Writes nothing. Series of recording rules must exist in the history.",
      )
      .argument("<file>", "rule file")
      .option("--rule <name>", "only alerts of this name (default: all of the file)")
      .option("--since <duration>", "range that ends now (default: 1d)")
      .option("--step <duration>", "evaluation interval (default: the group's interval, or 15s)")
      .option(...hubUrlOption)
      .option("--json", "print JSON"),
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
