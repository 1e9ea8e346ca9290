import { expect, test } from "vitest";
import { createLog, limitDebug, silentLog } from "./log.ts";

function logged(level: "debug" | "info") {
  const lines: string[] = [];
  const log = createLog({
    level,
    json: false,
    colour: false,
    nowMs: () => 0,
    write: (line) => void lines.push(line.trimEnd().slice("00:00:00 ".length)),
  });
  return { lines, log };
}

test("ten debug lines a second are written, and the next one says how many were not", () => {
  const { lines, log } = logged("debug");
  let nowMs = 0;
  const limited = limitDebug(log, () => nowMs);
  for (let at = 0; at < 25; at += 1) limited.debug("scrape", { at });
  expect(lines).toHaveLength(10);
  nowMs = 1_000;
  limited.debug("scrape", { at: 25 });
  limited.debug("scrape", { at: 26 });
  expect(lines.slice(10)).toEqual(["debug scrape at=25 suppressed=15", "debug scrape at=26"]);
});

test("other levels are not limited", () => {
  const { lines, log } = logged("debug");
  const limited = limitDebug(log, () => 0, 1);
  for (let at = 0; at < 5; at += 1) limited.warn("sink failed", { at });
  expect(lines).toHaveLength(5);
});

test("a log without debug lines is used as it is", () => {
  const { log } = logged("info");
  expect(limitDebug(log, () => 0)).toBe(log);
  expect(limitDebug(silentLog, () => 0)).toBe(silentLog);
});
