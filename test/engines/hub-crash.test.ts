import { expect, test } from "vitest";

import { killTheHub } from "./hub-kill.ts";

test(
  "10 kills of the hub under load lose no acknowledged sample, and keep none twice or wrong",
  { retry: 0 },
  async () => {
    const report = await killTheHub(10, 7);
    process.stdout.write(`${JSON.stringify(report)}\n`);
    expect(report.samples).toBeGreaterThan(100);
  },
);
