// A lake from a real Kafka has every message once, whatever joins, leaves or is killed, including aborted transactions
// and a topic that is recreated. Counted by third-party readers.

import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test, type TestContext } from "vitest";
import { orSkip } from "../../engines/cache.ts";
import { type RunningKafka, startKafka } from "../../engines/kafka.ts";
import type { RunningProcess } from "../../engines/process.ts";
import { ensureBuild } from "../../engines/program.ts";
import { waitUntil } from "../../engines/wait.ts";
import { closeQuietly, loadClient } from "../../src/net/kafka/client.ts";
import type { Device } from "../../src/model/device.ts";
import { gpus, write } from "./kafka-lab.ts";
import { countByDuckDb, countByPyarrow, hasBoundsForPyarrow } from "./lake-once-lab.ts";
import { killNow, offsetsOf, startGpulse } from "./stream-lab.ts";

const cleanups: (() => Promise<unknown>)[] = [];
beforeAll(ensureBuild, 300_000);
afterAll(async () => {
  for (const cleanup of cleanups.reverse()) await cleanup();
}, 120_000);

let started: Promise<RunningKafka> | undefined;
async function kafkaFor(context: TestContext): Promise<RunningKafka> {
  if (started === undefined) {
    started = startKafka({ settings: { "group.min.session.timeout.ms": "1000" } });
    void started.then((kafka) => cleanups.push(() => kafka.stop())).catch(() => undefined);
  }
  return orSkip(context, started);
}

