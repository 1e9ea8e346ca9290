// A lake that is an Iceberg table, written, killed, compacted and read again at an earlier snapshot, counted by readers that are not ours.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { orSkip } from "../../engines/cache.ts";
import { ensureBuild, runGpulse } from "../../engines/program.ts";
import { countByPyIceberg, countIcebergByDuckDb } from "./iceberg-lab.ts";
import { killNow, startGpulse, writeLog } from "./stream-lab.ts";

let folder = "";
beforeAll(async () => {
  await ensureBuild();
  folder = await mkdtemp(path.join(tmpdir(), "gpulse-iceberg-"));
}, 300_000);
afterAll(() => rm(folder, { recursive: true, force: true }));

test("DuckDB and PyIceberg count every row once through a kill and a compaction, and earlier snapshots stay readable", async (context) => {
  const [log, lake] = [path.join(folder, "log.txt"), path.join(folder, "lake")];
  const rows = 3_000;
  await writeLog(log, rows);
  const from = `gpuz:${log}?gpu-name=GeForce RTX 4090`;
  const to = `parquet:${lake}?format=iceberg&merge=none`;
  const killed = startGpulse(["pipe", "--from", from, "--to", `${to}&roll=100ms&rows=1000`]);
  await sleep(700);
  await killNow(killed);
  // A log without offsets is read again from its start: compacting leaves one of each row.
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
