/** `gpulse query`: PromQL from the command line. */
import { type Command, Option } from "commander";
import { addClientFlags, hubUrlOption } from "../command/client.ts";
import type { CommandIo } from "../command/io.ts";
import type { Finish } from "../program.ts";
import type { QueryFlags } from "./run.ts";

export function declareQuery(program: Command, io: CommandIo, finish: Finish): void {
  const command = program
    .command("query")
    .summary("query a hub in PromQL")
    .description(
      "Queries a running hub, or any server with Prometheus's API, and prints a table; a range query has sparklines.",
    )
    .argument("<expression>", "PromQL")
    .option(...hubUrlOption)
    .option("--time <time>", "evaluation time, as Unix seconds or RFC 3339 (default: now)")
    .option(
      "--since <duration>",
      "query a range of this length that ends at --time (default: an instant query)",
    )
    .option("--step <duration>", "step of the range query (default: a hundredth of the range)")
    .addOption(new Option("--json", "print JSON, as the hub returns it").conflicts("csv"))
    .option("--csv", "print CSV with one line per sample")
    .addHelpText(
      "after",
      `
Examples:
  gpulse query 'gpu_power_watts'
  gpulse query 'sum by (host) (gpu_power_watts)' --since 1h
  gpulse query 'avg_over_time(gpu_utilization_ratio[5m])' --csv`,
    )
    .action((expression: string, flags: QueryFlags) =>
      finish(async () => (await import("./run.ts")).runQuery(expression, flags, io)),
    );
  addClientFlags(command);
}
