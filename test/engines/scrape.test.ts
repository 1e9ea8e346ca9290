// The real exporters of node, Redis, PostgreSQL and nginx, and our agent, scraped in the same minutes by a real
// Prometheus and by the built hub with the same prometheus.yml: the same targets, series and values, and the same
// staleness.

import { afterAll, beforeAll, expect, test } from "vitest";

import {
  type RunningExporter,
  startNginxExporter,
  startPostgresExporter,
  startRedisExporter,
} from "../../engines/exporters.ts";
import { startNodeExporter } from "../../engines/node-exporter.ts";
import { ensureBuild, startAgent } from "../../engines/program.ts";
import { findTool, type ToolName } from "../../engines/tools.ts";
import { waitUntil } from "../../engines/wait.ts";
import { differenceOf, type ScrapePair, startScrapePair, type TargetLists } from "./scrape-pair.ts";

const wanted: readonly ToolName[] = [
  "prometheus",
  "node-exporter",
  "redis-server",
  "redis-exporter",
  "postgresql",
  "postgres-exporter",
  "nginx",
  "nginx-exporter",
];
const found = new Map(wanted.map((name) => [name, findTool(name)]));
const missing = [...found.values()].flatMap((tool) => ("missing" in tool ? [tool.missing] : []));
const programOf = (name: ToolName): string => {
  const tool = found.get(name);
  return tool !== undefined && "path" in tool ? tool.path : "";
};
const stops: (() => Promise<void>)[] = [];
const JOBS = ["gpulse", "nginx", "node", "postgres", "redis"] as const;
let pair: ScrapePair;
let nginx: RunningExporter;

beforeAll(async () => {
  if (missing.length > 0) return;
  await ensureBuild();
  const programs = (server: ToolName, exporter: ToolName) => ({
    server: programOf(server),
    exporter: programOf(exporter),
  });
  const [agent, node, redis, postgres, web] = await Promise.all([
    startAgent(["--source", "sim:2", "--interval", "1s"]),
    startNodeExporter(programOf("node-exporter")),
    startRedisExporter(programs("redis-server", "redis-exporter")),
    startPostgresExporter(programs("postgresql", "postgres-exporter")),
    startNginxExporter(programs("nginx", "nginx-exporter")),
  ]);
  for (const one of [agent, node, redis, postgres, web]) stops.push(() => one.stop());
  nginx = web;
  const addresses: Record<(typeof JOBS)[number], string> = {
    gpulse: `127.0.0.1:${agent.port}`,
    node: node.url.replace("http://", ""),
    redis: redis.address,
    postgres: postgres.address,
    nginx: web.address,
  };
  pair = await startScrapePair(programOf("prometheus"), {
    global: { scrape_interval: "1s", scrape_timeout: "1s" },
    scrape_configs: JOBS.map((job) => ({
      job_name: job,
      static_configs: [{ targets: [addresses[job]], labels: { env: "test" } }],
    })),
  });
  stops.unshift(() => pair.stop());
  await pair.agree("count(count_over_time(up[1m]) >= 5)", ([line]) => line === "{} 5", 60_000);
});

afterAll(async () => {
  for (const stop of stops) await stop();
});

function needsAll(context: { skip(note: string): never }): void {
  if (missing.length > 0) context.skip(missing.join("; "));
}

test("every target is up in both, with the same labels and addresses", async (context) => {
  needsAll(context);
  await pair.agree(
    "up",
    (lines) => lines.length === 5 && lines.every((line) => line.endsWith(" 1")),
  );
  const shown = ({ activeTargets }: TargetLists): unknown =>
    activeTargets
      .map(({ discoveredLabels, labels, scrapePool, scrapeUrl, health, ...rest }) => ({
        discoveredLabels,
        labels,
        scrapePool,
        scrapeUrl,
        health,
        interval: rest.scrapeInterval,
        timeout: rest.scrapeTimeout,
        error: rest.lastError,
      }))
      .sort((left, right) => (left.scrapePool < right.scrapePool ? -1 : 1));
  const [theirs, ours] = await pair.ask<TargetLists>("/api/v1/targets");
  expect(shown(ours)).toEqual(shown(theirs));
});

test.for(JOBS)(
  "both have the same series of %s, name for name and label for label",
  async (job, context) => {
    needsAll(context);
    const lines = await pair.agree(
      `group by (__name__, ${await labelNames(job)}) ({job="${job}"})`,
      (found_) => found_.length > 10,
      60_000,
    );
    await context.annotate(`${lines.length} series`);
  },
);

/** Every label name of the job's series, so that a comparison by all of them is complete. */
async function labelNames(job: string): Promise<string> {
  const [theirs, ours] = await pair.ask<readonly string[]>(
    `/api/v1/labels?match[]=${encodeURIComponent(`{job="${job}"}`)}`,
  );
  return [...new Set([...theirs, ...ours])].filter((name) => name !== "__name__").join(", ");
}

/** Metrics that do not change while the tests run. */
const SLOW = [
  "node_boot_time_seconds",
  "node_memory_MemTotal_bytes",
  "node_uname_info",
  "node_exporter_build_info",
  "node_filesystem_size_bytes",
  "node_network_mtu_bytes",
  "redis_instance_info",
  "redis_config_maxclients",
  "redis_start_time_seconds",
  "redis_exporter_build_info",
  "pg_up",
  "pg_static",
  "pg_settings_max_connections",
  "pg_settings_shared_buffers_bytes",
  "postgres_exporter_build_info",
  "nginx_up",
  "nginxexporter_build_info",
  "gpulse_build_info",
  "gpu_info",
  "gpu_memory_total_bytes",
  "go_info",
  "process_start_time_seconds",
];

test("slow gauges have the same values in both", async (context) => {
  needsAll(context);
  const expression = `{__name__=~"${SLOW.join("|")}"}`;
  const lines = await pair.agree(expression, (found_) => found_.length > 0, 60_000);
  const names = new Set(lines.map((one) => /__name__="(\w+)"/.exec(one)?.[1]));
  expect(SLOW.filter((name) => !names.has(name))).toEqual([]);
});

test("both say the same about types, help and units of each target", async (context) => {
  needsAll(context);
  const [theirs, ours] = await pair.ask<readonly object[]>("/api/v1/targets/metadata");
  const lines = (reported: readonly object[]): readonly string[] =>
    reported
      .map((one) =>
        JSON.stringify(one, ["target", "job", "instance", "env", "metric", "type", "help", "unit"]),
      )
      .sort();
  expect(differenceOf(lines(theirs), lines(ours))).toBe("");
  expect(ours.length).toBeGreaterThan(300);
});

test("a target that is killed is down in both, and its series end", async (context) => {
  needsAll(context);
  await nginx.process.stop();
  await pair.agree('up{job="nginx"}', ([line]) => line?.endsWith(" 0") === true);
  // Series end with the failed scrape, not after the five-minute look-back.
  await waitUntil({ what: "nginx_up to end in both", timeoutMs: 15_000 }, async () => {
    const [theirs, ours] = await pair.query('{job="nginx",__name__!~"up|scrape_.*"}');
    return theirs.length === 0 && ours.length === 0 ? true : undefined;
  });
  const [theirs, ours] = await pair.query('{job="nginx",__name__!~"scrape_duration_seconds"}');
  expect(differenceOf(theirs, ours)).toBe("");
  expect(ours).toHaveLength(4);
});
