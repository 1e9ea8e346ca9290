// Trino reads an Iceberg lake: the same rows as DuckDB, columns that came with a later version of gpulse, and earlier snapshots.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { orSkip } from "../../engines/cache.ts";
import { ensureBuild, runGpulse } from "../../engines/program.ts";
import { type RunningTrino, startTrino } from "../../engines/trino.ts";
import type * as columnsModule from "../../src/model/columns.ts";
import { runPipe } from "../../src/cli/pipe/run.ts";
import { testIo } from "../fixtures/cli/pipe.ts";
import { queryIcebergByDuckDb } from "./iceberg-lab.ts";
import { writeLog } from "./stream-lab.ts";

const rows = 5_000;
const newColumn = vi.hoisted(() => "gpu_sm_activity_ratio");
// In this process gpulse is an earlier version, whose catalogue does not have the column; started programs are the current one.
vi.mock("../../src/model/columns.ts", async (original) => {
  const actual = await original<typeof columnsModule>();
  return { ...actual, columns: actual.columns.filter(({ name }) => name !== newColumn) };
});

const cleanups: (() => Promise<unknown>)[] = [];
beforeAll(ensureBuild, 300_000);
afterAll(async () => {
  for (const cleanup of cleanups.reverse()) await cleanup();
}, 120_000);

async function run(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await runGpulse(args);
  expect(code, `${args.join(" ")}: ${stderr}${stdout}`).toBe(0);
  return stdout;
}

/** What readers must agree on: rows, distinct rows, sums of two columns, and the first and last instant in milliseconds. */
const figures = (from: string, epochMs: (time: string) => string): string =>
  `select count(*), count(distinct (uuid, time)), sum(gpu_power_watts), sum(gpu_temperature_celsius_edge), ${epochMs("min(time)")}, ${epochMs("max(time)")} from ${from}`;
const byDuckDb = async (lake: string, snapshot?: number): Promise<number[][]> =>
  numbers(
    await queryIcebergByDuckDb(
      lake,
      (from) => figures(from, (time) => `epoch_ms(${time})`),
      snapshot,
    ),
  );
const byTrino = async (trino: RunningTrino, from = "lake.gpulse.gpu"): Promise<number[][]> =>
  numbers(
    await trino.query(
      figures(from, (time) => `cast(round(to_unixtime(${time}) * 1000) as bigint)`),
    ),
  );
const numbers = (found: readonly (readonly unknown[])[]): number[][] =>
  found.map((row) => row.map(Number));

test("Trino counts what DuckDB counts, with new columns, at earlier snapshots and after a compaction", async (context) => {
  const trino = await orSkip(context, startTrino());
  cleanups.push(() => trino.stop());
  const folder = await mkdtemp(path.join(tmpdir(), "gpulse-iceberg-trino-"));
  cleanups.push(() => rm(folder, { recursive: true, force: true }));
  const [log, lake] = [path.join(folder, "log.txt"), path.join(folder, "lake")];
  await writeLog(log, rows);
  const to = `parquet:${lake}?format=iceberg&merge=none`;
  const from = `gpuz:${log}?gpu-name=GeForce RTX 4090&timezone=UTC&uuid=GPU-0`;
  const { io, err } = testIo();
  expect(await runPipe({ from: [from], to: [`${to}&rows=1000`] }, io), err()).toBe(0);

  await trino.register("gpu", lake);
  const columnsOf = async (): Promise<unknown[]> =>
    (await trino.query("describe lake.gpulse.gpu")).map(([name]) => name);
  expect(await columnsOf()).not.toContain(newColumn);
  const first = await byTrino(trino);
  expect(first[0]?.slice(0, 2)).toEqual([rows, rows]);
  expect(first).toEqual(await byDuckDb(lake));
  const firstSnapshot = await trino.query('select snapshot_id from lake.gpulse."gpu$snapshots"');
  expect(firstSnapshot).toHaveLength(1);
  const snapshot = Number(firstSnapshot[0]?.[0]);

  // Simulated GPUs report the column, and the log does not.
  await run("pipe", "--from", "sim:2", "--for", "3s", "--to", to);
  await trino.register("gpu", lake);
  expect(await columnsOf()).toContain(newColumn);
  const second = await byTrino(trino);
  expect(second[0]?.[0]).toBeGreaterThan(rows);
  expect(second).toEqual(await byDuckDb(lake));
  const withColumn = (table: string): string =>
    `select uuid = 'GPU-0', count(*), count(${newColumn}) from ${table} group by 1 order by 1`;
  const counted = numbers(await trino.query(withColumn("lake.gpulse.gpu")));
  expect(counted).toEqual(numbers(await queryIcebergByDuckDb(lake, withColumn)));
  expect(counted[0]?.[2], "rows of simulated GPUs with the column").toBeGreaterThan(0);
  expect(counted[1], "rows of the log").toEqual([1, rows, 0]);
  const earlier = `lake.gpulse.gpu for version as of bigint '${snapshot}'`;
  expect(await byTrino(trino, earlier)).toEqual(first);

  // The same log once more: a compaction leaves one of each row, and the snapshot before it stays readable.
  await run("pipe", "--from", from, "--to", to);
  await run("lake", "compact", lake);
  await trino.register("gpu", lake);
  expect(await byTrino(trino)).toEqual(second);
  expect(await byTrino(trino, earlier)).toEqual(first);
  expect(await byDuckDb(lake, snapshot)).toEqual(first);
  const rowsAt = await trino.query(
    `select cast(summary['total-records'] as bigint) from lake.gpulse."gpu$snapshots" order by snapshot_id`,
  );
  expect(rowsAt.map(([total]) => Number(total))).toContain((second[0]?.[0] ?? 0) + rows);
}, 900_000);
