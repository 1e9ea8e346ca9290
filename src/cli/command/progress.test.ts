import { expect, test } from "vitest";
import { Progress } from "./progress.ts";
import { countOf, formatBytes } from "./quantity.ts";

/** Captures standard error, with a clock controlled by the test. */
function screen(terminal: { isTTY?: boolean; columns?: number } = {}) {
  const written: string[] = [];
  const clock = { ms: 0 };
  const stderr = Object.assign(Object.create(process.stderr) as typeof process.stderr, {
    write: (text: string) => written.push(text) > 0,
    isTTY: terminal.isTTY ?? false,
    columns: terminal.columns ?? 200,
  });
  return { stderr, clock, nowMs: () => clock.ms, text: () => written.join("") };
}

const half = { name: "file", fraction: 0.5, count: 5_000, unit: "sample" };

test("a terminal gets a bar with rate and time left, and only for what takes a while", () => {
  const { stderr, clock, nowMs, text } = screen({ isTTY: true });
  const progress = new Progress(stderr, nowMs);
  progress.show({ ...half, fraction: 0.1 });
  clock.ms = 1_000;
  progress.show(half);
  progress.clear();
  const bar = "█".repeat(12) + "░".repeat(12);
  expect(text()).toBe(`\r\u001b[K${bar} file   50 %  5,000 samples  5,000/s  1s left\r\u001b[K`);
});

test("nothing is wider than the terminal", () => {
  const { stderr, clock, nowMs, text } = screen({ isTTY: true, columns: 40 });
  const progress = new Progress(stderr, nowMs);
  clock.ms = 5_000;
  progress.show({ ...half, name: "a-long-name".repeat(10) });
  expect(text().replace("\r\u001b[K", "")).toHaveLength(39);
});

test("elsewhere a plain line comes every ten seconds, none with --json", () => {
  const { stderr, clock, nowMs, text } = screen();
  const progress = new Progress(stderr, nowMs);
  const silent = screen();
  const json = new Progress(silent.stderr, nowMs, true);
  for (clock.ms = 1_000; clock.ms <= 25_000; clock.ms += 1_000)
    for (const one of [progress, json])
      one.show({ name: "file", fraction: clock.ms / 100_000, count: clock.ms, unit: "sample" });
  expect(text()).toBe(
    "file   10 %  10,000 samples  1,000/s  1m30s left\nfile   20 %  20,000 samples  1,000/s  1m20s left\n",
  );
  expect(silent.text()).toBe("");
});

test("the rate and the time left restart with a new name; an unknown length has neither bar nor estimate", () => {
  const { stderr, clock, nowMs } = screen();
  const progress = new Progress(stderr, nowMs);
  clock.ms = 50_000;
  progress.show({ name: "one", count: 100 });
  progress.show({ name: "two", count: 100, unit: "byte" });
  clock.ms = 52_000;
  expect(progress.line({ name: "two", count: 3_000_100, unit: "byte" })).toBe(
    "two  3.0 MB  1.5 MB/s",
  );
});

test.for([
  [1, "GPU", "1 GPU"],
  [2, "GPU", "2 GPUs"],
  [0, "core", "0 cores"],
  [1_234, "sample", "1,234 samples"],
] as const)("%d of %s is %s", ([count, noun, text]) => expect(countOf(count, noun)).toBe(text));

test.for([
  [1, "1 byte"],
  [999, "999 bytes"],
  [1_500_000, "1.5 MB"],
  [2e15, "2000.0 TB"],
] as const)("%d bytes are %s", ([bytes, text]) => expect(formatBytes(bytes)).toBe(text));
