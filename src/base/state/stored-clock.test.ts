import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { silentLog } from "../log.ts";
import { StoredClock } from "./stored-clock.ts";

const startMs = 1_800_000_000_000;
const day = 86_400_000;
let folder: string;
beforeEach(() => (folder = mkdtempSync(path.join(tmpdir(), "gpulse-stored-clock-"))));
afterEach(() => rmSync(folder, { recursive: true }));

const open = (nowMs: number): StoredClock =>
  new StoredClock({
    file: path.join(folder, "trusted-clock"),
    nowMs: () => nowMs,
    monotonicMs: () => 0,
    log: silentLog,
  });

test("a process that starts with a wrong clock resumes at the time of the one before", () => {
  open(startMs).close();
  const wrong = open(startMs + 40 * day);
  expect(wrong.nowMs()).toBe(startMs);
  wrong.close();
  expect(open(startMs + 1_000).nowMs()).toBe(startMs);
});

test("a damaged file is as good as none: the wall clock counts", () => {
  writeFileSync(path.join(folder, "trusted-clock"), "nonsense");
  expect(open(startMs).nowMs()).toBe(startMs);
});
