// Avro messages through a real Kafka and a real schema registry: written by gpulse and read by Confluent's own client,
// and the reverse.

import { readFile } from "node:fs/promises";
import http from "node:http";
import https from "node:https";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test, type TestContext } from "vitest";
import { orSkip } from "../../engines/cache.ts";
import { makeAuthority, writeCertificate } from "../../engines/certificates.ts";
import { type RunningKafka, startKafka } from "../../engines/kafka.ts";
import { runProcess } from "../../engines/process.ts";
import { ensureBuild, runGpulse } from "../../engines/program.ts";
import { type PythonPackages, pythonPackages } from "../../engines/python.ts";
import { type RunningSchemaRegistry, startSchemaRegistry } from "../../engines/schema-registry.ts";
import {
  ConsumerSession,
  gpus,
  keyOf,
  lines,
  readAll,
  sinkTo,
  sourceFrom,
  startMs,
  write,
} from "./kafka-lab.ts";
import { waitUntil } from "../../engines/wait.ts";

const cleanups: (() => Promise<unknown>)[] = [];
beforeAll(ensureBuild, 300_000);
afterAll(async () => {
  for (const cleanup of cleanups.reverse()) await cleanup();
}, 120_000);

interface Engines {
  readonly kafka: RunningKafka;
  readonly registry: RunningSchemaRegistry;
}

let started: Promise<Engines> | undefined;
async function engines(context: TestContext): Promise<Engines> {
  started ??= (async () => {
    const kafka = await startKafka();
    cleanups.push(() => kafka.stop());
    const registry = await startSchemaRegistry();
    cleanups.push(() => registry.stop());
    await confluent();
    return { kafka, registry };
  })();
  return orSkip(context, started);
}

const confluent = (): Promise<PythonPackages> =>
  pythonPackages("confluent-kafka", ["confluent-kafka[avro,schemaregistry]==2.11.0"]);

const python = async (script: string, args: readonly string[]): Promise<string> => {
  const { python: program } = await confluent();
  const done = await runProcess(program, ["-c", script, ...args], { timeoutMs: 60_000 });
  if (done.code !== 0) throw new Error(done.stderr);
  return done.stdout;
};

const readScript = `
import json, sys
from confluent_kafka import Consumer
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroDeserializer
from confluent_kafka.serialization import MessageField, SerializationContext
broker, registry, topic, count = sys.argv[1:]
decode = AvroDeserializer(SchemaRegistryClient({"url": registry}))
consumer = Consumer({"bootstrap.servers": broker, "group.id": "python", "auto.offset.reset": "earliest"})
consumer.subscribe([topic])
for at in range(int(count)):
    message = consumer.poll(30)
    value = decode(message.value(), SerializationContext(topic, MessageField.VALUE))
    value["values"] = {name: one for name, one in value["values"].items() if one is not None}
    print(json.dumps({"key": message.key().decode(), **value}, default=str))
`;

test("Confluent's client reads what was written in Avro, every field as in the JSON message", async (context) => {
  const { kafka, registry } = await engines(context);
  const url = `kafka://${kafka.bootstrap}/avro`;
  await write(`${url}?create=true&format=avro&registry=${registry.url}`, 50, gpus(3));
  const stdout = await python(readScript, [kafka.bootstrap, registry.url, "avro", "150"]);
  const read = stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, unknown>);
  const at = (uuid: string, second: number): unknown =>
    read.find(
      ({ key, time }) => key === uuid && Date.parse(String(time)) === startMs + second * 1_000,
    );
  expect(read.length).toBe(150);
  expect(at("GPU-0", 7)).toEqual({
    key: "GPU-0",
    version: 1,
    time: expect.stringContaining("2026-01-01 00:00:07") as unknown,
    host: "lab",
    gpu: {
      uuid: "GPU-0",
      index: 0,
      simulated: true,
      vendor: "nvidia",
      model: "H200",
      pci_bus_id: null,
      driver: null,
      vbios: null,
      link_type: null,
      parent: null,
    },
    values: { gpu_power_watts: 7 },
    absent: {},
    other: [],
    tags: ["high_power"],
  });
  const ours = await readAll(`${url}?group=ours&registry=${registry.url}`);
  expect(ours.length).toBe(150);
  expect(new Set(ours.map(keyOf)).size).toBe(150);
  for (const { timeMs, value, host, tags, uuid } of ours) {
    expect(value).toBe((timeMs - startMs) / 1_000);
    expect([host, tags]).toEqual(["lab", uuid === "GPU-0" ? ["high_power"] : []]);
  }
}, 300_000);

