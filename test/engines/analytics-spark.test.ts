/** The same analyses on DuckDB and on real Spark, over the same Parquet on a real HDFS: the results are the same. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, expect, test } from "vitest";
import { startHdfs } from "../../engines/hdfs.ts";
import { orSkip } from "../../engines/cache.ts";
import { findSpark } from "../../engines/spark.ts";
import type { AnalysisResult } from "../../src/lake/analyses/analysis.ts";
import { eventfulRows, writeJobHours, writeLake } from "../fixtures/lake/analyses.ts";
import { analyses } from "../../src/lake/analyses/list.ts";
import { readParameters } from "../../src/lake/analyses/parameters.ts";
import { runAnalyses, type RunAnalysesOptions } from "../../src/cli/analyze/run-analyses.ts";
import { Progress } from "../../src/cli/command/progress.ts";
import { openFiles } from "../../src/net/objects/open.ts";

const dir = mkdtempSync(path.join(tmpdir(), "gpulse-spark-test-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

test("DuckDB and Spark agree to 1e-9 on every analysis, over the same files on HDFS", async (context) => {
  const spark = await orSkip(context, findSpark());
  const hdfs = await orSkip(context, startHdfs());
  try {
    const folder = path.join(dir, "lake");
    writeLake(folder, eventfulRows(3, 120_000));
    await writeJobHours(folder, jobHours());
    const place = `webhdfs://${hdfs.web}/lake?user=${hdfs.user}`;
    const files = await openFiles(place, {});
    for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" }))
      if (name.endsWith(".parquet"))
        await files.write(name.split(path.sep).join("/"), readFileSync(path.join(folder, name)));
    files.close();

    const given = {
      timezone: "Europe/Berlin",
      price: "0.31",
      co2: "363",
      "baseline-days": "2",
      window: "5m",
    };
    const options = {
      chosen: analyses,
      settings: readParameters({ ...given, step: "5m" }, 0),
      dir,
      flags: { cache: path.join(dir, "cache"), master: "local[2]" },
      signal: new AbortController().signal,
      progress: new Progress(process.stderr, () => 0),
    } satisfies Partial<RunAnalysesOptions>;
    const own = await runAnalyses({ ...options, engine: "duckdb", lake: place, env: {} });
    const env = { ...process.env, ...spark.env, HADOOP_USER_NAME: hdfs.user };
    const other = await runAnalyses({ ...options, engine: "spark", lake: `${hdfs.url}/lake`, env });

    expect(own.map(({ name }) => name)).toEqual(other.map(({ name }) => name));
    for (const [at, result] of own.entries()) {
      expect(result.rows.length, `${result.name} finds something`).toBeGreaterThan(0);
      expect(differences(result, other[at])).toEqual([]);
    }
    const causes = new Set(own[2]?.rows.map((row) => row[6]));
    expect(causes.size, "more than one cause of spikes is compared").toBeGreaterThan(1);
  } finally {
    await hdfs.stop();
  }
}, 600_000);

/** Three days of 40 jobs, some without a user or an account. */
const jobHours = () =>
  Array.from({ length: 600 }, (_, at) => ({
    timeMs: Date.UTC(2026, 0, 1) + (at % 72) * 3_600_000,
    job: `slurm:${at % 40}@1`,
    ...(at % 7 === 0 ? {} : { user_name: `user${at % 5}` }),
    ...(at % 3 === 0 ? {} : { account: `account${at % 4}`, project: `account${at % 4}` }),
    gpu_seconds: 3_600 * (1 + (at % 8)),
    useful_seconds: 1_234.5 * (1 + (at % 3)),
    held_idle_seconds: 0.1 * at,
    joules: 1e6 / (1 + at),
  }));

/** Describes each cell in which two results differ. */
function differences(one: AnalysisResult, other: AnalysisResult | undefined): string[] {
  if (other === undefined || one.rows.length !== other.rows.length)
    return [`${one.name}: ${one.rows.length} rows and ${other?.rows.length ?? "none"}`];
  return one.rows.flatMap((row, line) =>
    row.flatMap((cell, at) => {
      const twin = other.rows[line]?.[at] ?? null;
      const same =
        typeof cell === "number" && typeof twin === "number"
          ? Math.abs(cell - twin) <= 1e-9 * Math.max(1, Math.abs(cell))
          : cell === twin;
      return same ? [] : [`${one.name} row ${line} ${one.columns[at]?.name}: ${cell} and ${twin}`];
    }),
  );
}
