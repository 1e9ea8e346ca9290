// Measures how long a fault takes to reach the scheduler: twenty lost GPUs, each until its node is tainted.

import { setTimeout as sleep } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";

import { orSkip } from "../../engines/cache.ts";
import { ensureBuild } from "../../engines/program.ts";
import { toolOrSkip } from "../../engines/tools.ts";
import { openTaintLab } from "./kubernetes-taints.ts";

const FAULTS = 20;
const P95_MS = 10_000;
/** The longest interval of the chain: without a random start, every fault has the phase of the round that ended the last one. */
const PHASE_MS = 2_000;

test.for(["push", "scrape"] as const)(
  "from fault to tainted node by %s: p95 within ten seconds",
  { timeout: 900_000 },
  async (delivery, context) => {
    toolOrSkip(context, "gcc");
    await ensureBuild();
    const lab = await orSkip(context, openTaintLab("on", delivery));
    onTestFinished(() => lab.close());
    const durationsMs: number[] = [];
    for (let fault = 0; fault < FAULTS; fault++) {
      await sleep(Math.random() * PHASE_MS);
      durationsMs.push(await lab.fault());
      await lab.recover();
    }
    durationsMs.sort((one, other) => one - other);
    const p95Ms = durationsMs[Math.ceil(FAULTS * 0.95) - 1] ?? Number.NaN;
    process.stdout.write(
      `fault to tainted node by ${delivery} over ${FAULTS} faults: median ${Math.round(durationsMs[FAULTS / 2] ?? Number.NaN)} ms, p95 ${Math.round(p95Ms)} ms\n`,
    );
    expect(p95Ms).toBeLessThanOrEqual(P95_MS);
  },
);
