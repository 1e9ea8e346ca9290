import { expect, test } from "vitest";
import type { RoutedAlert } from "../alert.ts";
import { fingerprintOf } from "./fingerprint.ts";
import { Inhibitor } from "./inhibit.ts";
import { parseMatchers } from "./parse-matchers.ts";

const nowMs = 1_700_000_000_000;
const alert = (labels: Record<string, string>, endsAtMs = nowMs + 1): RoutedAlert => {
  const map = new Map(Object.entries(labels));
  return {
    fingerprint: fingerprintOf(map),
    labels: map,
    annotations: {},
    startsAtMs: 0,
    endsAtMs,
    updatedAtMs: 0,
    generatorUrl: "",
    timeout: false,
  };
};

/** Returns the index of the muted alerts. */
function muted(
  [source, target, equal]: readonly [string, string, readonly string[]],
  alerts: readonly RoutedAlert[],
): number[] {
  const inhibitor = new Inhibitor([
    { source: parseMatchers(source), target: parseMatchers(target), equal },
  ]);
  for (const one of alerts) inhibitor.set(one);
  return alerts.flatMap((one, at) => (inhibitor.mutedBy(one, nowMs) === undefined ? [] : [at]));
}

test("a source mutes what has the same labels, and says who it was", () => {
  const down = alert({ n: "down", host: "a" });
  const alerts = [down, alert({ n: "hot", host: "a" }), alert({ n: "hot", host: "b" })];
  expect(muted(["n=down", "n=hot", ["host"]], alerts)).toEqual([1]);
  const inhibitor = new Inhibitor([
    { source: parseMatchers("n=down"), target: parseMatchers("n=hot"), equal: ["host"] },
  ]);
  for (const one of alerts) inhibitor.set(one);
  expect(inhibitor.mutedBy(alert({ n: "hot", host: "a" }), nowMs)).toBe(down.fingerprint);
});

test("a label that neither has is equal, and one that only one has is not", () => {
  const rule = ["n=down", "n=hot", ["rack"]] as const;
  expect(muted(rule, [alert({ n: "down" }), alert({ n: "hot" })])).toEqual([1]);
  expect(muted(rule, [alert({ n: "down" }), alert({ n: "hot", rack: "1" })])).toEqual([]);
});

test("a source that has ended mutes nothing", () =>
  expect(
    muted(["n=down", "n=hot", []], [alert({ n: "down" }, nowMs), alert({ n: "hot" })]),
  ).toEqual([]));

test("what is source and target does not mute itself or its like, but a plain source mutes it", () => {
  const rule = ["a=1", "b=1", []] as const;
  expect(muted(rule, [alert({ a: "1", b: "1" })])).toEqual([]);
  expect(muted(rule, [alert({ a: "1", b: "1" }), alert({ a: "1", b: "1", c: "2" })])).toEqual([]);
  expect(muted(rule, [alert({ a: "1" }), alert({ a: "1", b: "1" })])).toEqual([1]);
  expect(muted(rule, [alert({ a: "1", b: "1" }), alert({ b: "1" })])).toEqual([1]);
});

test("a source that is deleted mutes nothing any more", () => {
  const down = alert({ n: "down" });
  const inhibitor = new Inhibitor([
    { source: parseMatchers("n=down"), target: parseMatchers("n=hot"), equal: [] },
  ]);
  inhibitor.set(down);
  inhibitor.delete(down);
  expect(inhibitor.mutedBy(alert({ n: "hot" }), nowMs)).toBeUndefined();
});
