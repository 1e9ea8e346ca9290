// A fleet through three real Kafka brokers and three pipes into a real VictoriaMetrics; one pipe is killed permanently,
// then one broker. A query of the stateless hub on top returns every acknowledged sample once.

import { afterAll, beforeAll, expect, test } from "vitest";
import { orSkip } from "../../engines/cache.ts";
import { ensureBuild } from "../../engines/program.ts";
import { toolOrSkip } from "../../engines/tools.ts";
import { proveNothingLost } from "./scale-out-proof.ts";
import { startScaleOutLab } from "./scale-out-lab.ts";

const cleanups: (() => Promise<unknown>)[] = [];
beforeAll(ensureBuild, 300_000);
afterAll(async () => {
  for (const cleanup of cleanups.reverse()) await cleanup();
}, 120_000);

test(
  "with one consumer and one broker killed, everything acknowledged is in VictoriaMetrics once",
  { timeout: 600_000, retry: 0 },
  async (context) => {
    const victoria = toolOrSkip(context, "victoria-metrics");
    const lab = await orSkip(context, startScaleOutLab(victoria));
    cleanups.push(() => lab.stop());
    const counts = await proveNothingLost(lab, { hosts: 6, agents: 2, rounds: 1 });
    process.stderr.write(`scale-out: ${JSON.stringify(counts)}\n`);
    await context.annotate(JSON.stringify(counts));
    expect(counts).toMatchObject({ lost: 0, duplicated: 0, strange: 0, agentsLost: 0 });
    expect(counts.acknowledged).toBeGreaterThan(1_000);
    expect(counts.agents).toBeGreaterThan(0);
  },
);
