import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type LogFields, silentLog } from "../../base/log.ts";
import {
  BatchSender,
  type BatchSenderOptions,
  type SendResult,
} from "../../base/send/batch-sender.ts";
import { FakeClock } from "../../../test/fixtures/fake-clock.ts";
import { openSpool } from "./open.ts";
import { spoolQueue } from "./queue.ts";
import type { SpoolRecord } from "./segment.ts";
import type { Spool } from "./spool.ts";

let dir: string;
let clock: FakeClock;
let spool: Spool;

const open = (): Spool =>
  openSpool({ dir, maxBytes: 2 ** 20, maxAgeMs: 1e9, clock, log: silentLog });

beforeEach(() => {
  dir = mkdtempSync(path.join(os.tmpdir(), "gpulse-queue-"));
  clock = new FakeClock(1_000_000);
  spool = open();
});
afterEach(async () => {
  await spool.close();
  rmSync(dir, { recursive: true, force: true });
});

const sent: SendResult = { outcome: "sent" };
const away: SendResult = { outcome: "retry", problem: "connection refused" };

const put = (...texts: string[]): void => {
  for (const text of texts) spool.append(Buffer.from(text), text.length);
};

const textOf = (records: readonly SpoolRecord[]): string =>
  records.map(({ bytes }) => bytes.toString()).join("");

/** Returns the results in turn, then keeps returning the last one. */
function sender(answers: SendResult[], more: Partial<BatchSenderOptions<SpoolRecord>> = {}) {
  const tried: { text: string; atMs: number }[] = [];
  const made = new BatchSender({
    name: "test",
    queue: spoolQueue(spool, 1),
    samplesOf: ({ samples }) => samples,
    send: async (records) => {
      tried.push({ text: textOf(records), atMs: clock.nowMs() - 1_000_000 });
      return (answers.length > 1 ? answers.shift() : answers[0]) ?? sent;
    },
    clock,
    random: () => 0.5,
    log: silentLog,
    backoff: { firstMs: 500, longestMs: 30_000 },
    ...more,
  });
  return { made, tried };
}

test("sends in order: records of the last run, then new ones", async () => {
  put("a", "b");
  const { made, tried } = sender([sent]);
  made.start();
  await clock.advance(0);
  put("c");
  await clock.advance(0);
  expect(tried.map(({ text }) => text)).toEqual(["a", "b", "c"]);
  expect(spool.stats().records).toBe(0);
  expect(made.stats()).toEqual({
    name: "test",
    sentRecords: 3,
    sentSamples: 3,
    refusedSamples: 0,
    retries: 0,
    lagSeconds: 0,
  });
  await made.close(1_000);
});

test("an unavailable receiver is retried with growing pauses, with the same records and in order", async () => {
  put("a", "b");
  const { made, tried } = sender([away, away, away, away, sent]);
  made.start();
  await clock.advance(4_000);
  expect(tried.map(({ text, atMs }) => `${text}${atMs}`)).toEqual(["a0", "a375", "a1125", "a2625"]);
  expect(made.stats()).toMatchObject({ problem: "connection refused", lagSeconds: 4, retries: 4 });
  await clock.advance(4_000);
  expect(tried.slice(4).map(({ text }) => text)).toEqual(["a", "b"]);
  expect(made.stats()).not.toHaveProperty("problem");
  await made.close(1_000);
});

test("each distinct error is logged once per outage", async () => {
  put("a", "b");
  const logged: string[] = [];
  const warn = (_sentence: string, fields?: LogFields): void =>
    void logged.push(String(fields?.["error"]));
  const wrong: SendResult = { outcome: "retry", problem: "wrong certificate" };
  const { made } = sender([away, wrong, away, wrong, sent, away, sent], {
    log: { ...silentLog, warn },
  });
  made.start();
  await clock.advance(600_000);
  expect(logged).toEqual(["connection refused", "wrong certificate", "connection refused"]);
  await made.close(0);
});

test("pauses are bounded and jittered", async () => {
  put("a");
  const { made, tried } = sender([away], {
    random: () => 0,
    backoff: { firstMs: 500, longestMs: 2_000 },
  });
  made.start();
  await clock.advance(60_000);
  expect(tried.length).toBeGreaterThan(55);
  expect(tried.length).toBeLessThan(65);
  await made.close(0);
});

test("Retry-After is respected, with jitter on top", async () => {
  put("a");
  const { made, tried } = sender([{ outcome: "retry", problem: "429", afterMs: 20_000 }, sent]);
  made.start();
  await clock.advance(60_000);
  expect(tried.map(({ atMs }) => atMs)).toEqual([0, 25_000]);
  await made.close(1_000);
});

test("a refused record is counted and skipped", async () => {
  put("aaa", "b");
  const { made, tried } = sender([{ outcome: "refused", problem: "400" }, sent]);
  made.start();
  await clock.advance(0);
  expect(tried.map(({ text }) => text)).toEqual(["aaa", "b"]);
  expect(made.stats()).toMatchObject({ sentSamples: 1, refusedSamples: 3 });
  await made.close(1_000);
});

test("a send that throws is retried", async () => {
  put("a");
  let calls = 0;
  const { made } = sender([], {
    send: () => (++calls === 1 ? Promise.reject(new Error("reset")) : Promise.resolve(sent)),
  });
  made.start();
  await clock.advance(1_000);
  expect(calls).toBe(2);
  expect(spool.stats().records).toBe(0);
  await made.close(1_000);
});

test("closing attempts each batch once and leaves the rest for the next start", async () => {
  const first = sender([sent, away]);
  put("a", "b", "c");
  first.made.start();
  await first.made.close(1_000);
  expect(first.tried.map(({ text }) => text)).toEqual(["a", "b"]);
  await spool.close();
  spool = open();
  const second = sender([sent]);
  second.made.start();
  await second.made.close(1_000);
  expect(second.tried.map(({ text }) => text)).toEqual(["b", "c"]);
});

test("a refused batch is halved, so that one bad record costs no other", async () => {
  put("a", "b", "!", "c", "d");
  const { made, tried } = sender([], {
    queue: spoolQueue(spool, 1_000),
    send: async (records) => {
      tried.push({ text: textOf(records), atMs: 0 });
      return textOf(records).includes("!") ? { outcome: "refused", problem: "400" } : sent;
    },
  });
  made.start();
  await clock.advance(0);
  expect(tried.map(({ text }) => text)).toEqual(["ab!cd", "ab!", "ab", "!", "cd"]);
  expect(made.stats()).toMatchObject({ sentSamples: 4, refusedSamples: 1, sentRecords: 5 });
  expect(spool.stats().records).toBe(0);
  await made.close(1_000);
});

test("closing does not wait for a hanging receiver", async () => {
  put("a");
  const { made } = sender([], {
    send: (_records, signal) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener("abort", () => reject(new Error("given up")));
      }),
  });
  made.start();
  await clock.advance(10);
  const closing = made.close(5_000);
  await clock.advance(5_000);
  await closing;
  expect(spool.stats().records).toBe(1);
});

test("closing ends a pause", async () => {
  put("a");
  const { made, tried } = sender([away]);
  made.start();
  await clock.advance(100);
  await made.close(1_000);
  expect(tried).toHaveLength(2);
});