async function lakeFolder(): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), "gpulse-lake-once-"));
  cleanups.push(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

async function runToEnd(
  kafka: RunningKafka,
  topic: string,
  lake: string,
  more = "",
): Promise<void> {
  const from = `kafka://${kafka.bootstrap}/${topic}?group=lake&until=end&session=4s`;
  const running = startGpulse(["pipe", "--from", from, "--to", `parquet:${lake}${more}`]);
  cleanups.push(() => running.stop());
  expect((await running.waitForExit(120_000)).code, running.output()).toBe(0);
}

const gpuNamed = (uuid: string): Device[] => gpus(1).map((device) => ({ ...device, uuid }));

/** On a busy machine a consumer may not even handle signals yet when the others have read everything. */
async function stopJoined(one: RunningProcess): Promise<void> {
  await one.waitForOutput(/reading partitions/, 120_000);
  expect((await one.stop(60_000)).code, one.output()).toBe(0);
}

async function filesOf(lake: string): Promise<readonly string[]> {
  const found = await readdir(path.join(lake, "gpu"), { recursive: true });
  return found.filter((name) => name.endsWith(".parquet"));
}

test("consumers that join, leave and are killed while they catch up store every message once", async (context) => {
  const kafka = await kafkaFor(context);
  const lake = await lakeFolder();
  const topic = "scaled";
  const [count, devices] = [4_000, gpus(12)];
  await write(`kafka://${kafka.bootstrap}/${topic}?create=true&partitions=6`, count, devices);
  const running: RunningProcess[] = [];
  const start = (): RunningProcess => {
    const from = `kafka://${kafka.bootstrap}/${topic}?group=lake&session=4s&timeout=60s`;
    const to = `parquet:${lake}?roll=1s&merge=none`;
    const made = startGpulse(["pipe", "--checkpoint-frames", "3000", "--from", from, "--to", to]);
    cleanups.push(() => made.stop());
    running.push(made);
    return made;
  };
  const committed = async (): Promise<number> => {
    const { committed: done } = await offsetsOf(kafka.bootstrap, topic, "lake");
    return done.reduce((sum, one) => sum + one, 0);
  };
  const reach = (share: number): Promise<unknown> =>
    waitUntil({ what: `${share} of the topic`, timeoutMs: 120_000 }, async () =>
      (await committed()) >= share * count * devices.length ? true : undefined,
    );
  const first = start();
  await reach(0.05);
  const second = start();
  await sleep(1_500);
  start();
  await reach(0.3);
  await killNow(second);
  start();
  await sleep(1_000);
  await killNow(first);
  await reach(1);
  for (const one of running) if (one.exited() === undefined) await stopJoined(one);
  const expected = { rows: count * devices.length, different: count * devices.length };
  expect(await countByDuckDb(lake)).toEqual(expected);
  expect(await orSkip(context, countByPyarrow(lake))).toEqual(expected);
}, 300_000);

test("scaled from 1 to 2 to 3 to 2 while catching up, consumers hand every message to a sink without keys once", async (context) => {
  const kafka = await kafkaFor(context);
  const lake = await lakeFolder();
  const topic = "rebalanced";
  const [count, devices] = [2_000, gpus(12)];
  await write(`kafka://${kafka.bootstrap}/${topic}?create=true&partitions=6`, count, devices);
  const running: RunningProcess[] = [];
  const start = (): RunningProcess => {
    const from = `kafka://${kafka.bootstrap}/${topic}?group=plain&session=4s&timeout=60s`;
    const copy = `kafka://${kafka.bootstrap}/${topic}-copy?create=true&partitions=1`;
    const sinks = ["--to", copy, "--to", `parquet:${lake}?merge=none`];
    // Checkpoints are far apart: only the commit during a rebalance prevents messages from being read twice.
    const made = startGpulse(["pipe", "--checkpoint-frames", "8000", "--from", from, ...sinks]);
    cleanups.push(() => made.stop());
    running.push(made);
    return made;
  };
  const copied = async (): Promise<number> =>
    (await offsetsOf(kafka.bootstrap, `${topic}-copy`, "none").catch(() => undefined))?.ends[0] ??
    0;
  const reach = (share: number): Promise<unknown> =>
    waitUntil({ what: `${share} of the topic`, timeoutMs: 120_000 }, async () =>
      (await copied()) >= share * count * devices.length ? true : undefined,
    );
  const first = start();
  await reach(0.02);
  const second = start();
  // How far the first gets before the others have joined depends on the machine.
  await waitUntil({ what: "the first to hand over a share", timeoutMs: 120_000 }, async () =>
    /gave up partitions .*committed=true/.test(first.output()) ? true : undefined,
  );
  await reach(0.2);
  const third = start();
  await reach(0.5);
  expect((await first.stop(60_000)).code, first.output()).toBe(0);
  await reach(1);
  for (const one of [second, third]) await stopJoined(one);
  const sent = count * devices.length;
  expect(await copied()).toBe(sent);
  expect(await countByDuckDb(lake)).toEqual({ rows: sent, different: sent });
  const { committed, ends } = await offsetsOf(kafka.bootstrap, topic, "plain");
  expect(committed).toEqual(ends);
  for (const one of running) expect(one.output()).not.toContain("committed=false");
}, 300_000);

test("messages that are none begin no new file", async (context) => {
  const kafka = await kafkaFor(context);
  const lake = await lakeFolder();
  const topic = "bad-messages";
  const url = `kafka://${kafka.bootstrap}/${topic}`;
  for (let lot = 0; lot < 4; lot++) {
    await write(`${url}?create=true&partitions=1`, 20, gpuNamed(`GPU-${lot}`));
    const { code, stderr } = await kafka.tool(
      "org.apache.kafka.tools.ConsoleProducer",
      ["--bootstrap-server", kafka.bootstrap, "--topic", topic],
      "not a message\n",
    );
    expect(code, stderr).toBe(0);
  }
  await runToEnd(kafka, topic, lake, "?merge=none");
  expect(await countByDuckDb(lake)).toEqual({ rows: 80, different: 80 });
  expect((await filesOf(lake)).length).toBe(1);
  expect(await orSkip(context, hasBoundsForPyarrow(lake))).toBe(true);
}, 120_000);

test("messages of aborted transactions are not stored", async (context) => {
  const kafka = await kafkaFor(context);
  const lake = await lakeFolder();
  const topic = "transactions";
  await write(`kafka://${kafka.bootstrap}/${topic}?create=true&partitions=1`, 1, gpus(1));
  const client = await loadClient();
  const producer = new client.Producer({
    clientId: "test",
    bootstrapBrokers: [kafka.bootstrap],
    idempotent: true,
    transactionalId: "test",
  });
  const value = (at: number): Buffer =>
    Buffer.from(
      JSON.stringify({
        version: 1,
        time: new Date(Date.UTC(2026, 0, 2) + at * 1_000).toISOString(),
        host: "lab",
        gpu: { uuid: "GPU-T", index: 0, vendor: "nvidia", model: "H200" },
        values: { gpu_power_watts: 100 },
      }),
    );
  let [at, stored] = [0, 1];
  try {
    for (const isCommitted of [true, false, true, false, false, true]) {
      const transaction = await producer.beginTransaction();
      for (let lot = 0; lot < 4; lot++)
        await transaction.send({
          messages: Array.from({ length: 25 }, () => ({
            topic,
            key: Buffer.from("GPU-T"),
            value: value(at++),
          })),
        });
      if (isCommitted) {
        await transaction.commit();
        stored += 100;
      } else await transaction.abort();
    }
  } finally {
    await closeQuietly(producer);
  }
  await runToEnd(kafka, topic, lake);
  expect(await countByDuckDb(lake)).toEqual({ rows: stored, different: stored });
}, 120_000);

test("a topic that was deleted and created again under its name is stored beside the first", async (context) => {
  const kafka = await kafkaFor(context);
  const lake = await lakeFolder();
  const topic = "created-again";
  const url = `kafka://${kafka.bootstrap}/${topic}?create=true&partitions=1`;
  await write(url, 500, gpus(1));
  await runToEnd(kafka, topic, lake);
  const deleted = await kafka.tool("org.apache.kafka.tools.TopicCommand", [
    "--bootstrap-server",
    kafka.bootstrap,
    "--delete",
    "--topic",
    topic,
  ]);
  expect(deleted.code, deleted.stderr).toBe(0);
  await waitUntil({ what: "the topic to be created again", timeoutMs: 60_000 }, async () => {
    try {
      await write(url, 500, gpuNamed("GPU-B"));
      return true;
    } catch {
      return undefined;
    }
  });
  await runToEnd(kafka, topic, lake);
  expect(await countByDuckDb(lake)).toEqual({ rows: 1_000, different: 1_000 });
}, 120_000);
