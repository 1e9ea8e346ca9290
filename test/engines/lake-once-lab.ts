// Counts the rows of a lake with readers that ignore its metadata: DuckDB and pyarrow over every Parquet file of a
// table.

import { DuckDBInstance } from "@duckdb/node-api";
import { runProcess } from "../../engines/process.ts";
import { pythonPackages } from "../../engines/python.ts";

export interface CountedRows {
  readonly rows: number;
  /** Number of distinct (uuid, time) pairs. */
  readonly different: number;
}

export async function countByDuckDb(lake: string): Promise<CountedRows> {
  const instance = await DuckDBInstance.create(":memory:");
  const connection = await instance.connect();
  try {
    const table = `read_parquet('${lake}/gpu/date=*/*.parquet', union_by_name = true)`;
    const answer = await connection.runAndReadAll(
      `select count(*)::int, count(distinct (uuid, time))::int from ${table}`,
    );
    const [rows, different] = answer.getRows()[0] ?? [];
    return { rows: Number(rows), different: Number(different) };
  } finally {
    connection.closeSync();
    instance.closeSync();
  }
}

const countScript = `
import sys, pyarrow.dataset as dataset
table = dataset.dataset(sys.argv[1] + "/gpu", format="parquet", partitioning="hive").to_table(columns=["uuid", "time"])
print(table.num_rows, table.group_by(["uuid", "time"]).aggregate([]).num_rows)
`;

export async function countByPyarrow(lake: string): Promise<CountedRows> {
  const { python } = await pythonPackages("pyarrow", ["pyarrow==21.0.0"]);
  const { code, stdout, stderr } = await runProcess(python, ["-c", countScript, lake], {
    timeoutMs: 600_000,
  });
  if (code !== 0) throw new Error(stderr);
  const [rows, different] = stdout.trim().split(" ").map(Number);
  return { rows: rows ?? 0, different: different ?? 0 };
}

const boundsScript = `
import glob, sys, pyarrow.parquet as parquet
found = []
for name in glob.glob(sys.argv[1] + "/gpu/*/*.parquet"):
    group = parquet.ParquetFile(name).metadata.row_group(0)
    for at in range(group.num_columns):
        column = group.column(at)
        if column.path_in_schema in ("time", "uuid", "gpu_power_watts"):
            found.append(column.statistics is not None and column.statistics.has_min_max)
print(len(found), all(found))
`;

/** True if pyarrow finds valid minimum and maximum statistics of time, uuid and power in every file. */
export async function hasBoundsForPyarrow(lake: string): Promise<boolean> {
  const { python } = await pythonPackages("pyarrow", ["pyarrow==21.0.0"]);
  const { code, stdout, stderr } = await runProcess(python, ["-c", boundsScript, lake], {
    timeoutMs: 120_000,
  });
  if (code !== 0) throw new Error(stderr);
  return /^[1-9]\d* True$/.test(stdout.trim());
}
