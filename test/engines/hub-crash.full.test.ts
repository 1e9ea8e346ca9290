import { expect, test } from "vitest";

import { killTheHub } from "./hub-kill.ts";

test(
  "50 kills of the hub under load lose no acknowledged sample, and keep none twice or wrong",
  { retry: 0, timeout: 300_000 },
  async () => {
    const report = await killTheHub(50, 42);
    process.stdout.write(`${JSON.stringify(report)}\n`);
    expect(report.samples).toBeGreaterThan(100_000);
  },
);