const writeScript = `
import datetime, json, sys
from confluent_kafka import Producer
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient
from confluent_kafka.schema_registry.avro import AvroSerializer
from confluent_kafka.serialization import MessageField, SerializationContext
broker, registry, topic, own = sys.argv[1:]
client = SchemaRegistryClient({"url": registry})
producer = Producer({"bootstrap.servers": broker})
time = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)
gpu = {"uuid": "GPU-0", "index": 0, "vendor": "nvidia", "model": "H200"}
whole = {"version": 1, "time": time, "host": "python", "gpu": gpu, "values": {"gpu_power_watts": 1.5}}
small = json.dumps({"type": "record", "name": "Other", "fields": [
  {"name": "version", "type": "long"},
  {"name": "time", "type": {"type": "long", "logicalType": "timestamp-micros"}},
  {"name": "host", "type": ["string", "null"]},
  {"name": "site", "type": {"type": "enum", "name": "Site", "symbols": ["here", "there"]}},
  {"name": "gpu", "type": {"type": "map", "values": ["string", "int"]}},
  {"name": "values", "type": {"type": "map", "values": ["float", "null"]}}]})
for schema, value in [(own, whole), (small, {**whole, "site": "there", "values": {"gpu_power_watts": 2.5, "gpu_fan_rpm_1": None}})]:
    encode = AvroSerializer(client, schema, conf={"auto.register.schemas": True})
    context = SerializationContext(topic + "-" + str(len(schema)), MessageField.VALUE)
    producer.produce(topic, key=b"GPU-0", value=encode(value, context))
protobuf = client.register_schema("p-value", Schema('syntax = "proto3"; message P { int32 a = 1; }', "PROTOBUF"))
for identity, body in [(protobuf, b"x"), (12345, b"x")]:
    producer.produce(topic, key=b"GPU-0", value=b"\\0" + identity.to_bytes(4, "big") + body)
producer.flush()
`;

test("what Confluent's client wrote is read by its schema, and what is no Avro is a dead letter", async (context) => {
  const { kafka, registry } = await engines(context);
  const topic = "python";
  await write(`kafka://${kafka.bootstrap}/${topic}?create=true&partitions=1`, 1, gpus(1));
  const own = await readFile(
    new URL("../../docs/reference/kafka-message.avsc", import.meta.url),
    "utf8",
  );
  await python(writeScript, [kafka.bootstrap, registry.url, topic, own]);
  const { log, said } = lines();
  const url = `kafka://${kafka.bootstrap}/${topic}?group=ours&registry=${registry.url}`;
  const read = await readAll(url, log);
  // JSON and Avro messages may be mixed in one topic.
  expect(read.map(({ host, value }) => [host, value])).toEqual([
    ["lab", 0],
    ["python", 1.5],
    ["python", 2.5],
  ]);
  expect(read.map(({ timeMs }) => timeMs)).toEqual([startMs, startMs, startMs]);
  expect(said.join("")).toMatch(/schema \d+ is PROTOBUF, and only Avro is read/);
  expect(said.join("")).toMatch(/has no schema 12345/);
  const without = lines();
  expect((await readAll(`kafka://${kafka.bootstrap}/${topic}?group=w`, without.log)).length).toBe(
    1,
  );
  expect(without.said.join("")).toMatch(/of a schema registry: name it with registry=/);
});

test("a registry that stops answering is waited for, and nothing is skipped", async (context) => {
  const { kafka, registry } = await engines(context);
  const options = `registry=${registry.url}&registry_timeout=500ms`;
  const url = `kafka://${kafka.bootstrap}/frozen`;
  await write(`${url}?create=true&format=avro&${options}`, 20, gpus(2));
  registry.freeze();
  const { log, said } = lines();
  const session = new ConsumerSession(await sourceFrom(`${url}?group=f&${options}`, log));
  try {
    await waitUntil({ what: "the log", timeoutMs: 60_000 }, async () =>
      said.some((line) => line.includes("waiting for the schema registry")) ? true : undefined,
    );
    await sleep(1_000);
    expect(session.seen).toEqual([]);
  } finally {
    registry.thaw();
  }
  await expect.poll(() => session.seen.length).toBe(40);
  await session.stop();
});

