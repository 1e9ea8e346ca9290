import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { type LogFields, silentLog } from "../base/log.ts";
import { FakeClock } from "../../test/fixtures/fake-clock.ts";
import { type SendResult, type ShipOptions, Shipper } from "./ship.ts";
import { openSpool } from "./spool/open.ts";
import type { SpoolRecord } from "./spool/segment.ts";
import type { Spool } from "./spool/spool.ts";

let dir: string;
let clock: FakeClock;
let spool: Spool;

const open = (): Spool =>
  openSpool({ dir, maxBytes: 2 ** 20, maxAgeMs: 1e9, clock, log: silentLog });

beforeEach(() => {
  dir = mkdtempSync(path.join(os.tmpdir(), "gpulse-ship-"));
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

/** Answers in turn; the last answer stands for all that follow. */
function shipper(answers: SendResult[], more: Partial<ShipOptions> = {}) {
  const tried: { text: string; atMs: number }[] = [];
  const made = new Shipper({
    name: "test",
    spool,
    send: async (records) => {
      tried.push({ text: textOf(records), atMs: clock.nowMs() - 1_000_000 });
      return (answers.length > 1 ? answers.shift() : answers[0]) ?? sent;
    },
    lotBytes: 1,
    clock,
    random: () => 0.5,
    log: silentLog,
    ...more,
  });
  return { made, tried };
}

test("sends in order, what was there at the start and what comes later", async () => {
  put("a", "b");
  const { made, tried } = shipper([sent]);
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

test("a receiver that is away is asked less and less often, with the same records, and nothing passes them", async () => {
  put("a", "b");
  const { made, tried } = shipper([away, away, away, away, sent]);
  made.start();
  await clock.advance(4_000);
  expect(tried.map(({ text, atMs }) => `${text}${atMs}`)).toEqual(["a0", "a375", "a1125", "a2625"]);
  expect(made.stats()).toMatchObject({ trouble: "connection refused", lagSeconds: 4, retries: 4 });
  await clock.advance(4_000);
  expect(tried.slice(4).map(({ text }) => text)).toEqual(["a", "b"]);
  expect(made.stats()).not.toHaveProperty("trouble");
  await made.close(1_000);
});

test("each reason of an outage is told once, also where it changes, and anew in the next outage", async () => {
  put("a", "b");
  const told: string[] = [];
  const warn = (_sentence: string, fields?: LogFields): void =>
    void told.push(String(fields?.["trouble"]));
  const wrong: SendResult = { outcome: "retry", problem: "wrong certificate" };
  const { made } = shipper([away, wrong, away, wrong, sent, away, sent], {
    log: { ...silentLog, warn },
  });
  made.start();
  await clock.advance(600_000);
  expect(told).toEqual(["connection refused", "wrong certificate", "connection refused"]);
  await made.close(0);
});

test("pauses stop growing at their bound, and chance spreads them", async () => {
  put("a");
  const { made, tried } = shipper([away], { random: () => 0, longestPauseMs: 2_000 });
  made.start();
  await clock.advance(60_000);
  expect(tried.length).toBeGreaterThan(55);
  expect(tried.length).toBeLessThan(65);
  await made.close(0);
});

test("a receiver that says when to come back is left alone until then, and by chance a little longer", async () => {
  put("a");
  const { made, tried } = shipper([{ outcome: "retry", problem: "429", afterMs: 20_000 }, sent]);
  made.start();
  await clock.advance(60_000);
  expect(tried.map(({ atMs }) => atMs)).toEqual([0, 25_000]);
  await made.close(1_000);
});

test("what is refused for good is counted and passed", async () => {
  put("aaa", "b");
  const { made, tried } = shipper([{ outcome: "refused", problem: "400" }, sent]);
  made.start();
  await clock.advance(0);
  expect(tried.map(({ text }) => text)).toEqual(["aaa", "b"]);
  expect(made.stats()).toMatchObject({ sentSamples: 1, refusedSamples: 3 });
  await made.close(1_000);
});

test("a send that throws is tried again", async () => {
  put("a");
  let calls = 0;
  const { made } = shipper([], {
    send: () => (++calls === 1 ? Promise.reject(new Error("reset")) : Promise.resolve(sent)),
  });
  made.start();
  await clock.advance(1_000);
  expect(calls).toBe(2);
  expect(spool.stats().records).toBe(0);
  await made.close(1_000);
});

test("closing sends what still waits, and keeps what is not taken for the next start", async () => {
  const first = shipper([sent, away]);
  put("a", "b", "c");
  first.made.start();
  await first.made.close(1_000);
  expect(first.tried.map(({ text }) => text)).toEqual(["a", "b"]);
  await spool.close();
  spool = open();
  const second = shipper([sent]);
  second.made.start();
  await second.made.close(1_000);
  expect(second.tried.map(({ text }) => text)).toEqual(["b", "c"]);
});

test("closing does not wait for a receiver that hangs", async () => {
  put("a");
  const { made } = shipper([], {
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
  const { made, tried } = shipper([away]);
  made.start();
  await clock.advance(100);
  await made.close(1_000);
  expect(tried).toHaveLength(2);
});
