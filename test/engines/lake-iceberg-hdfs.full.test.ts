// An Iceberg lake on HDFS, written over WebHDFS, compacted, and read by Spark through Hadoop's own client.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { orSkip } from "../../engines/cache.ts";
import { startHdfs } from "../../engines/hdfs.ts";
import { ensureBuild, runGpulse } from "../../engines/program.ts";
import { countBySpark } from "./iceberg-lab.ts";
import { writeLog } from "./stream-lab.ts";

const cleanups: (() => Promise<unknown>)[] = [];
beforeAll(ensureBuild, 300_000);
afterAll(async () => {
  for (const cleanup of cleanups.reverse()) await cleanup();
}, 120_000);

test("Spark reads a table on HDFS, every row once, after a compaction too", async (context) => {
  const hdfs = await orSkip(context, startHdfs());
  cleanups.push(() => hdfs.stop());
  const folder = await mkdtemp(path.join(tmpdir(), "gpulse-iceberg-hdfs-"));
  cleanups.push(() => rm(folder, { recursive: true, force: true }));
  const log = path.join(folder, "log.txt");
  const rows = 3_000;
  await writeLog(log, rows);
  const lake = `webhdfs://${hdfs.web}/tables?user=${hdfs.user}`;
  const to = `${lake}&format=iceberg&merge=none&rows=1000&location=${hdfs.url}/tables`;
  const run = async (...args: string[]): Promise<void> => {
    const { code, stdout, stderr } = await runGpulse(args);
    expect(code, `${args.join(" ")}: ${stderr}${stdout}`).toBe(0);
  };
  await run("pipe", "--from", `gpuz:${log}?gpu-name=GeForce RTX 4090`, "--to", to);
  const expected = { rows, different: rows };
  expect(await countBySpark(`${hdfs.url}/tables`, "iceberg")).toEqual(expected);
  // The same log once more: a table that is compacted has one of each row.
  await run("pipe", "--from", `gpuz:${log}?gpu-name=GeForce RTX 4090`, "--to", to);
  await run("lake", "compact", lake);
  await run("lake", "verify", lake);
  expect(await countBySpark(`${hdfs.url}/tables`, "iceberg")).toEqual(expected);
}, 600_000);
