// A real Prometheus scrapes the agent and forwards everything to the hub, which goes down once; the target goes down at
// the end. promtool must then get the same results from both.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";

import { type RunningHub, startHub } from "../../engines/hub.ts";
import { runProcess } from "../../engines/process.ts";
import { startAgent } from "../../engines/program.ts";
import { type RunningPrometheus, startPrometheus } from "../../engines/prometheus.ts";
import { findTool, toolOrSkip } from "../../engines/tools.ts";
import { waitUntil } from "../../engines/wait.ts";
import { freePort } from "../../engines/ports.ts";
import { labelSet } from "../../src/model/labels.ts";

const SCRAPES = 8;

type Metric = Readonly<Record<string, string>>;
interface Series {
  readonly metric: Metric;
  readonly values: readonly (readonly [number, string])[];
}

const found = findTool("prometheus");
const stops: (() => Promise<void>)[] = [];
let prometheus: RunningPrometheus;
let hub: RunningHub;
/** A time between two scrapes with data before it, and one after the target had gone down. */
let betweenS = 0;
let afterS = 0;

beforeAll(async () => {
  if (!("path" in found)) return;
  const folder = await mkdtemp(path.join(tmpdir(), "gpulse-hub-remote-write-"));
  stops.push(() => rm(folder, { recursive: true, force: true }));
  const agent = await startAgent(["--source", "sim:4", "--interval", "1s"]);
  stops.unshift(() => agent.stop());
  const kept = { dataDir: path.join(folder, "data"), port: await freePort() };
  hub = await startHub(kept);
  stops.unshift(() => hub.stop());
  prometheus = await startPrometheus({
    path: found.path,
    config: {
      global: { scrape_interval: "1s", scrape_timeout: "1s" },
      scrape_configs: [
        { job_name: "gpulse", static_configs: [{ targets: [`127.0.0.1:${agent.port}`] }] },
      ],
      remote_write: [
        {
          url: `${hub.url}/api/v1/write`,
          queue_config: { batch_send_deadline: "500ms", max_backoff: "500ms" },
        },
      ],
    },
  });
  stops.unshift(() => prometheus.stop());
  await scrapes(SCRAPES);
  await hub.kill();
  await scrapes(SCRAPES + 4);
  hub = await startHub(kept);
  const times = await scrapes(SCRAPES * 2);
  betweenS = (times.at(-1) ?? 0) - 0.5;
  await agent.stop();
  afterS = await waitUntil({ what: "the target to be down", timeoutMs: 30_000 }, async () => {
    const [up] = await prometheus.query("up");
    return up?.value[1] === "0" ? up.value[0] : undefined;
  });
  await waitUntil({ what: "the hub to have all of it", timeoutMs: 30_000 }, async () => {
    const newest = (await samples(hub.url, "up[10m]", afterS))[0]?.values.at(-1);
    return newest?.[1] === "0" ? true : undefined;
  });
});

afterAll(async () => {
  for (const stop of stops) await stop();
});

/** Waits for this many scrapes and returns their timestamps. */
async function scrapes(count: number): Promise<readonly number[]> {
  return waitUntil({ what: `${count} scrapes`, timeoutMs: 60_000 }, async () => {
    const [up] = await samples(prometheus.url, "up[10m]", Date.now() / 1000);
    const times = up?.values.filter(([, value]) => value === "1").map(([time]) => time) ?? [];
    return times.length >= count ? times : undefined;
  });
}

async function samples(url: string, query: string, timeS: number): Promise<readonly Series[]> {
  const route = `/api/v1/query?query=${encodeURIComponent(query)}&time=${timeS}`;
  const answer = (await (await fetch(url + route)).json()) as { data: { result: Series[] } };
  return answer.data.result;
}

const keyOf = (metric: Metric): string => JSON.stringify(labelSet(metric));

/** Sorts the series, because PromQL guarantees no order. */
const inOrder = (all: readonly { readonly metric: Metric }[]): unknown[] =>
  all
    .map(({ metric, ...rest }) => ({ metric: keyOf(metric), ...rest }))
    .sort((a, b) => (a.metric < b.metric ? -1 : 1));

/** Rounds every value to ten digits: Prometheus uses compensated summation since 2.53, and the one here may be older. */
const rounded = (said: unknown): unknown =>
  JSON.parse(JSON.stringify(said), (_key, value: unknown) =>
    typeof value === "string" && value !== "" && Number.isFinite(Number(value))
      ? Number(value).toPrecision(10)
      : value,
  );

async function promtool(program: string, args: readonly string[]): Promise<string> {
  const done = await runProcess(program, ["query", ...args]);
  if (done.code !== 0) throw new Error(`promtool ${args.join(" ")}: ${done.stderr}`);
  return done.stdout;
}

test("every sample Prometheus scraped is in the hub once, with its value and its instant", async (context) => {
  toolOrSkip(context, "prometheus");
  // Both have the staleness markers, and no range includes them.
  const theirs = await samples(prometheus.url, '{job="gpulse"}[10m]', afterS);
  const ours = await samples(hub.url, '{job="gpulse"}[10m]', afterS);
  expect(theirs.length).toBeGreaterThan(300);
  expect(theirs[0]?.values.length).toBeGreaterThanOrEqual(SCRAPES);
  expect(inOrder(ours)).toEqual(inOrder(theirs));
});

