/** `gpulse query`: PromQL from the command line. */
import { type Command, Option } from "commander";
import { addClientFlags } from "../command/client.ts";
import type { CommandIo } from "../command/io.ts";
import type { Finish } from "../program.ts";
import type { QueryFlags } from "./run.ts";

export function declareQuery(program: Command, io: CommandIo, finish: Finish): void {
  const command = program
    .command("query")
    .summary("ask a hub in PromQL")
    .description(
      "Asks a running hub, or anything with Prometheus's API, and prints a table; a range gets a sparkline.",
    )
    .argument("<expression>", "PromQL")
    .option("--url <url>", "the hub (default: http://127.0.0.1:9410)")
    .option("--time <time>", "the instant, as Unix seconds or RFC 3339 (default: now)")
    .option("--since <duration>", "a range that ends now, or at --time")
    .option("--step <duration>", "distance of the range's points (default: a hundredth of it)")
    .addOption(new Option("--json", "print the hub's own JSON data").conflicts("csv"))
    .option("--csv", "print one line a sample")
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
