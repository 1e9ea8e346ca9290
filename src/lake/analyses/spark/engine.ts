/**
 * Runs analyses on an existing Spark installation: finds spark-sql, passes it the script and parses its output. The driver runs
 * on this machine (client mode), so that no result has to be fetched from the cluster.
 */
import { spawn } from "node:child_process";
import { accessSync, constants, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import { GpulseError } from "../../../base/error.ts";
import type { AnalysisResult } from "../analysis.ts";
import { resultOf } from "../duckdb/engine.ts";
import { answerMark, type SparkScript, sparkScript } from "./script.ts";

export interface SparkOptions {
  /** For example `local[2]`, `yarn` or `spark://host:7077`. */
  readonly master: string;
  readonly sparkHome?: string | undefined;
  /** Additional settings, each `name=value`. */
  readonly conf?: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: (fraction: number, name: string) => void;
}

const keptErrorLines = 40;

/** Searches --spark-home, SPARK_HOME and PATH, in this order. */
function findSparkSql({ sparkHome, env }: Pick<SparkOptions, "sparkHome" | "env">): string {
  const home = sparkHome ?? env["SPARK_HOME"];
  const folders =
    home === undefined || home === ""
      ? (env["PATH"] ?? "").split(path.delimiter)
      : [path.join(home, "bin")];
  for (const folder of folders) {
    if (folder === "") continue;
    const file = path.join(folder, "spark-sql");
    try {
      accessSync(file, constants.X_OK);
      return file;
    } catch {
      continue;
    }
  }
  throw new GpulseError(
    "ANALYSIS_ENGINE",
    home === undefined || home === ""
      ? "No spark-sql on the PATH: pass the folder of Spark 3.4 or newer with --spark-home or SPARK_HOME, or use --engine duckdb."
      : `There is no bin/spark-sql in ${home}: --spark-home and SPARK_HOME name the folder that Spark was unpacked into.`,
  );
}

const conf = (name: string, value: string): readonly string[] => ["--conf", `${name}=${value}`];

export async function runOnSpark(
  script: SparkScript,
  options: SparkOptions,
): Promise<AnalysisResult[]> {
  const program = findSparkSql(options);
  const dir = mkdtempSync(path.join(tmpdir(), "gpulse-spark-"));
  try {
    const file = path.join(dir, "analyses.sql");
    writeFileSync(file, sparkScript(script));
    const given = [
      "--master",
      options.master,
      ...conf("spark.sql.session.timeZone", "UTC"),
      ...conf("spark.sql.catalogImplementation", "in-memory"),
      ...conf("spark.sql.warehouse.dir", path.join(dir, "warehouse")),
      ...conf("spark.ui.enabled", "false"),
      ...conf("spark.sql.cli.print.header", "false"),
      // The plans are not used, and the formatted mode walks nested ones again and again.
      ...conf("spark.sql.ui.explainMode", "simple"),
      // In local mode, a driver without remote executors stays on loopback.
      ...(options.master.startsWith("local")
        ? [
            ...conf("spark.driver.bindAddress", "127.0.0.1"),
            ...conf("spark.driver.host", "127.0.0.1"),
            ...conf("spark.sql.shuffle.partitions", "4"),
          ]
        : []),
      ...(options.conf ?? []).flatMap((one) => ["--conf", one]),
      "-f",
      file,
    ];
    const answers = await run(program, given, dir, script, options);
    return script.analyses.map((analysis) => {
      const names = analysis.columns.map(({ name }) => name);
      const rows = (answers.get(analysis.name) ?? []).map((row) =>
        names.map((name) => row[name] ?? null),
      );
      return resultOf(analysis, names, rows);
    });
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

type Row = Readonly<Record<string, unknown>>;

async function run(
  program: string,
  given: readonly string[],
  cwd: string,
  { analyses }: SparkScript,
  { env, signal, onProgress }: SparkOptions,
): Promise<Map<string, Row[]>> {
  const answers = new Map<string, Row[]>();
  const errors: string[] = [];
  const child = spawn(program, given, {
    cwd,
    env: { ...env, SPARK_LOCAL_IP: env["SPARK_LOCAL_IP"] ?? "127.0.0.1" },
    stdio: ["ignore", "pipe", "pipe"],
    signal,
  });
  const ended = new Promise<number | Error>((resolve) => {
    child.once("error", resolve);
    child.once("close", (code) => resolve(code ?? 1));
  });
  onProgress?.(0, "starting Spark");
  const out = createInterface({ input: child.stdout, crlfDelay: Number.POSITIVE_INFINITY });
  out.on("line", (line) => {
    const match = new RegExp(`^${answerMark} (\\w+) (\\{.*\\})$`).exec(line);
    if (match?.[1] === undefined || match[2] === undefined) return;
    const name = match[1];
    const rows = answers.get(name) ?? [];
    rows.push(JSON.parse(match[2]) as Row);
    answers.set(name, rows);
    onProgress?.(answers.size / (analyses.length + 1), name);
  });
  createInterface({ input: child.stderr }).on("line", (line) => {
    errors.push(line);
    if (errors.length > keptErrorLines * 10) errors.shift();
  });
  const code = await ended;
  signal?.throwIfAborted();
  if (code === 0) return answers;
  throw new GpulseError("ANALYSIS_FAILED", `Spark failed: ${describeFailure(code, errors)}`);
}

/** The line with the error, which Spark hides among hundreds of others. */
function describeFailure(code: number | Error, lines: readonly string[]): string {
  if (code instanceof Error) return code.message;
  const errorLine = lines.find((line) => /^\[[A-Z_.]+\]|Exception: |^Error |ERROR /.test(line));
  return errorLine?.trim() ?? `it ended with code ${code}. ${lines.slice(-3).join(" ").trim()}`;
}
