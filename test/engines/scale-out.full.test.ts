// The same proof for longer: consumers and brokers are killed repeatedly, and restarted.

import { afterAll, beforeAll, expect, test } from "vitest";
import { orSkip } from "../../engines/cache.ts";
import { ensureBuild } from "../../engines/program.ts";
import { toolOrSkip } from "../../engines/tools.ts";
import { startScaleOutLab } from "./scale-out-lab.ts";
import { proveNothingLost } from "./scale-out-proof.ts";

const cleanups: (() => Promise<unknown>)[] = [];
beforeAll(ensureBuild, 300_000);
afterAll(async () => {
  for (const cleanup of cleanups.reverse()) await cleanup();
}, 120_000);

test(
  "with a consumer and a broker killed in each of six rounds, everything acknowledged is in VictoriaMetrics once",
  { timeout: 1_800_000, retry: 0 },
  async (context) => {
    const victoria = toolOrSkip(context, "victoria-metrics");
    const lab = await orSkip(context, startScaleOutLab(victoria));
    cleanups.push(() => lab.stop());
    const counts = await proveNothingLost(lab, { hosts: 16, agents: 4, rounds: 6 });
    process.stderr.write(`scale-out, long: ${JSON.stringify(counts)}\n`);
    await context.annotate(JSON.stringify(counts));
    expect(counts).toMatchObject({ lost: 0, duplicated: 0, strange: 0, agentsLost: 0 });
    expect(counts.acknowledged).toBeGreaterThan(10_000);
    expect(counts.agents).toBeGreaterThan(0);
  },
);
