import { expect, test } from "vitest";
import { labelSet } from "../model/labels.ts";
import { QueryAdmission } from "./admission.ts";
import { createEngine } from "./engine.ts";
import { QueryShedError } from "./errors.ts";
import { MemoryStore } from "./memory-store.ts";

const two = { maxConcurrent: 2, maxSamplesTogether: 100 };

const page = (name: string) => ({ principal: name, address: name });

test("so many queries run at once, the others wait their turn in order", async () => {
  const admission = new QueryAdmission(two);
  const order: number[] = [];
  const queries = [1, 2, 3, 4].map(async (query) => {
    const leave = await admission.enter(10_000);
    order.push(query);
    return leave;
  });
  const [first, second] = await Promise.all(queries.slice(0, 2));
  expect(order).toEqual([1, 2]);
  first?.();
  const third = await queries[2];
  expect(order).toEqual([1, 2, 3]);
  expect(admission.runningQueries).toBe(2);
  second?.();
  third?.();
  (await queries[3])?.();
  expect(admission.runningQueries).toBe(0);
});

test("clients wait behind the hub's own queries, in bounded number, and not for long", async () => {
  const admission = new QueryAdmission({ ...two, maxConcurrent: 1, maxWaiting: 4 });
  const order: string[] = [];
  const enter = async (name: string, waitMs = 10_000): Promise<() => void> => {
    const leave = await admission.enter(
      waitMs,
      undefined,
      name === "rule" ? undefined : page("grafana"),
    );
    order.push(name);
    return leave;
  };
  const first = await enter("rule");
  const waiting = enter("page");
  const hasty = enter("hasty", 1);
  await expect(enter("one too many")).rejects.toMatchObject({ reason: "share" });
  await expect(hasty).rejects.toBeInstanceOf(QueryShedError);
  const rule = enter("rule");
  first();
  (await rule)();
  (await waiting)();
  expect(order).toEqual(["rule", "rule", "page"]);
});

test("one client never has all slots, and a slot goes to who has had fewest", async () => {
  const admission = new QueryAdmission({ ...two, maxConcurrent: 4 });
  const order: string[] = [];
  const end = new AbortController();
  const enter = async (name: string): Promise<() => void> => {
    const leave = await admission.enter(10_000, end.signal, page(name));
    order.push(name);
    return leave;
  };
  const greedy = Array.from({ length: 5 }, () => enter("greedy"));
  const [first] = await Promise.all(greedy.slice(0, 2));
  expect([order.length, admission.runningQueries]).toEqual([2, 2]);
  await enter("innocent");
  expect(order).toEqual(["greedy", "greedy", "innocent"]);
  const next = enter("another");
  await next;
  first?.();
  expect(order).toEqual(["greedy", "greedy", "innocent", "another"]);
  // Cancels the waiting queries, which would otherwise time out during another test.
  end.abort();
  await Promise.allSettled(greedy);
});

test("who waits too long or is called off leaves the queue", async () => {
  const admission = new QueryAdmission({ ...two, maxConcurrent: 1 });
  const leave = await admission.enter(10);
  await expect(admission.enter(1)).rejects.toThrow("query timed out in query queue");
  const controller = new AbortController();
  const waits = admission.enter(10_000, controller.signal);
  controller.abort();
  await expect(waits).rejects.toThrow("query was canceled in query queue");
  await expect(admission.enter(1, AbortSignal.abort())).rejects.toMatchObject({ kind: "canceled" });
  leave();
  expect(admission.runningQueries).toBe(0);
});

test("samples of all running queries count together, and are given back", async () => {
  const admission = new QueryAdmission(two);
  admission.samples.hold(60);
  expect(() => admission.samples.hold(60)).toThrow(/too many samples into memory together/);
  admission.samples.release(120);
  admission.samples.hold(100);
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
