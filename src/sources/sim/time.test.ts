import { expect, test } from "vitest";
import { VirtualTime } from "./source.ts";

const startMs = 1_800_000_000_000;

test.for([
  ["8 days ahead", 8 * 86_400_000],
  ["8 days back", -8 * 86_400_000],
] as const)(
  "a clock that is set %s and right again moves the simulation by the seconds that passed",
  ([, byMs]) => {
    const time = new VirtualTime(0, startMs, 1);
    const at = (wallMs: number): number => {
      time.follow(wallMs);
      return time.elapsedMs(wallMs);
    };
    expect(at(startMs + 1_000)).toBe(1_000);
    expect(at(startMs + 2_000 + byMs)).toBe(1_000);
    expect(at(startMs + 3_000 + byMs)).toBe(2_000);
    expect(at(startMs + 4_000)).toBe(2_000);
    expect(at(startMs + 5_000)).toBe(3_000);
    expect(time.frameMs(3_000)).toBe(startMs + 5_000);
  },
);

test("a read that is late is of its own time", () => {
  const time = new VirtualTime(0, startMs, 60);
  time.follow(startMs + 3_600_000);
  expect(time.elapsedMs(startMs + 3_600_000)).toBe(60 * 3_600_000);
});
