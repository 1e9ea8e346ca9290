import { expect, test } from "vitest";
import { anonymousClient } from "../../base/fair/client-key.ts";
import { IngestAdmission } from "./admission.ts";
import { ReceiveError } from "./failure.ts";

const limits = { bytes: 100, requests: 8 };
const client = anonymousClient;
const statusOf = (work: () => void): number => {
  try {
    work();
    return 0;
  } catch (thrown) {
    if (thrown instanceof ReceiveError) return thrown.status;
    throw thrown;
  }
};

test("two clients that flood leave room for a third, and what is given back can be taken again", () => {
  const admission = new IngestAdmission(limits);
  const one = admission.hold(client("10.0.0.1"));
  one.take(50);
  expect(statusOf(() => one.take(1))).toBe(429);
  const two = admission.hold(client("10.0.0.2"));
  two.take(25);
  expect(statusOf(() => two.take(1))).toBe(429);
  const innocent = admission.hold(client("10.0.0.3"));
  expect(statusOf(() => innocent.take(12))).toBe(0);
  expect(statusOf(() => admission.hold(client("10.0.0.4")).take(14))).toBe(503);
  one.release();
  expect(statusOf(() => innocent.take(25))).toBe(0);
});

test("addresses of one token share what the token may have", () => {
  const admission = new IngestAdmission(limits);
  const of = (address: string) => admission.hold({ principal: "token fleet", address });
  of("10.0.0.1").take(25);
  expect(statusOf(() => of("10.0.0.1").take(1))).toBe(429);
  expect(statusOf(() => of("10.0.0.2").take(10))).toBe(0);
});

test("requests are counted when their body is here", () => {
  const admission = new IngestAdmission(limits);
  const statuses = ["a", "a", "a", "a", "a", "b", "b", "b"].map((address) =>
    statusOf(() => admission.hold(client(address)).begin()),
  );
  expect(statuses).toEqual([0, 0, 0, 0, 429, 0, 0, 429]);
});

test("a request that ended holds nothing, released once or twice", () => {
  const admission = new IngestAdmission(limits);
  const hold = admission.hold(client("a"));
  hold.take(30);
  hold.begin();
  expect([admission.bytes, admission.requests]).toEqual([30, 1]);
  hold.release();
  hold.release();
  expect([admission.bytes, admission.requests]).toEqual([0, 0]);
});

test("a request whose sender hung up takes nothing more, since nobody would give it back", () => {
  const admission = new IngestAdmission(limits);
  const hold = admission.hold(client("a"));
  hold.take(30);
  hold.release();
  expect(statusOf(() => hold.take(10))).toBe(400);
  expect(statusOf(() => hold.begin())).toBe(400);
  expect([admission.bytes, admission.requests]).toEqual([0, 0]);
});
