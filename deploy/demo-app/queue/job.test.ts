import { expect, test } from "vitest";

import { retryAfterSeconds, waitedSeconds } from "./job.ts";

const job = (enqueuedMs: number): string => JSON.stringify({ id: "a", enqueuedMs });

test("an empty queue has no oldest job, which is not one of 0 seconds", () => {
  expect(waitedSeconds(null, 5_000)).toBeUndefined();
  expect(waitedSeconds(job(5_000), 5_000)).toBe(0);
});

test("the oldest job's wait is in seconds and never below 0", () => {
  expect(waitedSeconds(job(1_000), 3_500)).toBe(2.5);
  expect(waitedSeconds(job(9_000), 3_500)).toBe(0);
});

test("a rejected client gets a Retry-After for half the queue", () => {
  expect(retryAfterSeconds(100, 100, 10)).toBe(5);
  expect(retryAfterSeconds(100, 100, 1000)).toBe(1);
  expect(retryAfterSeconds(10_000, 100, 0)).toBe(30);
});
