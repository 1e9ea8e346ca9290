import { expect, test } from "vitest";
import { RestartBackoff } from "./restart.ts";

test("the pauses double up to a minute, and begin again after ten minutes without an end", () => {
  const backoff = new RestartBackoff();
  const pauses: number[] = [];
  let nowMs = 0;
  backoff.started(nowMs);
  for (let turn = 0; turn < 9; turn++) {
    pauses.push(backoff.ended(nowMs));
    expect(backoff.waitMs(nowMs)).toBe(pauses.at(-1));
    nowMs += pauses.at(-1) ?? 0;
    expect(backoff.waitMs(nowMs)).toBe(0);
    backoff.started(nowMs);
  }
  expect(pauses).toEqual([1, 2, 4, 8, 16, 32, 60, 60, 60].map((seconds) => seconds * 1_000));
  expect(backoff.restarts).toBe(9);
  expect(backoff.ended(nowMs + 600_000)).toBe(1_000);
});
