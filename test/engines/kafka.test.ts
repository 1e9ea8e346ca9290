import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { loadClient } from "../../src/net/kafka/client.ts";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type RunningKafka, startKafka } from "../../engines/kafka.ts";
import { EngineMissingError } from "../../engines/cache.ts";
import { freePort } from "../../engines/ports.ts";
import { waitUntil } from "../../engines/wait.ts";
import {
  ConsumerSession,
  frames,
  gpus,
  inOrder,
  keyOf,
  lines,
  readAll,
  sinkTo,
  sourceFrom,
  startMs,
  write,
} from "./kafka-lab.ts";

const consoleConsumer = "org.apache.kafka.tools.consumer.ConsoleConsumer";
const consoleProducer = "org.apache.kafka.tools.ConsoleProducer";

let missing: string | undefined;
let kafka: RunningKafka;
let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "gpulse-kafka-test-"));
  try {
    kafka = await startKafka({
      secure: true,
      settings: {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS",
        "allow.everyone.if.no.acl.found": "true",
        "group.min.session.timeout.ms": "1000",
      },
    });
  } catch (error) {
    if (!(error instanceof EngineMissingError)) throw error;
    missing = error.message;
  }
}, 300_000);
afterAll(async () => {
  if (missing === undefined) await kafka.stop();
  await rm(folder, { recursive: true, force: true });
});

const url = (topic: string, query = ""): string => `kafka://${kafka.bootstrap}/${topic}${query}`;
const needed = (context: { skip(note: string): never }): void => {
  if (missing !== undefined) context.skip(missing);
};

/** The output of Kafka's own consumer: headers, key and value of each message. */
async function consoleRead(topic: string, count: number): Promise<string[]> {
  const { stdout, stderr } = await kafka.tool(consoleConsumer, [
    "--bootstrap-server",
    kafka.bootstrap,
    "--topic",
    topic,
    "--from-beginning",
    "--max-messages",
    String(count),
    "--timeout-ms",
    "15000",
    "--property",
    "print.key=true",
    "--property",
    "print.headers=true",
  ]);
  const read = stdout.split("\n").filter((line) => line !== "");
  if (read.length !== count) throw new Error(`${read.length} of ${count} messages: ${stderr}`);
  return read;
}

test("frames come back as they went, in order for each GPU, as JSON and as frames", async (context) => {
  needed(context);
  for (const format of ["json", "frames"]) {
    const topic = `round-${format}`;
    await write(url(topic, `?create=true&partitions=4&format=${format}`), 300, gpus(5));
    const read = await readAll(url(topic, `?group=${format}`));
    expect(read).toHaveLength(1_500);
    expect(new Set(read.map(keyOf)).size).toBe(1_500);
    expect(inOrder(read)).toBe(true);
    expect(read.every(({ value, timeMs }) => value === ((timeMs - startMs) / 1_000) % 1_000)).toBe(
      true,
    );
    expect(read.every(({ uuid, tags }) => (uuid === "GPU-0") === (tags[0] === "high_power"))).toBe(
      true,
    );
    expect(new Set(read.map(({ host }) => host))).toEqual(new Set(["lab"]));
    for (const { uuid } of gpus(5))
      expect(
        new Set(read.filter((one) => one.uuid === uuid).map(({ partition }) => partition)).size,
      ).toBe(1);
    expect(await readAll(url(topic, `?group=${format}`))).toEqual([]);
  }
});

test("Kafka's own consumer reads every compression of ours, keyed by GPU", async (context) => {
  needed(context);
  const ours = ["none", "gzip", "snappy", "lz4"];
  for (const compression of ours)
    await write(url("ours", `?create=true&partitions=1&compression=${compression}`), 50, gpus(1));
  const read = await consoleRead("ours", 50 * ours.length);
  for (const line of read) {
    const [, key, value = ""] = line.split("\t");
    expect(key).toBe("GPU-0");
    expect(JSON.parse(value)).toMatchObject({ version: 1, host: "lab", gpu: { uuid: "GPU-0" } });
  }
});

