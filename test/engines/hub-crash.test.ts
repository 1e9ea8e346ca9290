import { beforeAll, expect, test } from "vitest";

import { ensureBuild } from "../../engines/program.ts";
import { crashTheHub } from "../crash/lab.ts";
import { describeCrashes } from "../crash/report.ts";

beforeAll(ensureBuild, 300_000);

test(
  "80 kills under a failing disk, a jumping clock and second hubs: no sample is lost unreported, wrong or there twice",
  { retry: 0, timeout: 1_800_000 },
  async () => {
    const report = await crashTheHub({ kills: 80 });
    process.stdout.write(`${describeCrashes(report)}\n`);
    expect(report.violations).toEqual([]);
    expect(report.samples.acknowledged).toBeGreaterThan(10_000);
  },
);
