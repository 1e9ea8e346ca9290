/** Runs the analyses on the selected engine: DuckDB over files of this machine, or Spark where the lake is. */
import { homedir } from "node:os";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { Analysis, AnalysisResult } from "../../lake/analyses/analysis.ts";
import { runOnDuckdb } from "../../lake/analyses/duckdb/engine.ts";
import {
  emptyLake,
  type LakeFiles,
  listLake,
  localPaths,
  pathsOf,
} from "../../lake/analyses/lake-files.ts";
import { type AnalysisSettings, maxTimeMs } from "../../lake/analyses/parameters.ts";
import { runOnSpark } from "../../lake/analyses/spark/engine.ts";
import type { LakeSpan } from "../../lake/analyses/statement.ts";
import { defined } from "../../base/defined.ts";
import { GpulseError } from "../../base/error.ts";
import { openFiles } from "../../net/objects/open.ts";
import type { Progress } from "../command/progress.ts";
import { isSparkOutput, sparkSave } from "./output.ts";
import type { AnalyzeFlags } from "./run.ts";

export interface RunAnalysesOptions {
  readonly chosen: readonly Analysis[];
  readonly settings: AnalysisSettings;
  readonly engine: "duckdb" | "spark";
  readonly lake: string;
  /** Temporary folder for data that does not fit into memory; the caller removes it. */
  readonly dir: string;
  readonly flags: AnalyzeFlags;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
  readonly progress: Progress;
}

const gib = 2 ** 30;
const units: Readonly<Record<string, number>> = {
  "": 1,
  k: 2 ** 10,
  m: 2 ** 20,
  g: gib,
  t: 2 ** 40,
};

/** Runs the engine once per table. If the lake has no jobs table, job analyses are skipped unless requested alone. */
export async function runAnalyses(options: RunAnalysesOptions): Promise<readonly AnalysisResult[]> {
  const run = options.engine === "spark" ? onSpark : onDuckdb;
  const ofJobs = options.chosen.filter(({ table }) => table === "jobs");
  const others = options.chosen.filter(({ table }) => table !== "jobs");
  if (ofJobs.length === 0) return run({ ...options, chosen: others }, "gpu");
  if (others.length === 0) return run({ ...options, chosen: ofJobs }, "jobs");
  const results = await run({ ...options, chosen: others }, "gpu");
  try {
    return [...results, ...(await run({ ...options, chosen: ofJobs }, "jobs"))];
  } catch (thrown) {
    if (thrown instanceof GpulseError && thrown.code === "LAKE_EMPTY") return results;
    throw thrown;
  }
}

type LakeTable = "gpu" | "jobs";

async function onDuckdb(
  options: RunAnalysesOptions,
  table: LakeTable,
): Promise<readonly AnalysisResult[]> {
  const { settings, flags, env, signal, progress } = options;
  if (/^(hdfs|s3a):/i.test(options.lake))
    throw new GpulseError(
      "USAGE",
      `DuckDB cannot read ${options.lake}. Pass webhdfs://HOST:PORT/PATH or s3://BUCKET/PREFIX, or use --engine spark.`,
    );
  const store = await openFiles(options.lake, env);
  try {
    const files = await listLake(store, settings, signal, table);
    if (files.files.length === 0) throw emptyLake(options.lake, table);
    const paths = await localPaths(store, files, {
      cacheDir:
        flags.cache ??
        path.join(env["XDG_CACHE_HOME"] ?? path.join(homedir(), ".cache"), "gpulse", "lake"),
      cacheBytes: bytesOf("--cache-size", flags.cacheSize) ?? 10 * gib,
      onProgress: (fraction) => progress.show({ name: "fetching", fraction }),
      signal,
    });
    return await runOnDuckdb(
      {
        analyses: options.chosen,
        settings,
        ...pathsOf(files, paths),
        span: files.span,
        signal,
        onProgress: (fraction, name) => progress.show({ name, fraction }),
      },
      {
        tempDir: path.join(options.dir, "duckdb"),
        ...defined({
          memoryBytes: bytesOf("--memory", flags.memory),
          threads: flags.threads === undefined ? undefined : wholeOf("--threads", flags.threads),
        }),
      },
    );
  } finally {
    store.close();
  }
}

