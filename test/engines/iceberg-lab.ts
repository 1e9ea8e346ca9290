// Counts the rows of an Iceberg table with its readers, from the metadata only: DuckDB's extension, PyIceberg and Spark.

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { runProcess } from "../../engines/process.ts";
import { pythonPackages } from "../../engines/python.ts";
import { findSpark, icebergJar } from "../../engines/spark.ts";
import type { CountedRows } from "./lake-once-lab.ts";

/** Extensions for the DuckDB version in package.json, from PyPI, because DuckDB's own server is not reachable everywhere. */
const DUCKDB = "1.5.5";

/**
 * Returns the rows of a query over the table `gpu`, which `from` names in SQL.
 * @param snapshot by default the current one
 */
export async function queryIcebergByDuckDb(
  lake: string,
  sql: (from: string) => string,
  snapshot?: number,
): Promise<readonly (readonly unknown[])[]> {
  const { folder } = await pythonPackages("duckdb-iceberg", [
    `duckdb-extension-avro==${DUCKDB}`,
    `duckdb-extension-iceberg==${DUCKDB}`,
  ]);
  const lib = path.join(folder, "lib");
  const site = path.join(lib, readdirSync(lib)[0] ?? "", "site-packages");
  const instance = await DuckDBInstance.create(":memory:");
  const connection = await instance.connect();
  try {
    for (const name of ["avro", "iceberg"]) {
      const file = `duckdb_extension_${name}/extensions/v${DUCKDB}/${name}.duckdb_extension`;
      await connection.run(`load '${path.join(site, file)}'`);
    }
    const at = snapshot === undefined ? "" : `, snapshot_from_id = ${snapshot}`;
    const answer = await connection.runAndReadAll(sql(`iceberg_scan('${lake}/gpu'${at})`));
    return answer.getRows();
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}

/** @param snapshot by default the current one */
export async function countIcebergByDuckDb(lake: string, snapshot?: number): Promise<CountedRows> {
  const count = (from: string): string =>
    `select count(*)::int, count(distinct (uuid, time))::int from ${from}`;
  const [[rows, different] = []] = await queryIcebergByDuckDb(lake, count, snapshot);
  return { rows: Number(rows), different: Number(different) };
}

const pyicebergScript = `
import json, sys
from pyiceberg.io import load_file_io
from pyiceberg.table import StaticTable
folder, properties = sys.argv[1] + "/gpu/metadata/", json.loads(sys.argv[2])
hint = load_file_io(properties, folder).new_input(folder + "version-hint.text").open().read()
table = StaticTable.from_metadata(folder + "v" + hint.decode().strip() + ".metadata.json", properties)
rows = table.scan(selected_fields=("uuid", "time")).to_arrow()
print(rows.num_rows, rows.group_by(["uuid", "time"]).aggregate([]).num_rows)
`;

/** @param properties of the lake's bucket, with PyIceberg's names */
export async function countByPyIceberg(
  lake: string,
  properties: Readonly<Record<string, string>> = {},
): Promise<CountedRows> {
  const { python } = await pythonPackages("pyiceberg", ["pyiceberg[pyarrow]==0.12.0"]);
  const { code, stdout, stderr } = await runProcess(
    python,
    ["-c", pyicebergScript, lake, JSON.stringify(properties)],
    { timeoutMs: 600_000 },
  );
  if (code !== 0) throw new Error(stderr);
  return parseCounts(stdout);
}

const catalog = `
import sys
from pyspark.sql import SparkSession
build = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").config("spark.sql.session.timeZone", "UTC")
name = "spark.sql.catalog.lake"
build = build.config(name, "org.apache.iceberg.spark.SparkCatalog").config(name + ".type", "hadoop").config(name + ".warehouse", sys.argv[1])
spark = build.getOrCreate()
rows = spark.table("lake.gpu") if sys.argv[2] == "iceberg" else spark.read.parquet(sys.argv[1] + "/gpu")
rows = rows.select("uuid", "time")
print(rows.count(), rows.distinct().count())
`;

/** Reads a lake of either format; plain Parquet is read by its folder. */
export async function countBySpark(
  lake: string,
  format: "parquet" | "iceberg",
): Promise<CountedRows> {
  const { sparkSubmit, env } = await findSpark();
  const jar = await icebergJar();
  const folder = await mkdtemp(path.join(tmpdir(), "gpulse-spark-"));
  try {
    const script = path.join(folder, "count.py");
    await writeFile(script, catalog);
    const { code, stdout, stderr } = await runProcess(
      sparkSubmit,
      ["--jars", jar, script, lake, format],
      { timeoutMs: 900_000, env },
    );
    if (code !== 0) throw new Error(stderr.slice(-2_000));
    return parseCounts(stdout);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function parseCounts(stdout: string): CountedRows {
  const [, rows, different] = /(\d+) (\d+)\s*$/.exec(stdout) ?? [];
  return { rows: Number(rows), different: Number(different) };
}