test("every compression of Kafka's own producer is read", async (context) => {
  needed(context);
  const message = (at: number): string =>
    JSON.stringify({
      version: 1,
      time: new Date(startMs + at * 1_000).toISOString(),
      host: "lab",
      gpu: { uuid: "GPU-0", index: 0, vendor: "nvidia", model: "H200" },
      values: { gpu_power_watts: at },
    });
  const theirs = ["snappy", "lz4", "zstd"];
  await write(url("theirs", "?create=true&partitions=1"), 0, []);
  for (const [which, codec] of theirs.entries()) {
    const input = Array.from({ length: 40 }, (_, at) => message(which * 40 + at)).join("\n");
    const { code, stderr } = await kafka.tool(
      consoleProducer,
      ["--bootstrap-server", kafka.bootstrap, "--topic", "theirs", "--compression-codec", codec],
      `${input}\n`,
    );
    expect(code, stderr).toBe(0);
  }
  const read = await readAll(url("theirs"));
  expect(read.map(({ value }) => value)).toEqual(
    Array.from({ length: 40 * theirs.length }, (_, at) => at),
  );
});

/** An unsigned JSON Web Token, as accepted by Kafka's unsecured validator. */
function unsignedToken(lastsSeconds: number): string {
  const encoded = (part: unknown): string =>
    Buffer.from(JSON.stringify(part)).toString("base64url");
  const iat = Math.floor(Date.now() / 1_000) - 7_200;
  const claims = { sub: "gpulse", iat, exp: Math.floor(Date.now() / 1_000) + lastsSeconds };
  return `${encoded({ alg: "none" })}.${encoded(claims)}.`;
}

test("TLS and every login work, and a wrong one says what to check", async (context) => {
  needed(context);
  const { security } = kafka;
  if (security === undefined) throw new Error("the broker has no secure listeners");
  const { caFile, saslSsl, saslPlaintext, ssl, user, password } = security;
  const secret = path.join(folder, "password");
  await writeFile(secret, `${password}\n`);
  await write(url("secure", "?create=true&partitions=1"), 1, gpus(1));
  const login = `username=${user}&password=file:${secret}`;
  const { cert, key } = security.clientCertificate;
  const ways = [
    `${ssl}/secure?ca_file=${caFile}`,
    `${ssl}/secure?ca=${caFile}&cert=${cert}&key=${key}`,
    `${saslSsl}/secure?ca_file=${caFile}&sasl=plain&${login}`,
    `${saslSsl}/secure?ca_file=${caFile}&sasl=scram-sha-256&${login}`,
    `${saslPlaintext}/secure?sasl=scram-sha-512&${login}`,
  ];
  for (const [at, way] of ways.entries()) {
    await write(`kafka://${way}`, 1, gpus(1));
    expect(await readAll(`kafka://${way}&group=secure-${at}`)).toHaveLength(at + 2);
  }
  const wrong: [string, RegExp][] = [
    [`${saslSsl}/secure?ca_file=${caFile}&sasl=plain&username=${user}&password=wrong`, /login/],
    [`${saslPlaintext}/secure?sasl=scram-sha-512&username=${user}&password=wrong`, /login/],
    [`${ssl}/secure?tls=true`, /TLS failed.*ca_file=/],
  ];
  for (const [way, says] of wrong) {
    const failure: unknown = await sinkTo(`kafka://${way}`).catch((thrown: unknown) => thrown);
    expect(failure).toMatchObject({ code: "KAFKA_REFUSED" });
    expect(String(failure)).toMatch(says);
    expect(String(failure)).not.toContain(password);
  }
});