async function onSpark(
  options: RunAnalysesOptions,
  table: LakeTable,
): Promise<readonly AnalysisResult[]> {
  const { settings, flags, env, signal, progress } = options;
  const known = await listed(options, table);
  if (known?.files.length === 0) throw emptyLake(options.lake, table);
  const place = toSparkLocation(options.lake, env);
  return runOnSpark(
    {
      analyses: options.chosen,
      settings,
      input: `${place.url.replace(/\/+$/, "")}/${table}`,
      span: known?.span ?? widest(settings),
      ...(isSparkOutput(flags.output) ? { save: sparkSave(flags) } : {}),
    },
    {
      master: flags.master ?? "local[*]",
      sparkHome: flags.sparkHome,
      conf: [...place.conf, ...(flags.sparkConf ?? [])],
      env,
      signal,
      onProgress: (fraction, name) => progress.show({ name, fraction }),
    },
  );
}

/** Returns undefined for a URL that only Spark can read. */
async function listed(
  { lake, env, settings, signal }: RunAnalysesOptions,
  table: LakeTable,
): Promise<LakeFiles | undefined> {
  if (/^[a-z][a-z0-9+.-]+:\/\//i.test(lake) && !/^(s3|s?webhdfs|file):/i.test(lake))
    return undefined;
  const store = await openFiles(lake, env);
  try {
    return await listLake(store, settings, signal, table);
  } finally {
    store.close();
  }
}

/** Widest possible range, if the days in the lake are unknown. */
const widest = ({ sinceMs, untilMs }: AnalysisSettings): LakeSpan => ({
  firstMs: Math.max(sinceMs, Date.UTC(2010, 0, 1)),
  lastMs: Math.min(untilMs, maxTimeMs, Date.UTC(new Date().getUTCFullYear() + 1, 0, 1)),
});

function bytesOf(flag: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const match = /^(\d+(?:\.\d+)?)\s*(?:([kmgt]?)i?b?)$/i.exec(text.trim());
  const bytes = Number(match?.[1]) * (units[(match?.[2] ?? "").toLowerCase()] ?? Number.NaN);
  if (!(bytes >= 2 ** 20))
    throw new GpulseError("USAGE", `${flag} must be an amount such as 2GiB, not "${text}".`);
  return bytes;
}

function wholeOf(flag: string, text: string): number {
  if (!/^[1-9]\d{0,3}$/.test(text))
    throw new GpulseError("USAGE", `${flag} must be a whole number, not "${text}".`);
  return Number(text);
}

/** A lake URL in Spark's form: S3 as s3a, with the endpoint as a setting; secrets stay in environment variables. */
interface SparkLocation {
  readonly url: string;
  readonly conf: readonly string[];
}

function toSparkLocation(
  address: string,
  env: Readonly<Record<string, string | undefined>>,
): SparkLocation {
  const scheme = /^([a-z][a-z0-9+.-]+):\/\//i.exec(address)?.[1]?.toLowerCase();
  if (scheme === undefined) return { url: pathToFileURL(path.resolve(address)).href, conf: [] };
  if (scheme === "file") return { url: pathToFileURL(fileURLToPath(address)).href, conf: [] };
  if (scheme !== "s3") return { url: address.replace(/\?.*$/, ""), conf: [] };
  const url = new URL(address);
  const endpoint =
    url.searchParams.get("endpoint") ?? env["AWS_ENDPOINT_URL_S3"] ?? env["AWS_ENDPOINT_URL"];
  const region = url.searchParams.get("region") ?? env["AWS_REGION"];
  return {
    url: `s3a://${url.host}${url.pathname}`,
    conf: [
      ...(endpoint === undefined
        ? []
        : [
            `spark.hadoop.fs.s3a.endpoint=${endpoint}`,
            "spark.hadoop.fs.s3a.path.style.access=true",
          ]),
      ...(region === undefined ? [] : [`spark.hadoop.fs.s3a.endpoint.region=${region}`]),
    ],
  };
}
