/** Every analysis over a lake with gpulse on DuckDB, beside Spark on the same files and beside DuckDB alone with the same SQL. */
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { program } from "../../engines/program.ts";
import { findSpark } from "../../engines/spark.ts";
import type { Analysis } from "../../src/lake/analyses/analysis.ts";
import { duckdbDialect } from "../../src/lake/analyses/dialect.ts";
import { analyses } from "../../src/lake/analyses/list.ts";
import { listLake } from "../../src/lake/analyses/lake-files.ts";
import { readParameters } from "../../src/lake/analyses/parameters.ts";
import { analysisSql, samplesSql } from "../../src/lake/analyses/statement.ts";
import { openFiles } from "../../src/net/objects/open.ts";
import { makeLake } from "../analytics-data.ts";
import { measureProgram } from "../analytics-measure.ts";
import { type Area, line } from "./measurement.ts";

const plain = "DuckDB alone, the same SQL";
const spark = "Spark, local[*]";

export const analytics: Area = {
  name: "analytics",
  title: "Analyses beside Spark and plain DuckDB",
  about:
    "all seven analyses over three days of 8 GPUs with 40 metrics every 8 s (10 million samples of Parquet) by `gpulse analyze`, by `gpulse analyze --engine spark`, and the same SQL in a bare process with DuckDB; starts of the programs included.",
  more: "npm run bench:analytics",
  measurements: [
    line("analytics.time.spark", "time, all seven analyses", spark, "time", "s"),
    line("analytics.memory.spark", "peak memory", spark, "memory", "MiB"),
    line("analytics.time.duckdb", "time, all seven analyses", plain, "time", "s", {
      behind:
        "starting gpulse, listing the lake and printing the results come on top: 0.15 s of processor time.",
    }),
    line("analytics.memory.duckdb", "peak memory", plain, "memory", "MiB", {
      behind: "gpulse's own code and the answers as rows come on top of DuckDB.",
    }),
  ],
  measure: async ({ full, put, progress }) => {
    const [rounds, days] = full ? [2, 30] : [2, 3];
    const found = await findSpark();
    const dir = mkdtempSync(path.join(tmpdir(), "gpulse-bench-analytics-"));
    try {
      progress(`making a lake of ${days} days`);
      await makeLake(path.join(dir, "lake"), days, 1);
      const script = path.join(dir, "plain.mjs");
      writeFileSync(script, await plainScript(path.join(dir, "lake"), analyses));
      const analyze = [program, "analyze", "all", "--input", path.join(dir, "lake")];
      const limits = ["--memory", "4g", "--format", "json"];
      const onSpark = ["--engine", "spark", "--master", "local[*]", "--format", "json"];
      const env = { ...process.env, ...found.env };
      for (let round = 0; round < rounds; round++) {
        const runs = [
          ["ours", [...analyze, ...limits]],
          ["plain", [script]],
          ["spark", [...analyze, ...onSpark, "--spark-conf", "spark.driver.memory=4g"]],
        ] as const;
        const took = new Map<string, Awaited<ReturnType<typeof measureProgram>>>();
        for (const [name, args] of round % 2 === 0 ? runs : runs.toReversed()) {
          progress(`round ${round + 1} of ${rounds}: ${name}`);
          took.set(name, await measureProgram(args, env));
        }
        const [own, other, theirs] = ["ours", "plain", "spark"].map((name) => took.get(name));
        if (own === undefined || other === undefined || theirs === undefined)
          throw new Error("BUG: three were measured");
        const mib = ({ peakBytes }: { peakBytes: number }): number => peakBytes / 2 ** 20;
        put("analytics.time.spark", own.seconds, theirs.seconds);
        put("analytics.memory.spark", mib(own), mib(theirs));
        put("analytics.time.duckdb", own.seconds, other.seconds);
        put("analytics.memory.duckdb", mib(own), mib(other));
      }
    } finally {
      rmSync(dir, { recursive: true, force: true });
    }
  },
};

/** The statements that gpulse would run, in a program that does nothing else. */
export async function plainScript(
  lake: string,
  chosen: readonly Analysis[],
  isUnique = false,
): Promise<string> {
  const files = readdirSync(lake, { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".parquet"))
    .map((name) => `'${path.join(lake, name)}'`);
  const from = `read_parquet([${files.join(", ")}], union_by_name = true, hive_partitioning = false)`;
  const names = await columnsOf(from);
  const settings = readParameters({}, Date.now());
  // The days of the lake determine the step of the correlations: another span would be another amount of work.
  const { span } = await listLake(await openFiles(lake, {}), settings);
  const parts = [{ from, has: (name: string) => names.has(name), isUnique }];
  const view = { dialect: duckdbDialect, parts, span };
  const statements = [
    "set TimeZone = 'UTC'",
    "set preserve_insertion_order = false",
    `create temp ${chosen.length > 1 ? "table" : "view"} samples as ${samplesSql(chosen, settings, view)}`,
    ...chosen.map((one) => analysisSql(one, settings, view)),
  ];
  const duckdb = import.meta.resolve("@duckdb/node-api");
  return `import { DuckDBInstance } from ${JSON.stringify(duckdb)};
const instance = await DuckDBInstance.create(":memory:", { memory_limit: "4GB" });
const connection = await instance.connect();
for (const sql of ${JSON.stringify(statements)}) {
  const rows = (await connection.runAndReadAll(sql)).getRowsJS();
  process.stdout.write(JSON.stringify(rows, (_, value) => (typeof value === "bigint" ? Number(value) : value)));
}
connection.closeSync();
instance.closeSync();
`;
}

async function columnsOf(from: string): Promise<Set<unknown>> {
  const { DuckDBInstance } = await import("@duckdb/node-api");
  const instance = await DuckDBInstance.create(":memory:");
  const connection = await instance.connect();
  const described = await connection.runAndReadAll(`describe select * from ${from}`);
  const names = new Set(described.getRowsJS().map(([name]) => name));
  connection.closeSync();
  instance.closeSync();
  return names;
}
