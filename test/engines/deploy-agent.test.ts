// The agent as the chart starts it, on this machine: it needs no more privileges than it has, and exits on request.

import { beforeAll, expect, test } from "vitest";

import { kubeTools } from "../../engines/helm.ts";
import { orSkip } from "../../engines/cache.ts";
import { ensureBuild } from "../../engines/program.ts";
import {
  answerOf,
  budgetLine,
  confinementOf,
  startChartAgent,
  watchAgent,
  whyNot,
} from "./deploy-agent-lab.ts";

beforeAll(ensureBuild);

test("the agent, started exactly as the chart starts it, answers its probes, stays within its limits and ends in time", async (context) => {
  await orSkip(context, kubeTools());
  const reason = await whyNot();
  if (reason !== undefined) context.skip(reason);
  const agent = await startChartAgent();
  const { container, pod } = agent;
  const probes = [container.livenessProbe, container.readinessProbe];
  for (const probe of probes)
    await agent.process.waitForUrl(`${agent.url}${probe?.httpGet.path}`, 60_000);
  expect(confinementOf(agent.process.pid)).toEqual({
    user: String(pod.securityContext.runAsUser),
    capabilities: "0000000000000000",
    noNewPrivileges: true,
    readOnlyRoot: true,
  });
  const power = (await answerOf(agent, "/metrics")).match(/^gpu_power_watts\{.*\} /gm) ?? [];
  expect(power).toHaveLength(8);
  for (const line of power) expect(line).toContain('host="gpu-node-1"');

  const budget = await watchAgent(agent, 20);
  process.stderr.write(budgetLine(budget));
  expect(budget.cores).toBeLessThan(0.2);
  expect(budget.peakBytes).toBeLessThan(256 * 1_048_576);

  const exit = await agent.process.stop(pod.terminationGracePeriodSeconds * 1000);
  expect(exit, agent.process.output()).toEqual({ code: 0, signal: null });
});
