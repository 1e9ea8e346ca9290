/** Limits for query memory: per query, per client and in total. */
import { expect, test } from "vitest";
import { QueryMemory } from "./memory.ts";

const mebibyte = 2 ** 20;
const limits = {
  totalBytes: 100 * mebibyte,
  perClientBytes: 60 * mebibyte,
  perQueryBytes: 50 * mebibyte,
};

test("a query that needs more than one may have is refused with what to do", () => {
  const memory = new QueryMemory(limits);
  const query = memory.open("token a");
  query.take(40 * mebibyte);
  expect(() => query.take(20 * mebibyte)).toThrow(
    "query would need about 60 MiB, the limit for one query is 50 MiB: narrow the selector, shorten the range or enlarge the step, or raise --memory",
  );
  query.close();
  expect([memory.bytes, memory.refused]).toEqual([0, { tooLarge: 1, busy: 0 }]);
});

test("one client's queries leave room for the others", () => {
  const memory = new QueryMemory(limits);
  memory.open("token a").take(50 * mebibyte);
  expect(() => memory.open("token a").take(20 * mebibyte)).toThrow(
    expect.objectContaining({ name: "QueryShedError", reason: "share" }),
  );
  memory.open("token b").take(50 * mebibyte);
  expect(() => memory.open("token c").take(20 * mebibyte)).toThrow(
    expect.objectContaining({ name: "QueryShedError", reason: "timeout" }),
  );
  // Rules are still evaluated.
  memory.open().take(20 * mebibyte);
  expect(memory.refused).toEqual({ tooLarge: 0, busy: 2 });
});

test("a query waits for memory that another gives back", async () => {
  const memory = new QueryMemory(limits);
  const first = memory.open("token a");
  first.take(50 * mebibyte);
  const second = memory.open("token a");
  let isAdmitted = false;
  const admitted = second.reserve(30 * mebibyte).then(() => (isAdmitted = true));
  await Promise.resolve();
  expect(isAdmitted).toBe(false);
  first.close();
  await admitted;
  expect(memory.bytesOf("token a")).toBe(30 * mebibyte);
});

test("a client that hangs up waits no longer, and nothing stays reserved for it", async () => {
  const memory = new QueryMemory(limits);
  const first = memory.open("token a");
  first.take(50 * mebibyte);
  const abort = new AbortController();
  const second = memory.open("token a");
  const reserved = second.reserve(30 * mebibyte, abort.signal);
  abort.abort();
  await expect(reserved).rejects.toThrow("your queries");
  second.close();
  first.close();
  second.take(10 * mebibyte);
  expect(memory.bytes).toBe(0);
});
