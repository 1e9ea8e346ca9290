/** Output of results: printed, or saved as files in a folder, on S3 or on HDFS. Files are never saved partially. */
import path from "node:path";
import type { AnalysisResult } from "../../lake/analyses/analysis.ts";
import { type AnalysisReportFacts, htmlOf } from "../../lake/analyses/report/html.ts";
import {
  parquetOf,
  csvOf,
  jsonOf,
  countOmittedRows,
  tableOf,
} from "../../lake/analyses/report/text.ts";
import type { CommandIo } from "../command/io.ts";
import { GpulseError } from "../../base/error.ts";
import { openFiles } from "../../net/objects/open.ts";
import { countOf } from "../command/quantity.ts";
import { alignColumns } from "../table.ts";
import { outputFormats } from "./command.ts";
import type { AnalyzeFlags } from "./run.ts";

type OutputFormat = (typeof outputFormats)[number];
const extensions: Readonly<Record<OutputFormat, string>> = {
  table: "txt",
  json: "json",
  csv: "csv",
  parquet: "parquet",
  html: "html",
};

export function formatOf({ format, output, json }: AnalyzeFlags): OutputFormat {
  if (json === true) return "json";
  const extension = output === undefined ? undefined : /\.([a-z]+)$/.exec(output)?.[1];
  const named = outputFormats.find((one) => extensions[one] === extension);
  const wanted = format ?? named ?? (output === undefined ? "table" : "json");
  const found = outputFormats.find((one) => one === wanted);
  if (found === undefined)
    throw new GpulseError(
      "USAGE",
      `--format must be one of ${outputFormats.join(", ")}, not "${wanted}".`,
    );
  if (output === undefined && found === "parquet")
    throw new GpulseError("USAGE", "Parquet cannot be printed. Save it with --output.");
  if (isSparkOutput(output) && (found === "html" || found === "table"))
    throw new GpulseError(
      "USAGE",
      `Spark writes json, csv or parquet to ${output}. Choose one with --format.`,
    );
  return found;
}

/** URLs that only Spark can write to. */
export const isSparkOutput = (output: string | undefined): boolean =>
  output !== undefined && /^(hdfs|s3a|abfss?|gs|viewfs):\/\//i.test(output);

export function sparkSave(flags: AnalyzeFlags): {
  folder: string;
  format: "json" | "csv" | "parquet";
} {
  const format = formatOf(flags);
  return {
    folder: flags.output ?? "",
    format: format === "csv" || format === "parquet" ? format : "json",
  };
}

export async function printResults(
  results: readonly AnalysisResult[],
  format: OutputFormat,
  facts: AnalysisReportFacts,
  io: CommandIo,
): Promise<void> {
  io.stdout.write(
    results.length > 1 && format === "csv"
      ? csvTogether(results)
      : await textOf(results, format, facts),
  );
}

export async function saveResults(
  results: readonly AnalysisResult[],
  format: OutputFormat,
  output: string,
  facts: AnalysisReportFacts,
  io: CommandIo,
): Promise<void> {
  if (isSparkOutput(output)) {
    // Spark has written them already.
    await printResults(results, "table", facts, io);
    io.stderr.write(`Saved to ${output}\n`);
    return;
  }
  const single = new RegExp(`\\.${extensions[format]}(\\?.*)?$`).test(output);
  const together =
    format === "html" || format === "json" || format === "table" || results.length === 1;
  if (single && !together)
    throw new GpulseError(
      "USAGE",
      `${format} has one file per analysis. Pass a folder as --output, or name one analysis.`,
    );
  const { folder, name } = single ? split(output) : { folder: output, name: undefined };
  const files = await openFiles(folder, io.env);
  try {
    const whole = format === "html" || format === "table" || single;
    for (const some of whole ? [results] : results.map((one) => [one])) {
      const file =
        name ?? `${whole ? "report" : (some[0]?.name ?? "report")}.${extensions[format]}`;
      const [first] = some;
      const bytes =
        format === "parquet" && first !== undefined
          ? await parquetOf(first)
          : new TextEncoder().encode(await textOf(some, format, facts));
      await files.write(file, bytes);
    }
  } finally {
    files.close();
  }
  if (format !== "html") await printResults(results, "table", facts, io);
  io.stderr.write(`Saved to ${output}\n`);
}

/** Splits a URL into its folder and last part; the query string belongs to the folder. */
function split(output: string): { folder: string; name: string } {
  const [place = "", query] = output.split(/\?(.*)/s);
  const scheme = /^[a-z][a-z0-9+.-]+:\/\//i.test(place);
  const folder = scheme ? place.slice(0, place.lastIndexOf("/")) : path.dirname(place);
  return {
    folder: query === undefined ? folder : `${folder}?${query}`,
    name: scheme ? place.slice(place.lastIndexOf("/") + 1) : path.basename(place),
  };
}

async function textOf(
  results: readonly AnalysisResult[],
  format: OutputFormat,
  facts: AnalysisReportFacts,
): Promise<string> {
  if (format === "html") return htmlOf(results, facts);
  if (format === "json") return jsonOf(results);
  if (format === "csv") return results.map(csvOf).join("\n");
  return results.map(tableText).join("\n");
}

/** Concatenates the tables, each after a line with its name. */
const csvTogether = (results: readonly AnalysisResult[]): string =>
  results.map((one) => `# ${one.name}\n${csvOf(one)}`).join("\n");

function tableText(result: AnalysisResult): string {
  const left = countOmittedRows(result);
  const rows =
    result.rows.length === 0 ? "Nothing in this range.\n" : alignColumns(tableOf(result));
  return `${result.title}\n${rows}${left === 0 ? "" : `… and ${countOf(left, "more row")}. Use --format json or csv for all rows.\n`}`;
}
