/** `gpulse analyze`: what a lake, or a single log, comes to. */
import type { Command } from "commander";
import {
  parameterFacts,
  type ParameterName,
  parameterNames,
} from "../../lake/analyses/parameters.ts";
import type { CommandIo } from "../command/io.ts";
import type { AnalyzeFlags } from "./run.ts";
import { vendorChoice } from "../../model/vendor.ts";
import type { Finish } from "../program.ts";

const names = ["daily", "hourly", "spikes", "correlation", "energy", "idle", "efficiency"];

export function declareAnalyze(program: Command, io: CommandIo, finish: Finish): void {
  const command = program
    .command("analyze")
    .summary("days, hours, spikes, correlations, energy, idling and heat of a lake or a log")
    .description(
      "Runs analyses over a lake of Parquet files (a folder, S3 or HDFS), or over a GPU-Z log, and prints or saves the answers.\n" +
        "DuckDB does it inside this process; Spark where one machine is not enough. Both give the same answers.",
    )
    .argument("[analyses...]", `${names.join(", ")} or all (default: all)`)
    .option(
      "--input <url>",
      "a lake: a folder, s3://BUCKET/PREFIX, webhdfs://HOST:PORT/PATH (with Spark any address Spark reads); or a GPU-Z log (default: the lake in the hub's data folder)",
    )
    .option("--output <url>", "save the answers: a file, or a folder of any of these kinds")
    .option(
      "--format <format>",
      "table, json, csv, parquet or html (default: by the output's name, else table)",
    )
    .option("--gpu-name <name>", "of a GPU-Z log: which GPU it is of; a log does not say")
    .option(
      "--vendor <vendor>",
      `of a GPU-Z log: ${vendorChoice}, where its columns do not show it`,
    )
    .option("--engine <engine>", "duckdb or spark (default: duckdb)")
    .option(
      "--memory <bytes>",
      "what DuckDB may use, such as 2GiB (default: 40 % of this machine's)",
    )
    .option("--threads <number>", "threads of DuckDB (default: all)")
    .option("--cache <folder>", "where files of a lake elsewhere are kept")
    .option("--cache-size <bytes>", "how much of them (default: 10GiB)")
    .option("--timeout <duration>", "give up after this long (default: never)")
    .option("--master <url>", "Spark's master (default: local[*])")
    .option(
      "--spark-home <folder>",
      "where Spark is (default: SPARK_HOME, or spark-sql on the PATH)",
    )
    .option(
      "--spark-conf <name=value>",
      "a setting of Spark; repeatable",
      (value: string, before: readonly string[] | undefined) => [...(before ?? []), value],
    );
  for (const name of parameterNames) command.option(`--${name} <value>`, helpOf(name));
  command
    .addHelpText(
      "after",
      `
Exit code: 0 where the answers are there, 1 where the lake is empty or the engine failed, 2 where it cannot be done as asked.

Examples:
  gpulse analyze --input "GPU-Z Sensor Log.txt" --output report.html        a report of one log (--gpu-name says of which GPU)
  gpulse analyze daily --input ./gpulse-data/lake --since 7d                the last week, day by day
  gpulse analyze energy idle --price 0.31 --co2 363 --timezone Europe/Berlin
  gpulse analyze spikes --rise 15 --window 30s --format json
  gpulse analyze all --input s3://lake/gpus --output s3://lake/reports --format parquet
  gpulse analyze daily --engine spark --master yarn --input hdfs://nn:8020/lake --output hdfs://nn:8020/answers`,
    )
    .action((analyses: readonly string[], flags: AnalyzeFlags) =>
      finish(async () => (await import("./run.ts")).runAnalyze(analyses, flags, io)),
    );
}

function helpOf(name: ParameterName): string {
  const { help, takes, fallback } = parameterFacts(name);
  return `${help} Takes ${takes}${fallback === undefined ? "" : ` (default: ${fallback})`}`;
}
