import { beforeAll, expect, test } from "vitest";

import { ensureBuild } from "../../engines/program.ts";
import { crashTheHub } from "../crash/lab.ts";
import { describeCrashes } from "../crash/report.ts";

beforeAll(ensureBuild, 300_000);

test(
  "1,000 kills under a failing disk, a jumping clock and second hubs: no sample is lost unreported, wrong or there twice, and rollups agree",
  { retry: 0, timeout: 7_200_000 },
  async () => {
    const report = await crashTheHub({ kills: 1_000, withHistory: true });
    process.stdout.write(`${describeCrashes(report)}\n`);
    expect(report.violations).toEqual([]);
    expect(report.samples.acknowledged).toBeGreaterThan(50_000);
  },
);
