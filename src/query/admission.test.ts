import { expect, test } from "vitest";
import { labelSet } from "../model/labels.ts";
import { Admission } from "./admission.ts";
import { createEngine } from "./engine.ts";
import { QueryShed } from "./errors.ts";
import { MemoryStore } from "./memory-store.ts";

const two = { maxConcurrent: 2, maxSamplesTogether: 100 };

test("so many queries run at once, the others wait their turn in order", async () => {
  const admission = new Admission(two);
  const order: number[] = [];
  const queries = [1, 2, 3, 4].map(async (query) => {
    await admission.enter(10_000, undefined);
    order.push(query);
  });
  await Promise.all(queries.slice(0, 2));
  expect(order).toEqual([1, 2]);
  admission.leave();
  await queries[2];
  expect(order).toEqual([1, 2, 3]);
  expect(admission.runningQueries).toBe(2);
  admission.leave();
  admission.leave();
  await queries[3];
  admission.leave();
  expect(admission.runningQueries).toBe(0);
});

test("those who can ask again wait behind the others, in bounded number, and not for long", async () => {
  const admission = new Admission({ ...two, maxConcurrent: 1, maxWaiting: 2 });
  const order: string[] = [];
  await admission.enter(10_000, undefined);
  const enter = async (name: string, patienceMs?: number): Promise<void> => {
    await admission.enter(10_000, undefined, patienceMs);
    order.push(name);
  };
  const page = enter("page", 10_000);
  const hasty = enter("hasty", 1);
  await expect(enter("one too many", 10_000)).rejects.toBeInstanceOf(QueryShed);
  await expect(hasty).rejects.toBeInstanceOf(QueryShed);
  const rule = enter("rule");
  admission.leave();
  await rule;
  admission.leave();
  await page;
  expect(order).toEqual(["rule", "page"]);
});

test("who waits too long or is called off leaves the queue", async () => {
  const admission = new Admission({ ...two, maxConcurrent: 1 });
  await admission.enter(10, undefined);
  await expect(admission.enter(1, undefined)).rejects.toThrow("query timed out in query queue");
  const controller = new AbortController();
  const waits = admission.enter(10_000, controller.signal);
  controller.abort();
  await expect(waits).rejects.toThrow("query was canceled in query queue");
  await expect(admission.enter(1, AbortSignal.abort())).rejects.toMatchObject({ kind: "canceled" });
  admission.leave();
  expect(admission.runningQueries).toBe(0);
});

test("samples of all running queries count together, and are given back", async () => {
  const admission = new Admission(two);
  admission.hold(60);
  expect(() => admission.hold(60)).toThrow(/too many samples into memory together/);
  admission.release(120);
  admission.hold(100);
});

test("an engine gives back what its queries held, also after they failed", async () => {
  const store = new MemoryStore();
  for (let step = 0; step < 50; step++)
    store.append(labelSet({ __name__: "up" }), step * 1000, step);
  const engine = createEngine({ maxConcurrent: 1, maxSamplesTogether: 90 });
  for (let round = 0; round < 5; round++) {
    await expect(engine.range("up", 0, 49_000, 1000, store)).resolves.toMatchObject({
      data: { type: "matrix" },
    });
    await expect(engine.range("up + on () up + on () up", 0, 49_000, 1000, store)).rejects.toThrow(
      /together/,
    );
    await expect(engine.instant("rate(", 0, store)).rejects.toThrow(/parse error/);
  }
});
