// The lake on real servers: a bucket and HDFS store files like a folder, report errors, and a lake written there can be
// read.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { CreateBucketCommand, S3Client } from "@aws-sdk/client-s3";
import { afterAll, describe, expect, test, type TestContext } from "vitest";

import { type RunningHdfs, startHdfs } from "../../engines/hdfs.ts";
import { orSkip } from "../../engines/cache.ts";
import { type RunningS3, startS3 } from "../../engines/s3.ts";
import { fileStoreConformance } from "../fixtures/net/object-store-suite.ts";
import { FolderFiles } from "../../src/net/objects/folder.ts";
import { openFiles } from "../../src/net/objects/open.ts";
import type { FileStore } from "../../src/net/objects/store.ts";
import { Lake } from "../../src/lake/lake.ts";
import { createLog } from "../../src/base/log.ts";
import { gpu } from "../../src/model/catalogue/index.ts";
import { FrameWriter } from "../../src/model/frame.ts";
import { labelSet } from "../../src/model/labels.ts";
import { LayoutBuilder } from "../../src/model/layout.ts";
import { LakeSource } from "../../src/sources/parquet/source.ts";

const log = createLog({
  level: "error",
  json: false,
  colour: false,
  nowMs: () => 0,
  write: () => {},
});
const signal = new AbortController().signal;
const day = Date.UTC(2026, 0, 15);
const stops: (() => Promise<void>)[] = [];
afterAll(async () => {
  for (const stop of stops) await stop();
});

let s3Started: Promise<RunningS3> | undefined;
async function bucket(
  context: TestContext,
  keys: "owner" | "reader" = "owner",
): Promise<FileStore> {
  const server = await orSkip(context, (s3Started ??= startBucket()));
  return openFiles(`s3://metrics/some/prefix?endpoint=${server.endpoint}`, envOf(server[keys]));
}

async function startBucket(): Promise<RunningS3> {
  const server = await startS3();
  stops.push(() => server.stop());
  const { endpoint, region, owner: credentials } = server;
  const client = new S3Client({ endpoint, region, credentials, forcePathStyle: true });
  await client.send(new CreateBucketCommand({ Bucket: "metrics" }));
  client.destroy();
  return server;
}

const envOf = (keys: { accessKeyId: string; secretAccessKey: string }) => ({
  AWS_ACCESS_KEY_ID: keys.accessKeyId,
  AWS_SECRET_ACCESS_KEY: keys.secretAccessKey,
});

let hdfsStarted: Promise<RunningHdfs> | undefined;
async function hdfs(context: TestContext, user?: string): Promise<FileStore> {
  const server = await orSkip(
    context,
    (hdfsStarted ??= startHdfs().then((one) => (stops.push(() => one.stop()), one))),
  );
  return openFiles(`webhdfs://${server.web}/lakes/one?user=${user ?? server.user}`, {});
}

describe("a bucket", () => {
  fileStoreConformance(bucket);
});
describe("HDFS", () => {
  fileStoreConformance(hdfs);
});

test("a bucket that is denied, is not there, or whose server is away, each says what to do", async (context) => {
  const reader = await bucket(context, "reader");
  await expect(reader.write("x", Buffer.from("1"))).rejects.toMatchObject({
    code: "FILES_DENIED",
    retryable: false,
    message: expect.stringContaining("s3:ListBucket") as unknown,
  });
  const server = await (s3Started ?? startBucket());
  const open = (address: string, keys = server.owner) => openFiles(address, envOf(keys));
  const other = await open(`s3://nobody/x?endpoint=${server.endpoint}`);
  await expect(other.write("x", Buffer.from("1"))).rejects.toMatchObject({
    code: "FILES_MISSING",
    message: expect.stringContaining('no bucket "nobody"') as unknown,
  });
  const wrong = await open(`s3://metrics/x?endpoint=${server.endpoint}`, {
    ...server.owner,
    secretAccessKey: "wrong",
  });
  await expect(wrong.list("")).rejects.toMatchObject({
    code: "FILES_DENIED",
    message: expect.stringMatching(/credentials are wrong.*AWS_SECRET_ACCESS_KEY/) as unknown,
  });
  const away = await open("s3://metrics/x?endpoint=http://127.0.0.1:1");
  await expect(away.list("")).rejects.toMatchObject({ code: "FILES_UNREACHABLE", retryable: true });
});

