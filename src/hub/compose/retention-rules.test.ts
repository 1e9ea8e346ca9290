import { expect, test } from "vitest";
import { toRetentionRules } from "./retention-rules.ts";

const dayMs = 86_400_000;
const settings = (match: string, days: number, rollupDays = days) => ({
  retentionMs: 30 * dayMs,
  rollupRetentionMs: 365 * dayMs,
  retentionRules: [{ match, retentionMs: days * dayMs, rollupRetentionMs: rollupDays * dayMs }],
});

test("a rule has the matchers of its selector", () => {
  expect(toRetentionRules(settings('gpulse_up{host!="a"}', 7, 90))).toEqual([
    {
      match: 'gpulse_up{host!="a"}',
      matchers: [
        { name: "host", op: "!=", value: "a" },
        { name: "__name__", op: "=", value: "gpulse_up" },
      ],
      retentionMs: 7 * dayMs,
      rollupRetentionMs: 90 * dayMs,
    },
  ]);
});

test.for([
  ["up", 31, 31, "is longer than the retention of 30d"],
  ["up", 7, 366, "is longer for rollups than the rollup retention of 365d"],
  ["{}", 7, 7, "has no valid selector"],
  ['{a=~".*"}', 7, 7, "has no valid selector"],
  ["sum(up)", 7, 7, "has no valid selector"],
  ["up offset 5m", 7, 7, "without offset and @"],
  ["up{", 7, 7, "has no valid selector"],
] as const)("%s for %d days, rollups for %d, %s", ([match, days, rollupDays, why]) =>
  expect(() => toRetentionRules(settings(match, days, rollupDays))).toThrow(why),
);
