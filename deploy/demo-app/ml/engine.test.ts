import { expect, test } from "vitest";

import { Engine, stepMs, type Watcher } from "./engine.ts";
import { type FinishReason, newSequence, type Sequence } from "./sequence.ts";

const limits = { slots: 4, kvTokens: 1_000 };

interface Seen {
  readonly finished: { readonly sequence: Sequence; readonly reason: FinishReason }[];
  generated: number;
  preempted: number;
}

function engineWith(how: Partial<typeof limits> = {}): { engine: Engine; seen: Seen } {
  const seen: Seen = { finished: [], generated: 0, preempted: 0 };
  const watcher: Watcher = {
    scheduled: () => undefined,
    firstToken: () => undefined,
    nextToken: () => undefined,
    step: (_engine, _prompt, generated) => (seen.generated += generated),
    preempted: () => (seen.preempted += 1),
    finished: (_engine, ended, reason) => seen.finished.push({ sequence: ended, reason }),
  };
  return { engine: new Engine(0, { ...limits, ...how }, watcher), seen };
}

function sequence(id: string, outputTokens = 10, maxTokens = 10, promptTokens = 20): Sequence {
  return newSequence({ id, promptTokens, maxTokens, outputTokens }, 0);
}

const secondsOf = ({ arrivedMs, finishedMs = Number.NaN }: Sequence): number =>
  (finishedMs - arrivedMs) / 1000;

test("a request alone takes one step per token, the first with its prompt", () => {
  const { engine, seen } = engineWith();
  engine.submit(sequence("a"), "", 0);
  engine.advance(60_000);
  const expectedMs = stepMs(1, 20, 1) + 9 * stepMs(1, 0, 1);
  expect(seen.finished[0]?.sequence.finishedMs).toBeCloseTo(expectedMs);
  expect(seen.finished[0]?.sequence.firstTokenMs).toBeCloseTo(stepMs(1, 20, 1));
  expect(seen.generated).toBe(10);
});

test("requests side by side are each slower, and together faster than in a row", () => {
  const alone = engineWith();
  alone.engine.submit(sequence("a"), "", 0);
  alone.engine.advance(60_000);
  const aloneSeconds = secondsOf(alone.seen.finished[0]?.sequence ?? sequence("none"));
  const { engine, seen } = engineWith();
  for (const id of ["a", "b", "c", "d"]) engine.submit(sequence(id), "", 0);
  engine.advance(60_000);
  const slowest = Math.max(...seen.finished.map((one) => secondsOf(one.sequence)));
  expect(slowest).toBeGreaterThan(aloneSeconds);
  expect(slowest).toBeLessThan(4 * aloneSeconds);
});

test("what has no slot waits, and its wait is reported", () => {
  const { engine, seen } = engineWith();
  for (const id of ["a", "b", "c", "d", "e", "f"]) engine.submit(sequence(id), "", 0);
  engine.advance(stepMs(1, 20, 1) + 1);
  expect([engine.running, engine.waiting]).toEqual([4, 2]);
  engine.advance(60_000);
  expect([engine.running, engine.waiting]).toEqual([0, 0]);
  const last = seen.finished.at(-1)?.sequence;
  expect(last?.scheduledMs).toBeGreaterThan(0);
});

test("an answer that ends by itself is distinguished from one that met its limit, and from one given up", () => {
  const { engine, seen } = engineWith();
  engine.submit(sequence("whole", 10, 10), "", 0);
  engine.submit(sequence("short", 4, 10), "", 0);
  engine.submit(sequence("gone", 500, 500), "", 0);
  engine.advance(1_000);
  engine.abort("gone", 1_000);
  engine.abort("never there", 1_000);
  const reasons = new Map(seen.finished.map((one) => [one.sequence.id, one.reason]));
  expect(Object.fromEntries(reasons)).toEqual({ short: "stop", whole: "length", gone: "abort" });
  expect(engine.running).toBe(0);
});

test("when the KV cache is full the newest is taken out, and still ends with all its tokens", () => {
  const { engine, seen } = engineWith({ kvTokens: 150 });
  engine.submit(sequence("old", 90, 90), "", 0);
  engine.submit(sequence("new", 90, 90), "", 0);
  engine.advance(600_000);
  expect(seen.preempted).toBeGreaterThan(0);
  expect(seen.finished.map((one) => [one.sequence.id, one.sequence.generated])).toEqual([
    ["old", 90],
    ["new", 90],
  ]);
  expect(seen.generated).toBe(180);
});

test("a prompt that begins as one before has less to compute", () => {
  const { engine } = engineWith();
  const prompt = "x".repeat(400);
  const [first, second] = [sequence("a", 1, 1, 100), sequence("b", 1, 1, 100)];
  engine.submit(first, prompt, 0);
  engine.submit(second, prompt, 0);
  expect([first.cachedTokens, second.cachedTokens]).toEqual([0, 96]);
});

test("slowed down, everything takes that much longer", () => {
  const [plain, slow] = [engineWith(), engineWith()];
  slow.engine.slowdown = 3;
  for (const { engine } of [plain, slow]) {
    engine.submit(sequence("a"), "", 0);
    engine.advance(60_000);
  }
  const [one, three] = [plain, slow].map(({ seen }) => seen.finished[0]?.sequence.finishedMs ?? 0);
  expect(three).toBeCloseTo(3 * (one ?? 0));
});

test("busy is the share of the last second, also of work that has not ended", () => {
  const { engine } = engineWith();
  expect(engine.busy(0)).toBe(0);
  engine.submit(sequence("a", 1_000, 1_000), "", 0);
  engine.advance(500);
  const half = engine.busy(500);
  engine.advance(1_500);
  const whole = engine.busy(1_500);
  expect(half).toBeGreaterThan(0.25);
  expect(whole).toBeGreaterThan(half);
  expect(whole).toBeLessThanOrEqual(1);
  engine.abort("a", 1_500);
  engine.advance(10_000);
  expect(engine.busy(10_000)).toBe(0);
});
