/** In a file of its own: DuckDB reads the machine's zone once per process. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { DuckDBInstance } from "@duckdb/node-api";
import { expect, test } from "vitest";
import { analyseLake, objects, writeLake } from "../../../../test/fixtures/lake/analyses.ts";

test("times that Spark wrote and times that gpulse wrote are the same instants, wherever the machine is", async () => {
  process.env["TZ"] = "America/New_York";
  const dir = mkdtempSync(path.join(tmpdir(), "gpulse-zone-"));
  try {
    const timeMs = Date.UTC(2026, 0, 1, 23);
    writeLake(dir, [{ timeMs, gpu_power_watts: 100 }]);
    writeLake(dir, [{ timeMs, gpu_power_watts: 100 }], "from-spark");
    const own = path.join(dir, "gpu", "date=2026-01-01", "from-spark.parquet");
    const instance = await DuckDBInstance.create(":memory:");
    const connection = await instance.connect();
    // Like Spark, stores the timestamps with a zone; the other columns stay unchanged.
    await connection.run(
      `set TimeZone = 'UTC'; create table rows as select * replace (time::timestamptz as time) from '${own}'`,
    );
    await connection.run(`copy rows to '${own}' (format parquet)`);
    instance.closeSync();
    const [daily] = await analyseLake(dir, ["daily"]);
    expect(objects(daily)).toEqual([expect.objectContaining({ day: "2026-01-01", samples: 1 })]);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
});
