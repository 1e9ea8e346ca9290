// An Iceberg lake that is written, killed, compacted and read at an earlier snapshot, with rows counted by third-party
// readers.

import { existsSync, readdirSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { CreateBucketCommand, S3Client } from "@aws-sdk/client-s3";
import { afterAll, beforeAll, expect, test } from "vitest";
import { orSkip } from "../../engines/cache.ts";
import { runProcess } from "../../engines/process.ts";
import { ensureBuild, program, runGpulse } from "../../engines/program.ts";
import { startS3 } from "../../engines/s3.ts";
import { waitUntil } from "../../engines/wait.ts";
import { countByPyIceberg, countIcebergByDuckDb } from "./iceberg-lab.ts";
import { killNow, startGpulse, writeLog } from "./stream-lab.ts";

let folder = "";
beforeAll(async () => {
  await ensureBuild();
  folder = await mkdtemp(path.join(tmpdir(), "gpulse-iceberg-"));
}, 300_000);
const cleanups: (() => Promise<unknown>)[] = [];
afterAll(async () => {
  for (const cleanup of cleanups.reverse()) await cleanup();
  await rm(folder, { recursive: true, force: true });
}, 120_000);

/** Writes the same log twice and compacts the duplicates: several commits and a merge. */
async function fillTwice(
  lake: string,
  to: string,
  rows: number,
  env: Readonly<Record<string, string>> = {},
): Promise<void> {
  const log = path.join(folder, "remote.txt");
  await writeLog(log, rows);
  const run = async (...args: string[]): Promise<void> => {
    const done = await runProcess(process.execPath, [program, ...args], {
      timeoutMs: 200_000,
      env,
    });
    expect(done.code, `${args.join(" ")}: ${done.stderr}${done.stdout}`).toBe(0);
  };
  for (let time = 0; time < 2; time++)
    await run("pipe", "--from", `gpuz:${log}?gpu-name=GeForce RTX 4090&uuid=GPU-0`, "--to", to);
  await run("lake", "compact", lake);
  await run("lake", "verify", lake);
}

test("DuckDB and PyIceberg count every row once through a kill and a compaction, and earlier snapshots stay readable", async (context) => {
  const [log, lake] = [path.join(folder, "log.txt"), path.join(folder, "lake")];
  const rows = 30_000;
  await writeLog(log, rows);
  const from = `gpuz:${log}?gpu-name=GeForce RTX 4090`;
  const to = `parquet:${lake}?format=iceberg&merge=none`;
  const killed = startGpulse(["pipe", "--from", from, "--to", `${to}&roll=100ms&rows=1000`]);
  // In the middle of the log, whose first thousand rows are in the table.
  const manifest = path.join(lake, "_commits");
  await waitUntil({ what: "a commit", timeoutMs: 60_000 }, async () =>
    existsSync(manifest) && readdirSync(manifest).length > 0 ? true : undefined,
  );
  await killNow(killed);
  // A log without offsets is read again from its start; compaction leaves one of each row.
  const again = await runGpulse(["pipe", "--from", from, "--to", `${to}&rows=1000`]);
  expect(again.code, again.stderr).toBe(0);
  const compacted = await runGpulse(["lake", "compact", lake, "--json"]);
  expect(compacted.code, compacted.stderr).toBe(0);
  const expected = { rows, different: rows };
  expect(await orSkip(context, countIcebergByDuckDb(lake))).toEqual(expected);
  expect(await orSkip(context, countByPyIceberg(lake))).toEqual(expected);
  const verified = await runGpulse(["lake", "verify", lake]);
  expect(verified.code, verified.stdout).toBe(0);
  const history = await runGpulse(["lake", "history", lake, "--json"]);
  const { commits } = JSON.parse(history.stdout) as { commits: { sequence: number }[] };
  const before = Number(commits[1]?.sequence);
  expect((await countIcebergByDuckDb(lake, before)).rows).toBeGreaterThanOrEqual(rows);
}, 300_000);

test("PyIceberg reads a table in a bucket, every row once", async (context) => {
  const s3 = await orSkip(context, startS3());
  cleanups.push(() => s3.stop());
  const { endpoint, region, owner: credentials } = s3;
  const client = new S3Client({ endpoint, region, credentials, forcePathStyle: true });
  await client.send(new CreateBucketCommand({ Bucket: "tables" }));
  client.destroy();
  const lake = `s3://tables/all?endpoint=${endpoint}&region=${region}`;
  await fillTwice(lake, `${lake}&format=iceberg&merge=none&rows=1000`, 3_000, {
    AWS_ACCESS_KEY_ID: credentials.accessKeyId,
    AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
  });
  const counted = countByPyIceberg("s3://tables/all", {
    "s3.endpoint": endpoint,
    "s3.region": region,
    "s3.access-key-id": credentials.accessKeyId,
    "s3.secret-access-key": credentials.secretAccessKey,
  });
  expect(await orSkip(context, counted)).toEqual({ rows: 3_000, different: 3_000 });
}, 600_000);
