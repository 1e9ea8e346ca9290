import { expect, test } from "vitest";
import { silentLog } from "../log.ts";
import { BufferedSender } from "./buffered-sender.ts";
import type { SendFailure, SendResult } from "./batch-sender.ts";

type Outcome = SendResult | SendFailure;

/** A receiver that answers when the test says so. */
function receiver() {
  const sent: (readonly number[])[] = [];
  const prepared: (readonly number[])[] = [];
  const waiting: ((outcome: Outcome) => void)[] = [];
  const sender = new BufferedSender<number>({
    name: "test",
    send: (batch) => {
      sent.push(batch);
      return new Promise<Outcome>((resolve) => waiting.push(resolve));
    },
    prepare: (batch) => void prepared.push(batch),
    batchItems: 4,
    batchBytes: 100,
    sizeOf: (item) => item,
    backoff: { firstMs: 1, longestMs: 1 },
    random: () => 0,
    log: silentLog,
  });
  const answer = async (outcome: Outcome = { outcome: "sent" }): Promise<void> => {
    await expect.poll(() => waiting.length).toBe(1);
    waiting.shift()?.(outcome);
  };
  return { sender, sent, prepared, answer };
}

test("full batches are prepared while one is sent, at most three, and sent as they were prepared", async () => {
  const { sender, sent, prepared, answer } = receiver();
  void sender.add([10]);
  await expect.poll(() => sent).toEqual([[10]]);
  expect(prepared).toEqual([]);
  // By count, by bytes, one that is too large alone, and one that is not full yet.
  void sender.add([1, 2, 3, 4, 60, 30, 50, 200, 5, 6, 7, 8, 9]);
  expect(prepared).toEqual([[1, 2, 3, 4], [60, 30], [50]]);
  for (let batch = 0; batch < 7; batch++) await answer();
  await sender.flush();
  expect(sent).toEqual([[10], [1, 2, 3, 4], [60, 30], [50], [200], [5, 6, 7, 8], [9]]);
  expect(prepared).toEqual(sent.slice(1, -1));
  for (const [at, batch] of prepared.entries()) expect(sent[at + 1]).toBe(batch);
  await sender.close(1_000);
});

test("a prepared batch that fails is sent again before the next, and one that is refused is halved", async () => {
  const { sender, sent, answer } = receiver();
  void sender.add([10]);
  await expect.poll(() => sent.length).toBe(1);
  void sender.add([1, 2, 3, 4, 5, 6, 7, 8, 9]);
  await answer();
  await answer({ outcome: "retry", problem: "the broker is down" });
  await answer();
  await answer({ outcome: "refused", problem: "too large", isTooLarge: true });
  await answer();
  await answer();
  await answer();
  await sender.flush();
  expect(sent).toEqual([[10], [1, 2, 3, 4], [1, 2, 3, 4], [5, 6, 7, 8], [5, 6], [7, 8], [9]]);
  expect(sender.stats()).toMatchObject({ sentRecords: 10, waiting: 0, dropped: 0 });
  await sender.close(1_000);
});

test("any sizes in any lots are sent once, in order, in the batches that would be made without preparing", async () => {
  const sizes = Array.from({ length: 500 }, (_, at) => 1 + ((at * 37) % 61));
  const batches: (readonly number[])[] = [];
  const sender = new BufferedSender<number>({
    name: "test",
    send: async (batch) => {
      batches.push(batch);
      await new Promise((resolve) => setImmediate(resolve));
      return { outcome: "sent" };
    },
    prepare: () => undefined,
    batchItems: 7,
    batchBytes: 120,
    sizeOf: (at) => sizes[at] ?? 0,
    random: () => 0,
    log: silentLog,
  });
  for (let at = 0; at < sizes.length;) {
    const lot = Array.from({ length: Math.min(1 + (at % 23), sizes.length - at) }, () => at++);
    void sender.add(lot);
    if (at % 3 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  await sender.flush();
  expect(batches.flat()).toEqual([...sizes.keys()]);
  for (const batch of batches) {
    expect(batch.length).toBeLessThanOrEqual(7);
    const bytes = batch.reduce((sum, at) => sum + (sizes[at] ?? 0), 0);
    expect(batch.length === 1 || bytes <= 120).toBe(true);
  }
  await sender.close(1_000);
});
