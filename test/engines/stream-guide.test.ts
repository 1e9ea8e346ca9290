// The pipelines in the guide and the shipped ones, each with its one command on empty engines: no topic, no database, an
// empty bucket.

import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { CreateBucketCommand, GetObjectCommand, S3Client } from "@aws-sdk/client-s3";
import { afterAll, beforeAll, expect, test } from "vitest";
import { orSkip } from "../../engines/cache.ts";
import { startKafka } from "../../engines/kafka.ts";
import { type FinishedProcess, runProcess } from "../../engines/process.ts";
import { ensureBuild, program, repository } from "../../engines/program.ts";
import { startS3 } from "../../engines/s3.ts";
import { toolOrSkip } from "../../engines/tools.ts";
import { startVictoriaMetrics } from "../../engines/victoria-metrics.ts";
import { countByDuckDb } from "./lake-once-lab.ts";
import { logStartMs, writeLog } from "./stream-lab.ts";

const rows = 3_000;
const cleanups: (() => Promise<unknown>)[] = [];
beforeAll(ensureBuild, 300_000);
afterAll(async () => {
  for (const cleanup of cleanups.reverse()) await cleanup();
}, 120_000);

async function emptyFolder(): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), "gpulse-guide-"));
  cleanups.push(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

const runIn = (
  folder: string,
  file: string,
  env: Readonly<Record<string, string>>,
): Promise<FinishedProcess> =>
  runProcess(process.execPath, [program, "pipe", "-f", file], {
    cwd: folder,
    timeoutMs: 480_000,
    env,
  });

const reportsOf = async (folder: string): Promise<string> =>
  Promise.all(
    (await readdir(path.join(folder, "reports"), { recursive: true, withFileTypes: true }))
      .filter((entry) => entry.isFile())
      .map((entry) => readFile(path.join(entry.parentPath, entry.name), "utf8")),
  ).then((texts) => texts.join("\n"));

test("the pipeline of the guide takes a log to a bucket, Kafka, a lake and a report", async (context) => {
  const folder = await emptyFolder();
  const [kafka, s3] = await orSkip(context, Promise.all([startKafka(), startS3()]));
  cleanups.push(
    () => kafka.stop(),
    () => s3.stop(),
  );
  const client = new S3Client({
    endpoint: s3.endpoint,
    region: s3.region,
    credentials: s3.owner,
    forcePathStyle: true,
  });
  cleanups.push(async () => {
    client.destroy();
  });
  await client.send(new CreateBucketCommand({ Bucket: "gpu-logs" }));
  const guide = await readFile(path.join(repository, "docs/guides/streams.md"), "utf8");
  const [, shown = ""] = /```yaml\n(stages:\n[\s\S]*?)```/.exec(guide) ?? [];
  for (const place of ["localhost:9092", "http://localhost:9000", "sensors.txt"])
    expect(shown).toContain(place);
  await writeFile(
    path.join(folder, "pipeline.yaml"),
    shown
      .replaceAll("localhost:9092", kafka.bootstrap)
      .replaceAll("http://localhost:9000", s3.endpoint),
  );
  await writeLog(path.join(folder, "sensors.txt"), rows);
  const done = await runIn(folder, "pipeline.yaml", {
    AWS_ACCESS_KEY_ID: s3.owner.accessKeyId,
    AWS_SECRET_ACCESS_KEY: s3.owner.secretAccessKey,
    AWS_REGION: s3.region,
  });
  expect(done.code, done.stderr).toBe(0);
  const stored = await client.send(
    new GetObjectCommand({ Bucket: "gpu-logs", Key: "raw/sensors.txt" }),
  );
  expect(Buffer.from((await stored.Body?.transformToByteArray()) ?? [])).toEqual(
    await readFile(path.join(folder, "sensors.txt")),
  );
  expect(await countByDuckDb(path.join(folder, "lake"))).toEqual({ rows, different: rows });
  expect(await reportsOf(folder)).toContain("2026-01-01");
}, 600_000);

test("the shipped pipeline takes a log through Kafka into a database and a lake, and reports by day", async (context) => {
  const folder = await emptyFolder();
  const [kafka, influxdb] = await orSkip(
    context,
    Promise.all([startKafka(), startVictoriaMetrics(toolOrSkip(context, "victoria-metrics"))]),
  );
  cleanups.push(
    () => kafka.stop(),
    () => influxdb.stop(),
  );
  await writeLog(path.join(folder, "sensors.txt"), rows);
  const shipped = path.join(repository, "deploy/examples/gpuz-pipeline/pipeline.yaml");
  await writeFile(path.join(folder, "pipeline.yaml"), await readFile(shipped));
  const done = await runIn(folder, "pipeline.yaml", {
    LOG: "sensors.txt",
    KAFKA: kafka.bootstrap,
    INFLUXDB: new URL(influxdb.url).host,
    INFLUXDB_TOKEN: "any",
  });
  expect(done.code, done.stderr).toBe(0);
  expect(await readFile(path.join(folder, "raw/sensors.txt"))).toEqual(
    await readFile(path.join(folder, "sensors.txt")),
  );
  expect(await countByDuckDb(path.join(folder, "lake"))).toEqual({ rows, different: rows });
  expect(await reportsOf(folder)).toContain("2026-01-01");
  await fetch(`${influxdb.url}/internal/force_flush`);
  const count = `sum(count_over_time(gpu_metrics_gpu_temperature[${rows + 60}s]))`;
  const query = new URLSearchParams({ query: count, time: String(logStartMs / 1_000 + rows) });
  await expect
    .poll(async () => (await fetch(`${influxdb.url}/api/v1/query?${query.toString()}`)).text(), {
      timeout: 60_000,
    })
    .toContain(`"${rows}"`);
}, 600_000);
