import { getEventListeners } from "node:events";
import { expect, test } from "vitest";
import { silentLog } from "../../base/log.ts";
import type { KafkaClient } from "./client.ts";
import type { KafkaTarget } from "./options.ts";
import { KafkaProducer } from "./producer.ts";

const kGetApi = Symbol("getApi");

/** A cluster that acknowledges everything a moment later. */
const client = {
  kGetApi,
  murmur2: () => 0,
  Producer: class {
    [kGetApi] = (): void => {};
    send = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));
    close = (): Promise<void> => Promise.resolve();
  },
  ProduceAcks: { ALL: -1, LEADER: 1 },
} as unknown as KafkaClient;

const target: KafkaTarget = {
  shown: "kafka://test/t",
  brokers: ["127.0.0.1:1"],
  topic: "t",
  clientId: "test",
};

test("a signal that outlives many flushes is left with nothing of theirs", async () => {
  const producer = new KafkaProducer(client, {
    target,
    compression: "none",
    acks: "all",
    batchMessages: 10,
    batchBytes: 1_000_000,
    lingerMs: 0,
    heldBytes: 1_000_000,
    log: silentLog,
    random: () => 0,
  });
  const { signal } = new AbortController();
  for (let checkpoint = 0; checkpoint < 20; checkpoint++) {
    await producer.add({ topic: "t", key: "k", value: Buffer.from("v") });
    await producer.flush(signal);
  }
  expect(producer.stats).toMatchObject({ sent: 20, waiting: 0 });
  expect(getEventListeners(signal, "abort")).toEqual([]);
  await producer.close(1_000);
});
