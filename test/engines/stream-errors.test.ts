// Errors of stream pipelines, with the built program: each says what to do, ends with a non-zero exit code, and the
// consumer group has no commits for data that is not stored.

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { CreateBucketCommand, S3Client } from "@aws-sdk/client-s3";
import { afterAll, beforeAll, expect, test, type TestContext } from "vitest";
import { type RunningKafka, startKafka } from "../../engines/kafka.ts";
import { orSkip } from "../../engines/cache.ts";
import { freePort } from "../../engines/ports.ts";
import { runProcess } from "../../engines/process.ts";
import { ensureBuild, program, runGpulse } from "../../engines/program.ts";
import { startS3 } from "../../engines/s3.ts";
import { waitUntil } from "../../engines/wait.ts";
import { type Offsets, offsetsOf, readLake, startGpulse, writeLog } from "./stream-lab.ts";

const rows = 3_000;
const topic = "gpu-metrics";
const cleanups: (() => Promise<unknown>)[] = [];
let folder = "";

beforeAll(async () => {
  await ensureBuild();
  folder = await mkdtemp(path.join(tmpdir(), "gpulse-stream-errors-"));
  cleanups.push(() => rm(folder, { recursive: true, force: true }));
  await writeLog(path.join(folder, "log.txt"), rows, [5]);
}, 300_000);
afterAll(async () => {
  for (const cleanup of cleanups.reverse()) await cleanup();
}, 60_000);

let started: Promise<RunningKafka> | undefined;
/** A broker whose topic contains the log's rows. */
async function filled(context: TestContext): Promise<RunningKafka> {
  started ??= (async () => {
    const kafka = await startKafka();
    cleanups.push(() => kafka.stop());
    const to = `kafka://${kafka.bootstrap}/${topic}?create=true&partitions=1`;
    const log = path.join(folder, "log.txt");
    const { code, stderr } = await runGpulse(
      [
        "replay",
        log,
        "--speed",
        "max",
        "--timezone",
        "UTC",
        "--gpu-name",
        "GeForce RTX 3080",
        "--uuid",
        "GPU-0",
        "--to",
        to,
      ],
      { timeoutMs: 120_000 },
    );
    expect(code, stderr).toBe(0);
    return kafka;
  })();
  return orSkip(context, started);
}

/** A new broker has no group coordinator for a moment. */
const offsets = async (kafka: RunningKafka, group: string): Promise<Offsets> =>
  waitUntil({ what: "the group", timeoutMs: 60_000 }, () =>
    offsetsOf(kafka.bootstrap, topic, group),
  );
const committedBy = async (kafka: RunningKafka, group: string): Promise<number> =>
  (await offsets(kafka, group)).committed[0] ?? 0;

test("what cannot be read or reached is said at the start, with what to do", async (context) => {
  const kafka = await filled(context);
  const [broken, text, good] = ["broken.txt", "text.txt", "log.txt"].map((name) =>
    path.join(folder, name),
  ) as [string, string, string];
  await writeFile(broken, Buffer.from([0x50, 0x4b, 3, 4, 0, 0, 255, 254, 0, 0]));
  await writeFile(text, "Dear diary,\nno sensors today.\n");
  const cluster = `kafka://${kafka.bootstrap}/${topic}`;
  const nobody = `kafka://127.0.0.1:${await freePort()}/${topic}?timeout=1s`;
  const cases: [args: string[], code: number, says: RegExp][] = [
    [["replay", broken, "--to", cluster], 2, /broken\.txt cannot be replayed.*gpuz:FILE/s],
    [["pipe", "--from", `gpuz:${text}`, "--to", cluster], 2, /text\.txt.*(GPU-Z|Date)/s],
    [["replay", path.join(folder, "none.txt"), "--to", cluster], 2, /none\.txt/],
    [["replay", good, "--to", `${cluster}?compression=foo`], 2, /compression.*gzip.*lz4/s],
    [["replay", good, "--to", nobody], 1, /no broker answers.*Check that Kafka runs/s],
    [["pipe", "--from", nobody, "--to", "stdout:"], 1, /no broker answers.*Check that Kafka runs/s],
  ];
  const before = await offsets(kafka, "nobody");
  for (const [args, code, says] of cases) {
    const done = await runGpulse(args, { timeoutMs: 120_000 });
    const reported = `${args.join(" ")}: ${done.stderr}`;
    expect(done.code, reported).toBe(code);
    expect(done.stderr, reported).toMatch(says);
    expect(done.stderr, reported).not.toMatch(/BUG|^\s+at /m);
  }
  expect(await offsets(kafka, "nobody")).toEqual(before);
});

