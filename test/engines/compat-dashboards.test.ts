// A real Prometheus scrapes the agent with other exporters' names enabled, and answers the queries of their dashboards.

import { afterAll, beforeAll, expect, test } from "vitest";

import { startAgent } from "../../engines/program.ts";
import { type RunningPrometheus, startPrometheus } from "../../engines/prometheus.ts";
import { findTool, toolOrSkip } from "../../engines/tools.ts";
import { waitUntil } from "../../engines/wait.ts";
import { queries } from "../compat/dashboards.ts";

const found = findTool("prometheus");
const stops: (() => Promise<void>)[] = [];
let prometheus: RunningPrometheus;

beforeAll(async () => {
  if (!("path" in found)) return;
  const first = ["--source", "sim:?scenario=mixed"];
  const second = ["--source", "sim:8?scenario=faults&speed=64&seed=2"];
  const names = ["--compat", "dcgm,amd", "--compat", "nvidia-smi"];
  const agent = await startAgent([...first, ...second, ...names]);
  stops.push(() => agent.stop());
  prometheus = await startPrometheus({
    path: found.path,
    config: {
      global: { scrape_interval: "1s", scrape_timeout: "1s" },
      scrape_configs: [
        { job_name: "gpulse", static_configs: [{ targets: [`127.0.0.1:${agent.port}`] }] },
      ],
    },
  });
  stops.unshift(() => prometheus.stop());
  // The first XID error occurs after ten virtual minutes and is among the slow readings.
  await waitUntil({ what: "an XID in Prometheus", timeoutMs: 60_000 }, async () =>
    (await prometheus.query("nvidia_smi_xid_errors_total")).length > 0 ? true : undefined,
  );
});

afterAll(async () => {
  for (const stop of stops) await stop();
});

test.for(queries.filter(({ simulated }) => simulated))(
  "Prometheus has an answer to: $asks",
  async ({ expression }, context) => {
    toolOrSkip(context, "prometheus");
    expect((await prometheus.query(expression)).length).toBeGreaterThan(0);
  },
);

test("the scrape is whole and nothing was dropped", async (context) => {
  toolOrSkip(context, "prometheus");
  expect(await prometheus.targets()).toMatchObject([{ health: "up", lastError: "" }]);
  const [scraped] = await prometheus.query("scrape_samples_scraped");
  const [kept] = await prometheus.query("scrape_samples_post_metric_relabeling");
  expect(kept?.value[1]).toBe(scraped?.value[1]);
});
