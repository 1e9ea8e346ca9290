// The built Lambda function with real events against a real S3-compatible server: creates Parquet and a summary from an
// uploaded GPU-Z log, once however often the event is delivered, and forwards it to InfluxDB.

import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import {
  CreateBucketCommand,
  GetObjectCommand,
  ListObjectsV2Command,
  PutObjectCommand,
  S3Client,
} from "@aws-sdk/client-s3";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startHub } from "../../engines/hub.ts";
import { startInfluxDb } from "../../engines/influxdb.ts";
import { EngineMissingError, orSkip } from "../../engines/cache.ts";
import { ensureBuild, repository } from "../../engines/program.ts";
import { type RunningS3, startS3 } from "../../engines/s3.ts";
import type { LogSummary } from "../../src/cli/lambda/summary.ts";
import { openFile } from "../../src/lake/decode.ts";
import { listLake } from "../../src/lake/files.ts";
import { openFiles } from "../../src/net/objects/open.ts";
import { logStartMs, pipeAll, writeLog } from "./influxdb-lab.ts";

const rows = 2_000;
const key = "desk+1/GPU-Z Sensor Log.txt";
const before = { ...process.env };
let missing: string | undefined;
let s3: RunningS3;
let client: S3Client;
let folder = "";
let handler: (
  event: unknown,
  call?: object,
) => Promise<{ processed: LogSummary[]; skipped: string[] }>;
let log = Buffer.alloc(0);

beforeAll(async () => {
  await ensureBuild();
  folder = await mkdtemp(path.join(tmpdir(), "gpulse-lambda-"));
  await writeLog(path.join(folder, "log.txt"), rows);
  log = Buffer.concat([
    await readFile(path.join(folder, "log.txt")),
    Buffer.from("no row at all\r\n"),
  ]);
  try {
    s3 = await startS3();
  } catch (error) {
    if (!(error instanceof EngineMissingError)) throw error;
    missing = error.message;
    return;
  }
  const { endpoint, region, owner } = s3;
  client = new S3Client({ endpoint, region, credentials: owner, forcePathStyle: true });
  await client.send(new CreateBucketCommand({ Bucket: "uploads" }));
  be(owner);
  process.env["GPULSE_OUTPUT"] = `s3://uploads/processed?endpoint=${endpoint}&region=${region}`;
  process.env["GPULSE_GPU_NAME"] = "GeForce RTX 4090";
  process.env["GPULSE_HOST"] = "desk";
  const bundle = pathToFileURL(path.join(repository, "dist/lambda/index.mjs")).href;
  ({ handler } = (await import(/* @vite-ignore */ bundle)) as { handler: typeof handler });
}, 600_000);

afterAll(async () => {
  process.env = before;
  if (missing === undefined) await s3.stop();
  await rm(folder, { recursive: true, force: true });
});

function be({ accessKeyId, secretAccessKey }: RunningS3["owner"]): void {
  process.env["AWS_ACCESS_KEY_ID"] = accessKeyId;
  process.env["AWS_SECRET_ACCESS_KEY"] = secretAccessKey;
}

/** Uploads the object, and returns the event that S3 would send. */
async function upload(body: Buffer, as = key): Promise<unknown> {
  const { ETag = "" } = await client.send(
    new PutObjectCommand({ Bucket: "uploads", Key: as, Body: body }),
  );
  const file = path.join(repository, "src/cli/lambda/testdata/s3-put.json");
  const event = JSON.parse(await readFile(file, "utf8")) as {
    Records: { s3: { object: Record<string, unknown> } }[];
  };
  const written = encodeURIComponent(as).replaceAll("%20", "+").replaceAll("%2F", "/");
  Object.assign(event.Records[0]?.s3.object ?? {}, {
    key: written,
    size: body.length,
    eTag: ETag.replaceAll('"', ""),
  });
  return event;
}

async function results(): Promise<Map<string, string>> {
  const { Contents = [] } = await client.send(
    new ListObjectsV2Command({ Bucket: "uploads", Prefix: "processed/" }),
  );
  return new Map(Contents.map(({ Key = "", ETag = "" }) => [Key, ETag]));
}

const needsServer = (context: { skip(note: string): never }): void => {
  if (missing !== undefined) context.skip(missing);
};