test("a bucket that denies writes ends the pipe, and the topic is read again from its start", async (context) => {
  const kafka = await filled(context);
  const s3 = await orSkip(context, startS3());
  cleanups.push(() => s3.stop());
  const { endpoint, region, owner: credentials } = s3;
  const client = new S3Client({ endpoint, region, credentials, forcePathStyle: true });
  await client.send(new CreateBucketCommand({ Bucket: "metrics" }));
  client.destroy();
  const pipe = (keys: typeof s3.reader) =>
    runProcess(
      process.execPath,
      [
        program,
        "pipe",
        "--checkpoint",
        "500ms",
        "--from",
        `kafka://${kafka.bootstrap}/${topic}?group=bucket&until=end`,
        "--to",
        `s3://metrics/lake?endpoint=${endpoint}&region=${region}`,
      ],
      {
        timeoutMs: 120_000,
        env: {
          AWS_ACCESS_KEY_ID: keys.accessKeyId,
          AWS_SECRET_ACCESS_KEY: keys.secretAccessKey,
        },
      },
    );
  const denied = await pipe(s3.reader);
  expect(denied.code, denied.stderr).toBe(1);
  expect(denied.stderr).toMatch(/metrics.*(AWS_ACCESS_KEY_ID|credentials|keys|may write)/s);
  expect(denied.stderr).not.toContain(s3.reader.secretAccessKey);
  expect(await committedBy(kafka, "bucket")).toBe(0);
  const granted = await pipe(s3.owner);
  expect(granted.code, granted.stderr).toBe(0);
  expect(await committedBy(kafka, "bucket")).toBe(rows);
});

test("a full disk is waited for with nothing committed, and everything is there once there is room", async (context) => {
  const kafka = await filled(context);
  const disk = await mkdtemp(path.join(tmpdir(), "gpulse-small-disk-"));
  cleanups.push(() => rm(disk, { recursive: true, force: true }));
  const mount = ["-t", "tmpfs", "-o", "size=512k", "gpulse-test", disk];
  const mounted = await runProcess("mount", mount).catch(() => undefined);
  if (mounted?.code !== 0) return context.skip("needs root on Linux: a small disk is mounted");
  cleanups.push(() => runProcess("umount", [disk]));
  const ballast = path.join(disk, "ballast");
  await writeFile(ballast, Buffer.alloc(500 * 1_024));
  const args = [
    "pipe",
    "--checkpoint",
    "500ms",
    "--grace",
    "1s",
    "--from",
    `kafka://${kafka.bootstrap}/${topic}?group=disk`,
    "--to",
    `parquet:${disk}/lake?roll=500ms`,
  ];
  const stopped = startGpulse(args);
  cleanups.push(() => stopped.stop());
  const reported = await stopped.waitForOutput(/FILES_FULL.*No space is left.*free some/, 120_000);
  expect(reported[0]).toContain(disk);
  expect(await committedBy(kafka, "disk")).toBe(0);
  expect((await stopped.stop(60_000)).code, stopped.output()).toBe(1);
  expect(await committedBy(kafka, "disk")).toBe(0);

  const patient = startGpulse(args);
  cleanups.push(() => patient.stop());
  await patient.waitForOutput(/FILES_FULL/, 120_000);
  await rm(ballast);
  await waitUntil({ what: "everything to be committed", timeoutMs: 120_000 }, async () =>
    (await committedBy(kafka, "disk")) === rows ? true : undefined,
  );
  expect((await patient.stop(60_000)).code, patient.output()).toBe(0);
  const { times, again, wrong } = await readLake(path.join(disk, "lake"));
  expect([times.get("GPU-0")?.size, again, wrong]).toEqual([rows, 0, 0]);
});
