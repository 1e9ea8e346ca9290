import { expect, test } from "vitest";

import { quickPrometheus, quickRouting, quickRules } from "./quick.ts";

test("only waiting times change, and none becomes longer", () => {
  const rules = `groups:
  - name: one
    interval: 1m
    rules:
      - alert: GpuIdle
        expr: avg_over_time(gpu_utilization_ratio[5m]) < 0.05
        for: 5m
        keep_firing_for: 2s
`;
  expect(quickRules(rules)).toBe(
    rules.replace("interval: 1m", "interval: 5s").replace("for: 5m", "for: 5s"),
  );
});

test("a scrape's timeout stays below its interval", () => {
  expect(quickPrometheus("  scrape_interval: 15s\n  scrape_timeout: 10s\n")).toBe(
    "  scrape_interval: 5s\n  scrape_timeout: 4s\n",
  );
});

test("groups do not wait for more, and are repeated as before", () => {
  const routing = "  group_wait: 30s\n  group_interval: 5m\n  repeat_interval: 12h\n";
  expect(quickRouting(routing)).toBe(
    "  group_wait: 5s\n  group_interval: 5s\n  repeat_interval: 12h\n",
  );
});