test("a wrong login, an unknown or incompatible schema and a silent registry each say what to do", async (context) => {
  const { kafka, registry } = await engines(context);
  const authority = makeAuthority("registry CA");
  const folder = kafka.dataDir;
  writeCertificate(folder, "registry-ca", { cert: authority.cert, key: "" });
  const certificate = authority.issue({ commonName: "registry", names: ["127.0.0.1"] });
  // The registry's own authentication needs a Keycloak, so a gateway in front of it checks the credentials, as in many
  // deployments.
  const login = `Basic ${Buffer.from("gpulse:pass word").toString("base64")}`;
  const gateway = https.createServer(certificate, (request, response) => {
    if (![login, "Bearer t0ken"].includes(request.headers.authorization ?? ""))
      return void response.writeHead(401).end();
    const { method, headers } = request;
    const inner = http.request(registry.url.replace(/\/apis.*/, request.url ?? ""), {
      method,
      headers,
    });
    inner.on("response", (answer) => {
      response.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(response);
    });
    request.pipe(inner);
  });
  await new Promise<void>((resolve) => gateway.listen(0, "127.0.0.1", resolve));
  cleanups.push(async () => {
    gateway.close();
  });
  const secure = `https://127.0.0.1:${(gateway.address() as AddressInfo).port}/apis/ccompat/v7`;
  const ca = `registry_ca_file=${folder}/registry-ca.pem`;
  const url = `kafka://${kafka.bootstrap}/logins?format=avro&timeout=2s&create=true`;
  const login1 = "registry_username=gpulse&registry_password=pass%20word";
  const close = async (more: string): Promise<void> => (await sinkTo(`${url}&${more}`)).close();
  await close(`registry=${secure}&${ca}&${login1}`);
  await close(`registry=${secure}&${ca}&registry_token=t0ken`);

  const send = (method: "POST" | "PUT", place: string, body: unknown): Promise<Response> =>
    fetch(`${registry.url}/${place}`, {
      method,
      headers: { "content-type": "application/vnd.schemaregistry.v1+json" },
      body: JSON.stringify(body),
    });
  const other = {
    type: "record",
    name: "GpuMessage",
    namespace: "gpulse",
    fields: [{ name: "x", type: "int" }],
  };
  expect(
    (await send("POST", "subjects/taken/versions", { schema: JSON.stringify(other) })).status,
  ).toBe(200);
  expect((await send("PUT", "config/taken", { compatibility: "BACKWARD" })).status).toBe(200);
  const plain = `registry=${registry.url}`;
  const cases: readonly (readonly [more: string, says: RegExp])[] = [
    [
      `registry=${secure}&${ca}&registry_username=gpulse&registry_password=hunter2`,
      /refuses the login \(401\).*registry_password=/,
    ],
    [`registry=${secure}&${login1}`, /does not respond.*registry_ca_file=/],
    ["registry=http://127.0.0.1:1", /does not respond.*Check registry=/],
    [
      `registry=${registry.url.replace("/apis/ccompat/v7", "/nothing")}`,
      /returned 404|not respond like a schema registry/,
    ],
    [`${plain}&subject=taken`, /not compatible with an earlier one/],
    [
      `${plain}&subject=nobody&register=false`,
      /no such schema for the subject nobody.*register=true/,
    ],
    ["", /format=avro and registry= must be used together/],
    [`registry=http://me:hunter2@h:1`, /has a user in it/],
    [`${plain}&registry_username=me`, /belong together/],
  ];
  for (const [more, says] of cases) {
    const failure = await close(more).then(
      () => "it was opened",
      (thrown: unknown) => String(thrown),
    );
    expect(failure, more).toMatch(says);
    expect(failure).not.toContain("hunter2");
  }
  // A schema registered by an administrator is used.
  await close(`${plain}&subject=logins-value&register=false`);

  const source = `kafka://${kafka.bootstrap}/logins?group=g&until=end&registry=${secure}&${ca}&registry_token=wrong`;
  await write(`${url}&${plain}`, 1, gpus(1));
  const done = await runGpulse(["pipe", "--from", source, "--to", "stdout:"]);
  expect(done.code, done.stderr).toBe(1);
  expect(done.stderr).toMatch(/SCHEMA_REGISTRY|refuses the login \(401\)/);
});