test("OAUTHBEARER logs in by a token of a file or of a token server, and a refused or missing one says what to check", async (context) => {
  needed(context);
  const { security } = kafka;
  if (security === undefined) throw new Error("the broker has no secure listeners");
  await write(url("tokens", "?create=true&partitions=1"), 1, gpus(1));
  const tokenFile = path.join(folder, "token");
  await writeFile(tokenFile, `${unsignedToken(3_600)}\n`);
  const secret = "client secret";
  let asked = 0;
  const server = createServer((request, response) => {
    asked++;
    const pair = Buffer.from(`gpulse:${encodeURIComponent(secret)}`).toString("base64");
    const isRight = request.headers.authorization === `Basic ${pair}`;
    response.writeHead(isRight ? 200 : 401, { "content-type": "application/json" });
    response.end(
      isRight ? JSON.stringify({ access_token: unsignedToken(3_600), expires_in: 3_600 }) : "{}",
    );
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  try {
    const broker = `${security.saslPlaintext}/tokens`;
    const grant = `token_url=http://127.0.0.1:${port}/token&oauth_client_id=gpulse`;
    const logins = [
      `${broker}?sasl=oauthbearer&token_file=${tokenFile}`,
      `${broker}?sasl=oauthbearer&${grant}&oauth_client_secret=${encodeURIComponent(secret)}`,
    ];
    for (const [at, login] of logins.entries()) {
      await write(`kafka://${login}`, 1, gpus(1));
      expect(await readAll(`kafka://${login}&group=tokens-${at}`)).toHaveLength(at + 2);
    }
    expect(asked).toBeGreaterThan(0);
    const expired = path.join(folder, "expired");
    await writeFile(expired, unsignedToken(-3_600));
    const wrong: [string, RegExp][] = [
      [`${broker}?sasl=oauthbearer&token_file=${expired}`, /login was refused.*expiry/],
      [
        `${broker}?sasl=oauthbearer&token_file=${folder}/nowhere&timeout=2s`,
        /no token.*token_file=/,
      ],
      [`${broker}?sasl=oauthbearer&${grant}&oauth_client_secret=wrong&timeout=2s`, /gave no token/],
    ];
    for (const [login, says] of wrong) {
      const failure: unknown = await sinkTo(`kafka://${login}`).catch((thrown: unknown) => thrown);
      expect(failure).toMatchObject({ code: "KAFKA_REFUSED" });
      expect(String(failure)).toMatch(says);
    }
  } finally {
    server.close();
  }
});

test("what may not be done, or is not there, is said at the start", async (context) => {
  needed(context);
  const { security } = kafka;
  if (security === undefined) throw new Error("the broker has no secure listeners");
  await write(url("closed", "?create=true&partitions=1"), 1, gpus(1));
  const client = await loadClient();
  const admin = new client.Admin({ clientId: "test", bootstrapBrokers: [kafka.bootstrap] });
  await admin.createAcls({
    creations: [
      {
        resourceType: client.ResourceTypes.TOPIC,
        resourceName: "closed",
        resourcePatternType: client.ResourcePatternTypes.LITERAL,
        principal: "User:somebody-else",
        host: "*",
        operation: client.AclOperations.ALL,
        permissionType: client.AclPermissionTypes.ALLOW,
      },
    ],
  });
  await admin.close();
  const login = `sasl=plain&username=${security.user}&password=${security.password}`;
  const nobody = await freePort();
  const cases: [string, string, RegExp][] = [
    [`kafka://${security.saslPlaintext}/closed?${login}`, "KAFKA_REFUSED", /may not do that/],
    [
      `kafka://127.0.0.1:${nobody}/x?timeout=1s`,
      "KAFKA_UNREACHABLE",
      /no broker answers.*Check that Kafka runs/,
    ],
  ];
  for (const [way, code, says] of cases) {
    for (const open of [sinkTo, sourceFrom]) {
      const failure: unknown = await open(way).catch((thrown: unknown) => thrown);
      expect(failure).toMatchObject({ code });
      expect(String(failure)).toMatch(says);
    }
  }
  const missingTopic = /there is no topic nowhere.*--to kafka:.*create=true/;
  await expect(sinkTo(url("nowhere"))).rejects.toThrow(missingTopic);
  await expect(sourceFrom(url("nowhere", "?until=end"))).rejects.toThrow(missingTopic);
});

test("a source waits for its topic, and says so", async (context) => {
  needed(context);
  const { log, said } = lines();
  const source = await sourceFrom(url("later", "?group=later"), log);
  const session = new ConsumerSession(source);
  await expect.poll(() => said.join(""), { timeout: 20_000 }).toContain("waiting for the topic");
  expect(source.unreadRecords?.()).toBeUndefined();
  await write(url("later", "?create=true&partitions=1"), 5, gpus(1));
  await expect.poll(() => session.seen.length, { timeout: 30_000 }).toBe(5);
  await session.stop();
});

test("what is no message goes to the dead letters with why, and nothing else is held up", async (context) => {
  needed(context);
  await write(url("poison", "?create=true&partitions=1"), 10, gpus(1));
  const { code } = await kafka.tool(
    consoleProducer,
    ["--bootstrap-server", kafka.bootstrap, "--topic", "poison"],
    `not a message\n{"version":7}\n`,
  );
  expect(code).toBe(0);
  await write(url("poison"), 10, gpus(1));
  const source = await sourceFrom(url("poison", "?until=end"));
  const reading = new ConsumerSession(source);
  const read = await reading.end();
  expect(read).toHaveLength(20);
  expect(source.lettersKept?.()).toBe(2);
  const letters = await consoleRead("poison.dead-letter", 2);
  expect(letters[0]).toMatch(/error:the message is not valid JSON/);
  expect(letters[0]).toMatch(/source-topic:poison,source-partition:0,source-offset:10/);
  expect(letters[0]).toMatch(/not a message$/);
  expect(letters[1]).toMatch(/version 7.*update/);
  // Read and committed, so they are not delivered again.
  expect(await readAll(url("poison"))).toEqual([]);
});

test("a second reader takes over a share, and all of it when the first is gone without a word", async (context) => {
  needed(context);
  const count = 400;
  const devices = gpus(12);
  await write(url("shared", "?create=true&partitions=6"), count, devices);
  const options = "?group=shared&session=2s";
  const first = new ConsumerSession(await sourceFrom(url("shared", options)), 100);
  await waitUntil(
    { what: "the first reader", timeoutMs: 20_000 },
    async () => first.seen.length > 500 || undefined,
  );
  const second = new ConsumerSession(await sourceFrom(url("shared", options)), 100);
  const make = frames(devices);
  const sink = await sinkTo(url("shared"));
  for (let at = count; at < 2 * count; at++) await sink.write(make(at));
  await sink.close();
  await waitUntil(
    { what: "a share", timeoutMs: 30_000 },
    async () => second.seen.length > 500 || undefined,
  );
  const half = await first.stop(false);
  // Only a reader of every partition receives all of these.
  const afterwards = 20;
  const later = await sinkTo(url("shared"));
  for (let at = 2 * count; at < 2 * count + afterwards; at++) await later.write(make(at));
  await later.close();
  await waitUntil({ what: "the rest", timeoutMs: 40_000 }, async () => {
    const keys = new Set([...half, ...second.seen].map(keyOf));
    return keys.size === (2 * count + afterwards) * devices.length || undefined;
  });
  const rest = await second.stop();
  const shares = [half, rest].map((one) => new Set(one.map(({ partition }) => partition)).size);
  expect(Math.min(...shares)).toBeGreaterThan(0);
  expect(await readAll(url("shared", "?group=shared"))).toEqual([]);
});

test("a broker killed in the middle loses nothing, and the writer and the reader go on", async (context) => {
  needed(context);
  const count = 1_500;
  const devices = gpus(4);
  const { log, said } = lines();
  const topic = "killed";
  const sink = await sinkTo(url(topic, "?create=true&partitions=3&linger=5ms"), log);
  const reading = new ConsumerSession(await sourceFrom(url(topic, "?session=6s"), log), 50);
  const make = frames(devices);
  for (let at = 0; at < count; at++) {
    await sink.write(make(at));
    if (at % 100 === 99) await sink.flush?.(new AbortController().signal);
    if (at === 700) {
      await kafka.kill();
      void kafka.restart();
    }
  }
  await sink.flush?.(new AbortController().signal);
  await sink.close();
  await waitUntil(
    { what: "everything to arrive", timeoutMs: 60_000 },
    async () => new Set(reading.seen.map(keyOf)).size === count * devices.length || undefined,
  );
  await reading.stop();
  // Resent after the kill, and stored once.
  const written = await readAll(url(topic, "?group=again"));
  expect(written).toHaveLength(count * devices.length);
  expect(inOrder(written)).toBe(true);
  expect(said.join("")).toContain("send failed, will retry");
});
