// The default rules on the real programs: promtool accepts them and their tests, Alertmanager their routing, and a real
// Prometheus that scrapes an agent evaluates every one of them.

import { readdirSync } from "node:fs";
import path from "node:path";
import { afterEach, beforeAll, expect, test } from "vitest";

import { runProcess } from "../../engines/process.ts";
import { ensureBuild, repository, startAgent } from "../../engines/program.ts";
import { startPrometheus } from "../../engines/prometheus.ts";
import { toolOrSkip } from "../../engines/tools.ts";
import { waitUntil } from "../../engines/wait.ts";

const rules = path.join(repository, "deploy/prometheus/rules");
const files = (dir: string): string[] =>
  readdirSync(dir)
    .filter((name) => name.endsWith(".yml"))
    .map((name) => path.join(dir, name));

const ends: (() => Promise<unknown>)[] = [];
beforeAll(ensureBuild, 300_000);
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

test("promtool takes the default rules, and their tests pass", async (context) => {
  const promtool = toolOrSkip(context, "promtool");
  const check = await runProcess(promtool, ["check", "rules", ...files(rules)]);
  expect([check.code, check.stderr]).toEqual([0, expect.not.stringContaining("FAILED")]);
  const tests = await runProcess(promtool, ["test", "rules", ...files(path.join(rules, "tests"))], {
    timeoutMs: 120_000,
  });
  expect([tests.code, tests.stdout + tests.stderr]).toEqual([
    0,
    expect.not.stringContaining("FAILED"),
  ]);
});

test("amtool takes the alertmanager.yml that ships", async (context) => {
  const amtool = toolOrSkip(context, "amtool");
  const file = path.join(repository, "deploy/alertmanager/alertmanager.yml");
  expect((await runProcess(amtool, ["check-config", file])).code).toBe(0);
});

test("a real Prometheus that scrapes an agent evaluates every default rule without an error", async (context) => {
  const program = toolOrSkip(context, "prometheus");
  const agent = await startAgent(["--source=sim:?scenario=idle"]);
  ends.push(() => agent.stop());
  const prometheus = await startPrometheus({
    path: program,
    config: {
      global: { scrape_interval: "1s" },
      rule_files: [`${rules}/*.yml`],
      scrape_configs: [
        { job_name: "gpulse", static_configs: [{ targets: [`127.0.0.1:${agent.port}`] }] },
      ],
    },
  });
  ends.push(() => prometheus.stop());
  interface Rule {
    readonly name: string;
    readonly health: string;
    readonly lastError?: string;
    readonly alerts?: readonly { readonly annotations: { readonly summary: string } }[];
  }
  interface Rules {
    readonly data: { readonly groups: readonly { interval: number; rules: readonly Rule[] }[] };
  }
  const evaluated = await waitUntil({ what: "the rules", timeoutMs: 100_000 }, async () => {
    const answer = await fetch(`${prometheus.url}/api/v1/rules`);
    const { data } = (await answer.json()) as Rules;
    const all = data.groups
      .filter(({ interval }) => interval <= 60)
      .flatMap((group) => group.rules);
    return all.length > 30 && all.every(({ health }) => health !== "unknown") ? all : undefined;
  });
  expect(evaluated.filter(({ health }) => health !== "ok")).toEqual([]);
  const idle = evaluated.find(({ name }) => name === "GpuIdle")?.alerts ?? [];
  expect(idle.map(({ annotations }) => annotations.summary)).toContainEqual(
    expect.stringMatching(
      /^NVIDIA H200 GPU 0 on \S+ \(SIM-\w{8}\) is idle and available for work$/,
    ),
  );
});
