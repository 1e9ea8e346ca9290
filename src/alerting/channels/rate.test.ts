import { expect, test } from "vitest";
import { NotifyError } from "../route/notification.ts";
import { FakeClock } from "../../../test/fixtures/fake-clock.ts";
import { RateLimit } from "./rate.ts";

const never = new AbortController().signal;

test("a burst goes at once, the rest waits its turn in order", async () => {
  const clock = new FakeClock(0);
  const rate = new RateLimit({ burst: 2, perMinute: 60 }, clock);
  const went: string[] = [];
  const all = ["a", "b", "c", "d"].map((name) => rate.take(never).then(() => went.push(name)));
  await clock.advance(0);
  expect(went).toEqual(["a", "b"]);
  await clock.advance(1_000);
  expect(went).toEqual(["a", "b", "c"]);
  await clock.advance(1_000);
  await Promise.all(all);
  expect(went).toEqual(["a", "b", "c", "d"]);
});

test("a caller that would wait too long gets a retry time and takes no place in the queue", async () => {
  const clock = new FakeClock(0);
  const rate = new RateLimit({ burst: 1, perMinute: 1 }, clock);
  await rate.take(never);
  const refused = await rate.take(never).catch((thrown: unknown) => thrown);
  expect(refused).toBeInstanceOf(NotifyError);
  expect(refused).toMatchObject({ retryable: true, retryAfterMs: 60_000 });
  await clock.advance(60_000);
  await expect(rate.take(never)).resolves.toBeUndefined();
});

test("who gives up while waiting gives its place back", async () => {
  const clock = new FakeClock(0);
  const rate = new RateLimit({ burst: 1, perMinute: 6 }, clock);
  await rate.take(never);
  const stop = new AbortController();
  const waiting = rate.take(stop.signal).catch((thrown: unknown) => thrown);
  stop.abort();
  expect(await waiting).toMatchObject({ retryable: true });
  let went = false;
  void rate.take(never).then(() => (went = true));
  await clock.advance(10_000);
  expect(went).toBe(true);
});

test("silence does not save up more than the burst", async () => {
  const clock = new FakeClock(0);
  const rate = new RateLimit({ burst: 3, perMinute: 60 }, clock);
  await clock.advance(3_600_000);
  let went = 0;
  for (let count = 0; count < 5; count++) void rate.take(never).then(() => went++);
  await clock.advance(0);
  expect(went).toBe(3);
});
