import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { RuntimeMonitor } from "./runtime.ts";

function open(resolutionMs = 10): RuntimeMonitor {
  const monitor = new RuntimeMonitor(resolutionMs, 0);
  onTestFinished(() => monitor.close());
  return monitor;
}

function block(ms: number): void {
  const endMs = performance.now() + ms;
  while (performance.now() < endMs);
}

test("a blocked event loop is in the lag, without the period of the timer that measures it", async () => {
  const monitor = open();
  await sleep(50);
  block(300);
  await sleep(50);
  const lag = monitor.read(20_000).lag;
  expect(lag?.maxSeconds).toBeGreaterThan(0.25);
  expect(lag?.p50Seconds).toBeLessThan(0.25);
});

test("every reader within a window gets the same, and a stall in it is in the next", async () => {
  const monitor = open();
  await sleep(50);
  const first = monitor.read(15_000).lag;
  block(300);
  await sleep(50);
  expect(monitor.read(16_000).lag).toEqual(first);
  expect(monitor.read(29_999).lag).toEqual(first);
  const next = monitor.read(30_000).lag;
  expect(next?.maxSeconds).toBeGreaterThan(0.25);
  expect(monitor.read(31_000).lag).toEqual(next);
});

test("heap and garbage collection are reported", async () => {
  const monitor = open();
  const held: unknown[] = [];
  await expect
    .poll(() => {
      for (let turn = 0; turn < 50_000; turn++) held.push({ turn });
      held.length = 0;
      return monitor.read(0).gc.map(({ kind }) => kind);
    })
    .toContain("minor");
  const { heapUsedBytes, heapTotalBytes, heapLimitBytes, externalBytes, gc } = monitor.read(0);
  expect(heapUsedBytes).toBeLessThanOrEqual(heapTotalBytes);
  expect(heapTotalBytes).toBeLessThanOrEqual(heapLimitBytes);
  expect(externalBytes).toBeGreaterThan(0);
  const minor = gc.find(({ kind }) => kind === "minor");
  expect(minor?.sumSeconds).toBeGreaterThan(0);
  // Buckets are cumulative.
  expect(minor?.buckets).toEqual(minor?.buckets.toSorted((a, b) => a - b));
  expect(minor?.count).toBeGreaterThanOrEqual(minor?.buckets.at(-1) ?? 0);
});
