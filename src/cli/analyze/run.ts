/** Runs `gpulse analyze`: finds the lake, runs the analyses on an engine, and prints or saves the results. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { Analysis, AnalysisResult } from "../../lake/analyses/analysis.ts";
import { analyses, findAnalysis } from "../../lake/analyses/list.ts";
import {
  type AnalysisSettings,
  parameterNames,
  type RawParameters,
  readParameters,
} from "../../lake/analyses/parameters.ts";
import type { CommandIo } from "../command/io.ts";
import { Progress } from "../command/progress.ts";
import { parseDurationMs } from "../../config/duration.ts";
import { didYouMean } from "../../config/closest.ts";
import { GpulseError } from "../../base/error.ts";
import { runAnalyses } from "./run-analyses.ts";
import { buildLogLake } from "./log-file.ts";
import { formatOf, printResults, saveResults } from "./output.ts";

export interface AnalyzeFlags extends Readonly<
  Partial<Record<string, string | readonly string[] | boolean>>
> {
  readonly json?: boolean;
  readonly input?: string;
  readonly output?: string;
  readonly format?: string;
  readonly gpuName?: string;
  readonly vendor?: string;
  readonly engine?: string;
  readonly memory?: string;
  readonly threads?: string;
  readonly cache?: string;
  readonly cacheSize?: string;
  readonly timeout?: string;
  readonly master?: string;
  readonly sparkHome?: string;
  readonly sparkConf?: readonly string[];
}

export async function runAnalyze(
  names: readonly string[],
  flags: AnalyzeFlags,
  io: CommandIo,
): Promise<number> {
  const chosen = chosenAnalyses(names);
  const settings = readParameters(parametersOf(flags), Date.now());
  const format = formatOf(flags);
  const engine = flags.engine ?? "duckdb";
  if (engine !== "duckdb" && engine !== "spark")
    throw new GpulseError("USAGE", `--engine must be duckdb or spark, not "${engine}".`);
  const stop = new AbortController();
  void io
    .stopped()
    .then((signal) => stop.abort(new GpulseError("ANALYSIS_FAILED", `stopped (${signal}).`)));
  const timer = timeoutOf(flags.timeout, stop);
  const progress = new Progress(io.stderr, Date.now, flags.json === true);
  const dir = mkdtempSync(path.join(tmpdir(), "gpulse-analyze-"));
  try {
    const input = flags.input ?? path.join(io.env["GPULSE_DATA"] ?? "gpulse-data", "lake");
    const lake = (await buildLogLake(input, dir, { settings, io, flags, progress })) ?? input;
    const results = await runAnalyses({
      chosen,
      settings,
      engine,
      lake,
      dir,
      flags,
      env: io.env,
      signal: stop.signal,
      progress,
    });
    progress.clear();
    const facts = { input, madeMs: Date.now(), version: io.version, timezone: settings.zone.name };
    if (flags.output === undefined) await printResults(results, format, facts, io);
    else await saveResults(results, format, flags.output, facts, io);
    return 0;
  } finally {
    progress.clear();
    clearTimeout(timer);
    rmSync(dir, { recursive: true, force: true });
  }
}

function chosenAnalyses(names: readonly string[]): readonly Analysis[] {
  if (names.length === 0 || names.includes("all")) return analyses;
  const known = analyses.map(({ name }) => name);
  return [...new Set(names)].map((name) => {
    const found = findAnalysis(name);
    if (found !== undefined) return found;
    throw new GpulseError(
      "USAGE",
      `There is no analysis "${name}".${didYouMean(name, known)} Use one of ${known.join(", ")} or all.`,
    );
  });
}

/** Commander turns `idle-below` into `idleBelow`. */
function parametersOf(flags: AnalyzeFlags): RawParameters {
  const camel = (name: string): string =>
    name.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase());
  return Object.fromEntries(
    parameterNames.flatMap((name) => {
      const value = flags[camel(name)];
      return typeof value === "string" ? [[name, value]] : [];
    }),
  );
}

function timeoutOf(text: string | undefined, stop: AbortController): NodeJS.Timeout | undefined {
  if (text === undefined) return undefined;
  const ms = parseDurationMs(text);
  if (ms === undefined || ms < 1 || ms > 2 ** 31 - 1)
    throw new GpulseError("USAGE", `--timeout must be a duration such as 10m, not "${text}".`);
  return setTimeout(
    () =>
      stop.abort(
        new GpulseError(
          "ANALYSIS_TOO_LARGE",
          `The analysis exceeded --timeout ${text}. Analyse fewer days, or allow more time.`,
        ),
      ),
    ms,
  ).unref();
}

export type { AnalysisResult, AnalysisSettings };
