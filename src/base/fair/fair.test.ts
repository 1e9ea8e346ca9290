import { setImmediate as afterOthers } from "node:timers/promises";
import { expect, test } from "vitest";
import { anonymousClient } from "./client-key.ts";
import { FairOrder } from "./fair-order.ts";
import { FairShare } from "./fair-share.ts";
import { LoopTurns } from "./loop-turns.ts";

const token = (principal: string, address = "10.0.0.1") => ({ principal, address });

/** Takes units one by one until the share allows no more; returns how many. */
function fill(share: FairShare, client = anonymousClient("10.0.0.1")): number {
  let count = 0;
  for (; share.allows(client); count++) share.take(client);
  return count;
}

test("one client gets half of all, the next a quarter, and there is room for one more", () => {
  const share = new FairShare(20);
  const taken = ["10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4"].map((address) =>
    fill(share, anonymousClient(address)),
  );
  expect(taken).toEqual([10, 5, 3, 1]);
  expect(share.free).toBe(1);
});

test("one address of a token leaves room for the token's other addresses", () => {
  const share = new FairShare(20);
  expect(fill(share, token("fleet", "10.0.0.1"))).toBe(5);
  expect(fill(share, token("fleet", "10.0.0.2"))).toBeGreaterThan(0);
});

test("what is given back can be taken again, and no more than that", () => {
  const share = new FairShare(8);
  const client = token("a");
  share.take(client, 3);
  share.give(client, 3);
  expect([share.used, share.heldBy(client), share.heldByPrincipal("a")]).toEqual([0, 0, 0]);
  expect(() => share.give(client, 1)).toThrow("BUG:");
});

test("the principal that holds most makes room, by its address that holds most", () => {
  const share = new FairShare(10);
  for (const address of ["10.0.0.1", "10.0.0.2", "10.0.0.2"]) share.take(token("a", address));
  share.take(token("b"));
  expect(share.greediest(token("c"))).toEqual(token("a", "10.0.0.2"));
  expect(share.greediest(token("a", "10.0.0.3"))).toEqual(token("a", "10.0.0.2"));
  expect(share.greediest(token("a", "10.0.0.1"))).toBeUndefined();
});

test("waiting work is served by class weight, then token by token, then address by address", () => {
  const order = new FairOrder<"ingest" | "alert", string>({ ingest: 3, alert: 1 });
  for (let at = 0; at < 4; at++) {
    order.add("alert", token("x"), "alert");
    for (const name of ["a1", "a2", "b1"]) order.add("ingest", token(name.slice(0, 1), name), name);
  }
  const served = Array.from({ length: 8 }, () => {
    const next = order.next();
    next?.charge(1);
    return next?.item;
  });
  expect(served.filter((item) => item === "alert")).toHaveLength(2);
  expect(served.filter((item) => item === "b1")).toHaveLength(3);
  expect(served.filter((item) => item === "a1" || item === "a2")).toHaveLength(3);
});

test("an item that no longer waits is not served", () => {
  const order = new FairOrder<"ingest", string>({ ingest: 1 });
  order.add("ingest", token("a"), "gone");
  expect(order.remove("ingest", token("a"), "gone")).toBe(true);
  expect([order.remove("ingest", token("a"), "gone"), order.waiting]).toEqual([false, 0]);
  expect(order.next()).toBeUndefined();
});

test("a client that floods the loop takes turns with one that asks once", async () => {
  let nowMs = 0;
  const turns = new LoopTurns(() => nowMs);
  const steps: string[] = [];
  const work = async (name: string, count: number): Promise<void> => {
    for (let step = 0; step < count; step++) {
      await turns.turn("query", token(name));
      steps.push(name);
      nowMs += 6;
    }
  };
  const flood = Promise.all(Array.from({ length: 5 }, () => work("flood", 4)));
  await afterOthers();
  await Promise.all([work("innocent", 3), flood]);
  const last = steps.lastIndexOf("innocent");
  expect(steps.slice(0, last).filter((name) => name === "flood").length).toBeLessThan(12);
  expect(steps).toHaveLength(23);
});

test("a turn on an idle loop comes at once", async () => {
  const turns = new LoopTurns();
  let came = false;
  void turns.turn("hub").then(() => (came = true));
  await Promise.resolve();
  expect(came).toBe(true);
});
