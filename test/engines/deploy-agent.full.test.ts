// Ten minutes within the chart's resource limits.

import { beforeAll, expect, test } from "vitest";

import { kubeTools } from "../../engines/helm.ts";
import { orSkip } from "../../engines/cache.ts";
import { ensureBuild } from "../../engines/program.ts";
import { budgetLine, startChartAgent, watchAgent, whyNot } from "./deploy-agent-lab.ts";

const TEN_MINUTES_S = 600;

beforeAll(ensureBuild);

test(
  "the chart's agent stays under 200m and 256 Mi for ten minutes",
  async (context) => {
    await orSkip(context, kubeTools());
    const reason = await whyNot();
    if (reason !== undefined) context.skip(reason);
    const agent = await startChartAgent();
    await agent.process.waitForUrl(`${agent.url}/readyz`, 60_000);
    const budget = await watchAgent(agent, TEN_MINUTES_S);
    process.stderr.write(budgetLine(budget));
    expect(budget.cores).toBeLessThan(0.2);
    expect(budget.peakBytes).toBeLessThan(256 * 1_048_576);
    const exit = await agent.process.stop(agent.pod.terminationGracePeriodSeconds * 1000);
    expect(exit, agent.process.output()).toEqual({ code: 0, signal: null });
  },
  (TEN_MINUTES_S + 180) * 1000,
);