test("an uploaded log becomes Parquet and a summary, and the same event again changes nothing", async (context) => {
  needsServer(context);
  const event = await upload(log);
  const { processed } = await handler(event, { getRemainingTimeInMillis: () => 60_000 });
  const first = await results();
  expect([...first.keys()]).toEqual([
    "processed/_commits/000000000001.json",
    expect.stringMatching(
      /^processed\/gpu\/date=2026-01-15\/upload-[0-9a-f]{16}\.p0\.o0\.parquet$/,
    ),
    expect.stringMatching(/^processed\/series\/date=2026-01-15\/upload-/),
    expect.stringMatching(/^processed\/summaries\/upload-[0-9a-f]{16}\.json$/),
  ]);
  const hot = Array.from({ length: rows }, (_, at) => 40 + (at % 60)).filter(
    (celsius) => celsius > 85,
  ).length;
  expect(processed[0]).toMatchObject({
    source: { bucket: "uploads", key },
    host: "desk",
    gpu: { vendor: "nvidia", model: "GeForce RTX 4090" },
    rows,
    unusable: 1,
    start: new Date(logStartMs).toISOString(),
    seconds: rows - 1,
    metrics: { gpu_power_watts: { unit: "watts", count: rows, min: 0, max: 199.9 } },
    anomalies: { byTag: { high_gpu_temperature: hot, high_load: rows } },
  });
  expect(processed[0]?.metrics["gpu_power_watts"]?.avg).toBeCloseTo(99.95, 9);
  const summary = await client.send(
    new GetObjectCommand({ Bucket: "uploads", Key: [...first.keys()].at(-1) }),
  );
  expect(JSON.parse((await summary.Body?.transformToString()) ?? "")).toEqual(
    JSON.parse(JSON.stringify(processed[0])),
  );
  await handler(event);
  expect(await results()).toEqual(first);
});

test("a log that is uploaded again after it grew adds its new rows, and another log under its key all of them", async (context) => {
  needsServer(context);
  const { endpoint, region, owner } = s3;
  const lake = await openFiles(`s3://uploads/processed?endpoint=${endpoint}&region=${region}`, {
    AWS_ACCESS_KEY_ID: owner.accessKeyId,
    AWS_SECRET_ACCESS_KEY: owner.secretAccessKey,
  });
  const stored = async (): Promise<number> => {
    let count = 0;
    for (const { path: name, bytes } of await listLake(lake, "gpu"))
      count += (await openFile(lake, name, bytes)).rowCount;
    return count;
  };
  const lines = log.toString("latin1").split("\r\n");
  const part = (from: number, to: number): Buffer =>
    Buffer.from([lines[0], ...lines.slice(1 + from, 1 + to), ""].join("\r\n"), "latin1");
  const already = await stored();
  await handler(await upload(part(0, 600), "growing.txt"));
  await handler(await upload(part(0, 1_500), "growing.txt"));
  expect((await stored()) - already).toBe(1_500);
  await handler(await upload(part(1_500, 1_700), "growing.txt"));
  expect((await stored()) - already).toBe(1_700);
  lake.close();
});

test("its own results and what is no log are left alone", async (context) => {
  needsServer(context);
  const skipped = await upload(Buffer.from("x"), "photo.png");
  expect((await handler(skipped)).skipped).toEqual(["photo.png"]);
  const own = await upload(Buffer.from("Date"), "processed/_again.txt");
  expect((await handler(own)).skipped).toEqual(["processed/_again.txt"]);
});

test("what is no log, too large or denied fails with a code, and nothing is written", async (context) => {
  needsServer(context);
  const there = await results();
  await expect(handler(await upload(Buffer.from("hello\n"), "a.txt"))).rejects.toThrow(
    /^FILE_FORMAT: .*is not a GPU-Z sensor log/,
  );
  process.env["GPULSE_MAX_BYTES"] = "10";
  await expect(handler(await upload(log, "b.txt"))).rejects.toThrow(/raise GPULSE_MAX_BYTES/);
  delete process.env["GPULSE_MAX_BYTES"];
  const denied = await upload(log, "c.txt");
  be(s3.reader);
  await expect(handler(denied)).rejects.toThrow(/^FILES_DENIED: .*s3:ListBucket/);
  be(s3.owner);
  expect(await results()).toEqual(there);
});

test("a log goes on to a hub where one is named", async (context) => {
  needsServer(context);
  const hub = await startHub({ dataDir: path.join(folder, "hub") });
  try {
    process.env["GPULSE_HUB"] = hub.url;
    await handler(await upload(log, "hub.txt"));
    const query = `count_over_time(gpu_power_watts[1h])`;
    const at = logStartMs / 1_000 + rows;
    const answer = await fetch(
      `${hub.url}/api/v1/query?time=${at}&query=${encodeURIComponent(query)}`,
    );
    const { data } = (await answer.json()) as { data: { result: { value: [number, string] }[] } };
    expect(data.result.map(({ value }) => value[1])).toEqual([String(rows)]);
  } finally {
    delete process.env["GPULSE_HUB"];
    await hub.stop();
  }
});

test("pipe loads what the function made into InfluxDB, tags included", async (context) => {
  needsServer(context);
  const influx = await orSkip(context, startInfluxDb());
  try {
    await handler(await upload(log));
    await pipeAll(
      `s3://uploads/processed?endpoint=${s3.endpoint}&region=${s3.region}`,
      `${influx.url.replace("http", "influxdb")}/gpu?create=true&preset=gpuz`,
    );
    const [series] = await influx.query(
      "SELECT count(board_power), count(tags), max(cpu_temperature) FROM gpu_metrics WHERE host = 'desk'",
      "gpu",
    );
    expect(series?.values[0]?.slice(1)).toEqual([rows, rows, 67.5]);
  } finally {
    await influx.stop();
  }
});
