// A pipe that ends when idle, with a real HDFS that stops answering for longer than the idle time: it waits, and ends with every
// record in the lake.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { orSkip } from "../../engines/cache.ts";
import { startHdfs } from "../../engines/hdfs.ts";
import { startKafka } from "../../engines/kafka.ts";
import { ensureBuild, runGpulse } from "../../engines/program.ts";
import { offsetsOf, readLake, startPipe, writeLog } from "./stream-lab.ts";

const rows = 60_000;
const cleanups: (() => Promise<unknown>)[] = [];
beforeAll(ensureBuild, 300_000);
afterAll(async () => {
  for (const cleanup of cleanups.reverse()) await cleanup();
}, 120_000);

test("HDFS that is down for longer than --until-idle does not end the pipe before its data", async (context) => {
  const hdfs = await orSkip(context, startHdfs());
  cleanups.push(() => hdfs.stop());
  const kafka = await orSkip(context, startKafka());
  cleanups.push(() => kafka.stop());
  const folder = await mkdtemp(path.join(tmpdir(), "gpulse-stream-idle-"));
  cleanups.push(() => rm(folder, { recursive: true, force: true }));
  const log = path.join(folder, "log.txt");
  await writeLog(log, rows);
  const topic = `kafka://${kafka.bootstrap}/gpu-metrics`;
  const source = `gpuz:${log}?gpu-name=GeForce RTX 4090&timezone=UTC&uuid=GPU-0`;
  const filled = await runGpulse([
    "pipe",
    "--from",
    source,
    "--to",
    `${topic}?create=true&partitions=1`,
  ]);
  expect(filled.code, filled.stderr).toBe(0);

  const lake = `webhdfs://${hdfs.web}/lake?user=${hdfs.user}`;
  const to = `${lake}&rows=5000`;
  const from = `${topic}?group=lake`;
  const ends = ["--until-idle", "2s", "--checkpoint-frames", "5000"];
  const pipe = await startPipe(["--from", from, "--to", to, ...ends]);
  cleanups.push(() => pipe.process.stop());
  await expect
    .poll(() => pipe.frames().catch(() => 0), { timeout: 60_000, interval: 20 })
    .toBeGreaterThan(0);
  await hdfs.kill();
  await sleep(8_000);
  expect(pipe.process.exited(), pipe.process.output()).toBeUndefined();
  await hdfs.restart();

  const { code } = await pipe.process.waitForExit(120_000);
  expect(code, pipe.process.output()).toBe(0);
  const { ends: last, committed } = await offsetsOf(kafka.bootstrap, "gpu-metrics", "lake");
  expect(committed).toEqual(last);
  const { times, again, wrong } = await readLake(lake);
  expect([times.get("GPU-0")?.size, again, wrong]).toEqual([rows, 0, 0]);
}, 400_000);