test("a file over the size of one part goes up in parts and comes back bit for bit", async (context) => {
  const files = await bucket(context);
  const bytes = Buffer.alloc(70 * 2 ** 20);
  for (let at = 0; at < bytes.length; at += 4_096) bytes.writeUInt32LE(at, at);
  await files.write("huge", bytes);
  expect(Buffer.compare(await files.read("huge"), bytes)).toBe(0);
  await files.remove("huge");
});

test("a user who may not write to HDFS is told so", async (context) => {
  const files = await hdfs(context, "nobody");
  await expect(files.write("x", Buffer.from("1"))).rejects.toMatchObject({
    code: "FILES_DENIED",
    message: expect.stringContaining("user=NAME") as unknown,
  });
});

function lakeOn(files: FileStore, more: { readonly mirror?: FileStore } = {}): Lake {
  return new Lake({
    files,
    name: "h",
    version: "0.0.0-test",
    log,
    // Both days are over, so even two small files are merged.
    nowMs: () => day + 2 * 86_400_000,
    random: Math.random,
    merge: "all",
    ...more,
  });
}

async function fill(lake: Lake, rows: number): Promise<void> {
  const builder = new LayoutBuilder();
  builder.add(gpu.power, labelSet({ uuid: "A", gpu: "0", host: "far" }));
  const layout = builder.build();
  for (let at = 0; at < rows; at++) {
    const writer = new FrameWriter(layout, day + (at - 5) * 1_000);
    writer.set(0, at);
    const frame = { frame: writer.finish(), devices: [], host: "far" };
    await lake.take(frame, { log: "t", partition: 0, offset: at }, signal);
    if (at % 3 === 2) await lake.flush(signal);
  }
}

async function readBack(files: FileStore): Promise<number[]> {
  const found: number[] = [];
  const source = new LakeSource(files, undefined, { series: true, tags: true });
  await source.run(async ({ values }) => void found.push(values[0] ?? -1), signal);
  return found;
}

test.for([
  ["a bucket", (context: TestContext) => bucket(context)],
  ["HDFS", (context: TestContext) => hdfs(context)],
] as const)(
  "a lake on %s is written, resumed, merged and read back, each row once",
  async ([, open], context) => {
    const rows = Array.from({ length: 40 }, (__, at) => at);
    // A process that exits without closing leaves its small files and an offset.
    await fill(lakeOn(await open(context)), 20);
    const second = lakeOn(await open(context));
    await fill(second, 40);
    await second.close(signal);
    const files = await open(context);
    expect(await readBack(files)).toEqual(rows);
    expect((await files.list("gpu/")).length).toBeLessThan(4);
  },
);

test("a folder is mirrored to a bucket and to HDFS, and the copies read the same", async (context) => {
  const folder = await mkdtemp(path.join(tmpdir(), "gpulse-mirror-"));
  stops.push(() => rm(folder, { recursive: true }));
  for (const open of [bucket, hdfs]) {
    const target = await open(context);
    for (const { path: name } of await target.list("")) await target.remove(name);
    const lake = lakeOn(new FolderFiles(folder), { mirror: target });
    await fill(lake, 12);
    await lake.close(signal);
    expect(await readBack(await open(context))).toEqual(Array.from({ length: 12 }, (_, at) => at));
  }
});

test("HDFS that is killed is waited for: nothing is acknowledged meanwhile, everything after", async (context) => {
  const lake = lakeOn(await hdfs(context));
  const server = await (hdfsStarted ?? startHdfs());
  const files = await hdfs(context);
  for (const { path: name } of await files.list("")) await files.remove(name);
  await server.kill();
  let acknowledged = false;
  const filling = fill(lake, 3).then(() => (acknowledged = true));
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  expect(acknowledged).toBe(false);
  await server.restart();
  await filling;
  expect(await readBack(files)).toEqual([0, 1, 2]);
});
