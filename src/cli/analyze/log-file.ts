/** Analyzes a GPU-Z log instead of a lake: converts it with a pipe into a temporary lake. */
import { statSync } from "node:fs";
import path from "node:path";
import type { AnalysisSettings } from "../../lake/analyses/parameters.ts";
import type { CommandIo } from "../command/io.ts";
import type { Progress } from "../command/progress.ts";
import { GpulseError } from "../../base/error.ts";
import { detectFormat } from "../import/detect.ts";
import { runPipe } from "../pipe/run.ts";
import type { AnalyzeFlags } from "./run.ts";

export interface LogLakeOptions {
  readonly settings: AnalysisSettings;
  readonly io: CommandIo;
  readonly flags: AnalyzeFlags;
  readonly progress: Progress;
}

/** Returns undefined if the input is not a file, and therefore a lake. */
export async function buildLogLake(
  input: string,
  dir: string,
  options: LogLakeOptions,
): Promise<string | undefined> {
  if (!statSync(input, { throwIfNoEntry: false })?.isFile()) return undefined;
  const format = detectFormat(input);
  if (format !== "gpuz")
    throw new GpulseError(
      "FILE_FORMAT",
      `${input} is not a GPU-Z log. Pass the folder of a lake, or create one from the file with gpulse pipe --to parquet:FOLDER.`,
    );
  const lake = path.join(dir, "lake");
  options.progress.show({ name: "reading the log" });
  // Days are computed in the time zone of the log's clock.
  const query = new URLSearchParams({ timezone: options.settings.zone.name });
  const { gpuName, vendor } = options.flags;
  if (gpuName !== undefined) query.set("gpu-name", gpuName);
  if (vendor !== undefined) query.set("vendor", vendor);
  const from = `gpuz:${encodeURIComponent(path.resolve(input))}?${query.toString()}`;
  const code = await runPipe(
    { from: [from], to: [`parquet:${lake}`], logLevel: "warn" },
    options.io,
    { progress: false },
  );
  if (code !== 0)
    throw new GpulseError(
      "ANALYSIS_FAILED",
      `${input} could not be read completely: see the messages above.`,
    );
  return lake;
}
