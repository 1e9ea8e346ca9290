// Each engine used in stream and lake tests starts on its own and completes one round trip.

import { mkdtemp, readFile, rm } from "node:fs/promises";
import { request } from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";

import {
  CreateBucketCommand,
  GetObjectCommand,
  PutObjectCommand,
  S3Client,
} from "@aws-sdk/client-s3";
import {
  Admin,
  Consumer,
  Producer,
  stringDeserializers,
  stringSerializers,
} from "@platformatic/kafka";
import { expect, test } from "vitest";

import { startHdfs } from "../../engines/hdfs.ts";
import { startInfluxDb } from "../../engines/influxdb.ts";
import { startKafka } from "../../engines/kafka.ts";
import { orSkip } from "../../engines/cache.ts";
import { runProcess } from "../../engines/process.ts";
import { type S3Keys, startS3 } from "../../engines/s3.ts";
import { findSpark } from "../../engines/spark.ts";

const INSTALL_TIMEOUT_MS = 600_000;

test(
  "Kafka keeps what was produced through a kill, behind TLS and a password too",
  { timeout: INSTALL_TIMEOUT_MS },
  async (context) => {
    const kafka = await orSkip(context, startKafka({ secure: true }));
    const { security } = kafka;
    if (security === undefined) throw new Error("BUG: asked for a secure Kafka");
    const plain = { clientId: "test", bootstrapBrokers: [kafka.bootstrap] };
    const admin = new Admin(plain);
    await admin.createTopics({ topics: ["round-trip"], partitions: 2, replicas: 1 });
    await admin.close();
    const producer = new Producer({ ...plain, serializers: stringSerializers });
    await producer.send({ messages: [{ topic: "round-trip", key: "a", value: "kept" }] });
    await producer.close();
    await kafka.restart();
    const ca = await readFile(security.caFile);
    const consumer = new Consumer({
      clientId: "test",
      groupId: "round-trip",
      bootstrapBrokers: [security.saslSsl],
      tls: { ca },
      sasl: {
        mechanism: "SCRAM-SHA-256",
        username: security.user,
        password: security.password,
      },
      deserializers: stringDeserializers,
    });
    const stream = await consumer.consume({ topics: ["round-trip"], mode: "earliest" });
    for await (const message of stream) {
      expect([message.key, message.value]).toEqual(["a", "kept"]);
      break;
    }
    await Promise.resolve(consumer.close(true));
    await kafka.stop();
  },
);

/** Node's fetch does not support the unrequested "100 Continue" of a DataNode. */
async function put(url: string, body: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method: "PUT" }, (response) => {
      response.resume().once("end", () => resolve(response.statusCode));
    });
    sent.once("error", reject);
    sent.end(body);
  });
}

test(
  "HDFS keeps a file through a kill, and denies who may not write",
  { timeout: INSTALL_TIMEOUT_MS },
  async (context) => {
    const hdfs = await orSkip(context, startHdfs());
    const ask = (file: string, op: string, user: string): string =>
      `http://${hdfs.web}/webhdfs/v1/${file}?op=${op}&user.name=${user}`;
    const create = `${ask("lake/a", "CREATE", hdfs.user)}&noredirect=true`;
    const { Location } = (await (await fetch(create, { method: "PUT" })).json()) as {
      readonly Location: string;
    };
    expect(await put(Location, "kept")).toBe(201);
    const denied = await fetch(ask("b", "MKDIRS", "somebody"), { method: "PUT" });
    expect(denied.status).toBe(403);
    await hdfs.restart();
    expect(await (await fetch(ask("lake/a", "OPEN", hdfs.user))).text()).toBe("kept");
    await hdfs.stop();
  },
);

test("InfluxDB keeps a point through a kill, and asks for the password", async (context) => {
  const influx = await orSkip(context, startInfluxDb({ auth: true }));
  await influx.query("CREATE DATABASE gpu");
  const write = async (password: string): Promise<number> => {
    const url = `${influx.url}/write?db=gpu&precision=ms&u=${influx.user}&p=${password}`;
    return (await fetch(url, { method: "POST", body: "power,gpu=a watts=7 1000" })).status;
  };
  expect([await write("wrong"), await write(influx.password)]).toEqual([401, 204]);
  await influx.restart();
  expect(await influx.query("SELECT watts FROM power", "gpu")).toEqual([
    { name: "power", columns: ["time", "watts"], values: [[1000, 7]] },
  ]);
  await influx.stop();
});

test(
  "S3 gives back an object, writes once where asked, and says who may not",
  { timeout: INSTALL_TIMEOUT_MS },
  async (context) => {
    const s3 = await orSkip(context, startS3());
    const as = (credentials: S3Keys): S3Client =>
      new S3Client({
        endpoint: s3.endpoint,
        region: s3.region,
        credentials,
        forcePathStyle: true,
        maxAttempts: 1,
      });
    const object = { Bucket: "lake", Key: "gpu/date=2026-01-01/a b.parquet" };
    const write = async (keys: S3Keys, bucket = "lake"): Promise<string> => {
      const command = new PutObjectCommand({
        ...object,
        Bucket: bucket,
        Body: "kept",
        IfNoneMatch: "*",
      });
      return as(keys)
        .send(command)
        .then(
          () => "written",
          (error: unknown) => (error instanceof Error ? error.name : "?"),
        );
    };
    await as(s3.owner).send(new CreateBucketCommand({ Bucket: "lake" }));
    expect(await write(s3.owner)).toBe("written");
    expect(await write(s3.owner)).toBe("PreconditionFailed");
    expect(await write(s3.owner, "elsewhere")).toBe("NoSuchBucket");
    expect(await write(s3.reader)).toBe("AccessDenied");
    expect(await write({ ...s3.owner, secretAccessKey: "x" })).toBe("SignatureDoesNotMatch");
    const back = await as(s3.reader).send(new GetObjectCommand(object));
    expect(await back.Body?.transformToString()).toBe("kept");
    await s3.stop();
  },
);

test("Spark answers a query", { timeout: INSTALL_TIMEOUT_MS }, async (context) => {
  const spark = await orSkip(context, findSpark());
  const cwd = await mkdtemp(path.join(tmpdir(), "gpulse-spark-"));
  const args = ["--master", "local[1]", "--conf", "spark.ui.enabled=false", "-e", "SELECT 6 * 7"];
  const done = await runProcess(spark.sparkSql, args, { cwd, env: spark.env, timeoutMs: 180_000 });
  await rm(cwd, { recursive: true, force: true });
  expect(`${done.stdout}\n${done.code === 0 ? "" : done.stderr}`.trim()).toBe("42");
});
