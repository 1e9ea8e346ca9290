import { expect, test } from "vitest";
import { Admission } from "./admission.ts";
import { ReceiveFailure } from "./failure.ts";

const limits = { bytes: 100, requests: 4, share: 0.5 };
const statusOf = (work: () => void): number => {
  try {
    work();
    return 0;
  } catch (thrown) {
    if (thrown instanceof ReceiveFailure) return thrown.status;
    throw thrown;
  }
};

test("one sender has its share, all have the whole, and both may come again", () => {
  const admission = new Admission(limits);
  const one = admission.hold("a");
  one.take(50);
  expect(statusOf(() => one.take(1))).toBe(429);
  const others = ["b", "c", "d"].map((sender) => admission.hold(sender));
  others[0]?.take(40);
  expect(statusOf(() => others[1]?.take(11))).toBe(503);
  expect(statusOf(() => others[1]?.take(10))).toBe(0);
  one.release();
  expect(statusOf(() => others[2]?.take(50))).toBe(0);
});

test("requests are counted when their body is here", () => {
  const admission = new Admission(limits);
  const holds = ["a", "a", "a", "b", "b"].map((sender) => admission.hold(sender));
  expect(holds.map((hold) => statusOf(() => hold.begin()))).toEqual([0, 0, 429, 0, 0]);
  expect(statusOf(() => admission.hold("c").begin())).toBe(503);
});

test("what ended holds nothing, told once or twice", () => {
  const admission = new Admission(limits);
  const hold = admission.hold("a");
  hold.take(30);
  hold.begin();
  expect([admission.bytes, admission.requests]).toEqual([30, 1]);
  hold.release();
  hold.release();
  expect([admission.bytes, admission.requests]).toEqual([0, 0]);
});

test("a request whose sender hung up takes nothing more, since nobody would give it back", () => {
  const admission = new Admission(limits);
  const hold = admission.hold("a");
  hold.take(30);
  hold.release();
  expect(statusOf(() => hold.take(10))).toBe(400);
  expect(statusOf(() => hold.begin())).toBe(400);
  expect([admission.bytes, admission.requests]).toEqual([0, 0]);
});

test("requests that leave the loop no turn for others are told to come again, and the next turn takes them", async () => {
  const admission = new Admission({ turnMs: -1, turnRequests: 2 });
  const begin = (): number => {
    const hold = admission.hold("a");
    const status = statusOf(() => hold.begin());
    hold.release();
    return status;
  };
  expect([begin(), begin(), begin(), begin()]).toEqual([0, 0, 503, 503]);
  await new Promise((resolve) => setImmediate(resolve));
  expect([begin(), begin(), begin()]).toEqual([0, 0, 503]);
});
