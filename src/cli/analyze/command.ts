/** `gpulse analyze`: analyses of a lake or of a single log. */
import { Argument, type Command, Option } from "commander";
import {
  parameterFacts,
  type ParameterName,
  parameterNames,
} from "../../lake/analyses/parameters.ts";
import type { CommandIo } from "../command/io.ts";
import type { AnalyzeFlags } from "./run.ts";
import { vendors } from "../../model/vendor.ts";
import { choice } from "../command/choice.ts";
import { collect } from "../command/setting.ts";
import type { Finish } from "../program.ts";

/** As in `analyses`, without importing it for every command. */
export const analysisNames = [
  "daily",
  "hourly",
  "spikes",
  "correlation",
  "energy",
  "idle",
  "efficiency",
  "jobs_user",
  "jobs_account",
  "jobs_project",
  "jobs_day",
];
export const outputFormats = ["table", "json", "csv", "parquet", "html"] as const;

/** Validated when the command runs, with a suggestion. */
function analysesArgument(): Argument {
  const argument = new Argument(
    "[analyses...]",
    `${analysisNames.join(", ")} or all (default: all)`,
  );
  argument.argChoices = [...analysisNames, "all"];
  return argument;
}

export function declareAnalyze(program: Command, io: CommandIo, finish: Finish): void {
  const command = program
    .command("analyze")
    .summary(
      "analyse a lake or a log: days, hours, spikes, correlations, energy, idle time, cooling",
    )
    .description(
      "Runs analyses over a lake of Parquet files (a folder, S3 or HDFS) or a GPU-Z log, and prints or saves the results. " +
        "DuckDB runs inside this process; use Spark if one machine is not enough. Both return the same results.",
    )
    .addArgument(analysesArgument())
    .option(
      "--input <file>",
      "a lake (a folder, s3://BUCKET/PREFIX, webhdfs://HOST:PORT/PATH, or any URL Spark reads) or a GPU-Z log (default: the lake in the hub's data folder)",
    )
    .option("--output <file>", "save the results to this file, folder or URL")
    .addOption(
      choice(
        "--format <format>",
        "output format",
        outputFormats,
        "by the name of --output, or table",
      ),
    )
    .addOption(new Option("--json", "print JSON; the same as --format json").conflicts("format"))
    .option("--gpu-name <name>", "GPU-Z log: name of the GPU, which the log does not contain")
    .addOption(
      choice("--vendor <vendor>", "GPU-Z log: vendor of the GPU", vendors, "by the log's columns"),
    )
    .addOption(choice("--engine <engine>", "query engine", ["duckdb", "spark"], "duckdb"))
    .option(
      "--memory <bytes>",
      "memory limit of DuckDB, such as 2GiB (default: 40 % of this machine's memory)",
    )
    .option("--threads <number>", "threads of DuckDB (default: one per core)")
    .option(
      "--cache <folder>",
      "folder for files of a remote lake (default: gpulse/lake in the user's cache folder)",
    )
    .option("--cache-size <bytes>", "size limit of that folder (default: 10GiB)")
    .option("--timeout <duration>", "stop after this time (default: no limit)")
    .option("--master <url>", "URL of the Spark master (default: local[*])")
    .option("--spark-home <folder>", "Spark's folder (default: SPARK_HOME, or spark-sql in PATH)")
    .option("--spark-conf <name=value>", "setting of Spark; repeatable", collect);
  for (const name of parameterNames) command.option(`--${name} <value>`, helpOf(name));
  command
    .addHelpText(
      "after",
      `
Exit code: 0 with results, 1 if the lake is empty or the engine failed, 2 if an option or argument is not valid.

Examples:
  gpulse analyze --input "GPU-Z Sensor Log.txt" --output report.html        HTML report of one log
  gpulse analyze daily --input ./gpulse-data/lake --since 7d                the last week by day
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
  const { help, takes, fallback, fallbackText = fallback } = parameterFacts(name);
  const sentence = `${help.charAt(0).toLowerCase()}${help.slice(1).replace(/\.$/, "")}`;
  return `${sentence}: ${takes}${fallbackText === undefined ? "" : ` (default: ${fallbackText})`}`;
}