const INSTANT = [
  "gpu_power_watts",
  '{__name__=~"gpu_(clock|memory).*", gpu=~"0|1"}',
  "sum by (__name__) ({job='gpulse'})",
  "count without (gpu, uuid) (gpu_temperature_celsius)",
  "quantile(0.9, gpu_power_watts)",
  "topk(2, gpu_power_watts)",
  "stddev by (job) (gpu_power_watts)",
  "gpu_power_watts / gpu_power_limit_watts > 0.01",
  "gpu_power_watts * on (uuid) group_left (model) gpu_info",
  "gpu_memory_used_bytes + ignoring (job) gpu_memory_free_bytes",
  "rate(gpu_energy_joules_total[6s])",
  "increase(ml_request_duration_seconds_count[8s])",
  "histogram_quantile(0.9, sum by (le) (rate(ml_request_duration_seconds_bucket[8s])))",
  "max_over_time(gpu_power_watts[5s])",
  "quantile_over_time(0.5, gpu_power_watts[7s])",
  "avg_over_time((sum(gpu_power_watts))[6s:1s])",
  "deriv(gpu_temperature_celsius[6s])",
  "delta(gpu_power_watts[6s])",
  "label_replace(gpu_up, 'slot', 'gpu-$1', 'gpu', '(.*)')",
  "absent(gpu_no_such_metric{gpu='0'})",
  "clamp_max(floor(gpu_power_watts), 100)",
  "timestamp(gpu_up)",
  "gpu_power_watts offset 3s",
  "time() - timestamp(up)",
  "scalar(sum(gpu_up)) * 2",
];

test.for(INSTANT)("promtool query instant is told the same: %s", async (query, context) => {
  const program = toolOrSkip(context, "promtool");
  const ask = async (url: string): Promise<unknown> => {
    const said: unknown = JSON.parse(
      await promtool(program, ["-o", "json", "instant", `--time=${betweenS}`, url, query]),
    );
    return rounded(isSeries(said) ? inOrder(said) : said);
  };
  const theirs = await ask(prometheus.url);
  expect(theirs).not.toEqual([]);
  expect(await ask(hub.url)).toEqual(theirs);
});

test("series whose target has gone are stale in both", async (context) => {
  toolOrSkip(context, "prometheus");
  for (const url of [prometheus.url, hub.url]) {
    expect(await samples(url, "gpu_power_watts", betweenS)).not.toEqual([]);
    expect(await samples(url, "gpu_power_watts", afterS)).toEqual([]);
  }
});

const RANGE = [
  "gpu_power_watts",
  "sum by (job) (gpu_power_watts)",
  "rate(gpu_energy_joules_total[4s])",
  "max(gpu_temperature_celsius) - min(gpu_temperature_celsius)",
  "gpu_power_watts and on (uuid) topk(1, gpu_power_watts)",
  "min_over_time(gpu_power_watts[3s])",
  "up",
];

test.for(RANGE)("promtool query range is told the same: %s", async (query, context) => {
  const program = toolOrSkip(context, "promtool");
  // From here on every window is full: newer versions extrapolate differently before a series' first sample.
  const bounds = [`--start=${betweenS - 9}`, `--end=${afterS}`, "--step=1s"];
  const ask = async (url: string): Promise<unknown> => {
    const said: unknown = JSON.parse(
      await promtool(program, ["-o", "json", "range", ...bounds, url, query]),
    );
    return rounded(isSeries(said) ? inOrder(said) : said);
  };
  const theirs = await ask(prometheus.url);
  expect(theirs).not.toEqual([]);
  expect(await ask(hub.url)).toEqual(theirs);
});

test.for([
  ["series", "--match=gpu_power_watts"],
  ["series", '--match={__name__=~"gpu_.*_total"}', "--match=up"],
])("promtool query is told the same: %j", async ([what = "", ...matches], context) => {
  const program = toolOrSkip(context, "promtool");
  const bounds = [`--start=${betweenS - 10}`, `--end=${betweenS}`];
  const ask = async (url: string): Promise<string[]> =>
    (await promtool(program, [what, ...matches, ...bounds, url])).split("\n").sort();
  const theirs = await ask(prometheus.url);
  expect(theirs.length).toBeGreaterThan(1);
  expect(await ask(hub.url)).toEqual(theirs);
});

test.for(["__name__", "uuid", "job", "le", "no_such_label"])(
  "promtool query labels is told the same: %s",
  async (name, context) => {
    const program = toolOrSkip(context, "promtool");
    expect(await promtool(program, ["labels", hub.url, name])).toBe(
      await promtool(program, ["labels", prometheus.url, name]),
    );
  },
);

function isSeries(said: unknown): said is { metric: Metric }[] {
  return Array.isArray(said) && said.every((one) => typeof one === "object" && "metric" in one);
}
