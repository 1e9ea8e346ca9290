import { expect, test } from "vitest";
import { labelSet } from "../../../model/labels.ts";
import { Target } from "../targets/target.ts";
import { alignedTime, momentAfter, nextMoment } from "./loop.ts";

test.for([
  [0, 1_000, 300, 300],
  [299, 1_000, 300, 300],
  [300, 1_000, 300, 1_300],
  [12_345, 1_000, 0, 13_000],
] as const)("after %d the next of every %d at %d is %d", ([from, interval, offset, want]) => {
  expect(nextMoment(from, interval, offset)).toBe(want);
});

test.for([
  [10_000, 10_000, 10_000],
  [10_002, 10_000, 10_000],
  [9_999, 10_000, 10_000],
  [10_003, 10_000, 10_003],
] as const)("a scrape at %d that was planned for %d has the time %d", ([now, planned, want]) => {
  expect(alignedTime(now, planned, 1_000)).toBe(want);
});

test("short intervals are not worth aligning", () => {
  expect(alignedTime(1_001, 1_000, 200)).toBe(1_001);
});

test("a timer that came a little early does not scrape twice", () => {
  expect(momentAfter(10_000, 9_999, 1_000, 0)).toBe(11_000);
});

test("moments that were missed are left out", () => {
  expect(momentAfter(10_000, 13_500, 1_000, 0)).toBe(14_000);
});

test("a clock that was set back is followed", () => {
  expect(momentAfter(10_000, 5_000, 1_000, 0)).toBe(6_000);
});

test("targets are spread over the interval, each always at the same place", () => {
  const offsets = Array.from({ length: 1_000 }, (_, at) =>
    new Target({
      labels: labelSet({ __address__: `host-${at}:9400` }),
      discovered: [],
      intervalMs: 10_000,
      timeoutMs: 10_000,
      params: {},
    }).offsetMs("seed"),
  );
  for (let tenth = 0; tenth < 10; tenth++) {
    const there = offsets.filter((offset) => Math.floor(offset / 1_000) === tenth).length;
    expect(there).toBeGreaterThan(50);
    expect(there).toBeLessThan(150);
  }
});
