import { expect, test } from "vitest";
import { Definitions } from "./definitions.ts";

const identity = { id: "a", job: "gpulse", instance: "a:9400" };

test("beyond the bound the definitions that were not used go first, and the newest stays", () => {
  const all = new Definitions(4);
  const own = all.of(identity);
  // Each weighs one: a device list weighs its length plus one.
  for (const hash of ["1", "2", "3", "4"]) own.learnDevices(hash, []);
  const known = (): string[] =>
    ["1", "2", "3", "4", "5", "6"].filter((hash) => all.of(identity).devices(hash) !== undefined);
  expect(own.devices("1")).toEqual([]);
  own.learnDevices("5", []);
  expect(known()).toEqual(["1", "3", "4", "5"]);
  // All four are used now: the oldest is evicted.
  own.learnDevices("6", []);
  expect(known()).toHaveLength(4);
  expect(known()).toContain("6");
});

test("a definition heavier than the bound is the only one", () => {
  const all = new Definitions(0);
  const own = all.of(identity);
  own.learnDevices("1", []);
  own.learnDevices("2", []);
  own.releaseLast();
  expect([own.devices("1"), own.devices("2")]).toEqual([undefined, []]);
});

test("definitions of one request are looked up again in the next", () => {
  const all = new Definitions();
  const own = all.of(identity);
  own.learnDevices("1", []);
  expect(own.devices("1")).toEqual([]);
  all.forget("a");
  own.releaseLast();
  expect(own.devices("1")).toBeUndefined();
});
