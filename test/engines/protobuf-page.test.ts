// A real Prometheus 3 with native histograms enabled scrapes agent and hub in protobuf, in addition to their text pages.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, test } from "vitest";

import { orSkip } from "../../engines/cache.ts";
import { startHub } from "../../engines/hub.ts";
import { startAgent } from "../../engines/program.ts";
import { findPrometheus3 } from "../../engines/prometheus3.ts";
import { startPrometheus } from "../../engines/prometheus.ts";
import { startScrapeRelay } from "../../engines/scrape-relay.ts";
import { waitUntil } from "../../engines/wait.ts";

test("Prometheus 3 scrapes the pages of agent and hub in protobuf, with native histograms", async (context) => {
  const program = await orSkip(context, findPrometheus3());
  const folder = await mkdtemp(path.join(tmpdir(), "gpulse-protobuf-"));
  const agent = await startAgent(["--source", "sim:4", "--interval", "1s"]);
  const hub = await startHub({ dataDir: path.join(folder, "data") });
  const relay = await startScrapeRelay({ target: agent.url, accept: "text/plain;version=0.0.4" });
  const target = (job: string, address: string, isNative: boolean) => ({
    job_name: job,
    static_configs: [{ targets: [address] }],
    scrape_native_histograms: isNative,
    always_scrape_classic_histograms: true,
  });
  const prometheus = await startPrometheus({
    path: program,
    config: {
      global: { scrape_interval: "1s", scrape_timeout: "1s" },
      scrape_configs: [
        target("agent", new URL(agent.url).host, true),
        target("hub", new URL(hub.url).host, true),
        target("text", relay.address, false),
      ],
    },
    logLevel: "warn",
  });
  try {
    for (const job of ["agent", "hub", "text"])
      await waitUntil({ what: `scrapes of ${job}`, timeoutMs: 60_000 }, async () => {
        const [scrapes] = await prometheus.query(`sum_over_time(up{job="${job}"}[10m])`);
        return Number(scrapes?.value[1] ?? 0) >= 5 ? true : undefined;
      });
    const seriesOf = async (job: string): Promise<string[]> => {
      const found = await prometheus.query(
        `{job="${job}", __name__!~"nodejs_gc_.*|scrape_.*|up|gpulse_received.*"}`,
      );
      return found
        .map(({ metric: { job: _job, instance: _instance, ...rest } }) => JSON.stringify(rest))
        .sort();
    };
    expect(await seriesOf("agent")).toEqual(await seriesOf("text"));
    for (const job of ["agent", "hub"]) {
      await waitUntil({ what: `a collection in ${job}`, timeoutMs: 60_000 }, async () => {
        const [native] = await prometheus.query(
          `histogram_count(sum(nodejs_gc_duration_seconds{job="${job}"})) > 0`,
        );
        return native;
      });
      // Both forms come from one page, so their counts are equal.
      const different = await prometheus.query(
        `histogram_count(nodejs_gc_duration_seconds{job="${job}"}) != ignoring (le) nodejs_gc_duration_seconds_bucket{job="${job}",le="+Inf"}`,
      );
      expect(different).toEqual([]);
    }
    const metadata = (await (
      await fetch(`${prometheus.url}/api/v1/metadata?metric=gpu_energy_joules_total`)
    ).json()) as { data: Record<string, { type: string; unit: string; help: string }[]> };
    expect(metadata.data["gpu_energy_joules_total"]?.[0]).toMatchObject({ type: "counter" });
    expect(prometheus.log()).not.toMatch(/error|invalid|out.of.order/i);
  } finally {
    await prometheus.stop();
    await relay.stop();
    await hub.stop();
    await agent.stop();
    await rm(folder, { recursive: true, force: true });
  }
}, 180_000);
