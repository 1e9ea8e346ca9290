// GPUs of third-party exporters: scraped by a hub, and read from a real Prometheus that scrapes them.

import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { hubProgram, type RunningHub } from "../../engines/hub.ts";
import { runProcess } from "../../engines/process.ts";
import { startPrometheus } from "../../engines/prometheus.ts";
import { toolOrSkip } from "../../engines/tools.ts";
import { startVictoriaMetrics } from "../../engines/victoria-metrics.ts";
import { fleetUuids, useExportersLab, valuesByUuid } from "./exporters-lab.ts";

const { closes, openHub, openScraper } = useExportersLab();
let exporter: Server;
let target: string;

/** Pages of two hosts with dcgm-exporter; a target parameter selects the host. */
beforeAll(async () => {
  exporter = createServer((request, response) => {
    const host = new URL(request.url ?? "/", "http://exporter").searchParams.get("h") ?? "a";
    const lines = [0, 1].flatMap((index) => {
      const labels = `gpu="${index}",UUID="GPU-${host}${index}",modelName="NVIDIA L40S",Hostname="node-${host}"`;
      return [
        `DCGM_FI_DEV_POWER_USAGE{${labels},pod="train-${host}",namespace="ml"} ${100 + index}`,
        `DCGM_FI_DEV_GPU_UTIL{${labels}} ${40 + index}`,
        `DCGM_FI_DEV_FB_USED{${labels}} 1000`,
        `DCGM_FI_DEV_FB_FREE{${labels}} 3000`,
        `DCGM_FI_DEV_MEMORY_TEMP{${labels}} 0`,
        `DCGM_FI_DEV_ENFORCED_POWER_LIMIT{${labels}} 0`,
      ];
    });
    response.setHeader("content-type", "text/plain; version=0.0.4");
    response.end(`${lines.join("\n")}\n`);
  }).listen(0, "127.0.0.1");
  await once(exporter, "listening");
  target = `127.0.0.1:${(exporter.address() as AddressInfo).port}`;
});

afterAll(() => exporter.close());

const scrapeConfigs = () => ({
  global: { scrape_interval: "1s" },
  scrape_configs: [
    {
      job_name: "dcgm",
      static_configs: ["a", "b"].map((host) => ({
        targets: [target],
        labels: { __param_h: host, node: `node-${host}:9400` },
      })),
      relabel_configs: [{ source_labels: ["node"], target_label: "instance" }],
    },
  ],
});

const power = { "GPU-a0": "100", "GPU-a1": "101", "GPU-b0": "100", "GPU-b1": "101" };

/** The four GPUs in every part of the hub. */
async function expectFleet(hub: RunningHub): Promise<void> {
  await expect.poll(() => valuesByUuid(hub, "gpu_power_watts")).toEqual(power);
  expect(await valuesByUuid(hub, "gpu_memory_total_bytes")).toEqual(
    Object.fromEntries(Object.keys(power).map((uuid) => [uuid, String(4_000 * 2 ** 20)])),
  );
  expect(await valuesByUuid(hub, 'gpu_temperature_celsius{sensor="memory"}')).toEqual({});
  expect(await valuesByUuid(hub, 'gpu_owner_info{pod="train-b",host="node-b",job="dcgm"}')).toEqual(
    {
      "GPU-b0": "1",
      "GPU-b1": "1",
    },
  );
  expect(await fleetUuids(hub)).toEqual(Object.keys(power));
}

test("a hub that scrapes dcgm-exporter shows its GPUs under gpulse's names", async () => {
  await expectFleet(await openScraper(scrapeConfigs()));
});

test("what the exporter writes as 0 for want of a reading has that reason in the API, stats and top", async () => {
  const hub = await openScraper(scrapeConfigs());
  await expect.poll(() => fleetUuids(hub), { timeout: 20_000 }).toHaveLength(4);
  const reason = "exporter reports 0";
  expect(await (await fetch(`${hub.url}/api/fleet`)).text()).toContain(`"${reason}"`);
  const run = async (...args: readonly string[]): Promise<string> =>
    (await runProcess(process.execPath, [hubProgram, ...args, "--url", hub.url])).stdout;
  const stats = JSON.parse(await run("stats", "--json")) as {
    gpus: readonly { power_limit: unknown; memory_used: unknown }[];
  };
  expect(stats.gpus).toHaveLength(4);
  expect(stats.gpus[0]?.power_limit).toMatchObject({ value: null, absent: reason });
  expect(stats.gpus[0]?.memory_used).toMatchObject({ value: 1_000 * 2 ** 20 });
  expect(await run("top", "--once", "--json")).toContain(reason);
});

test("GPUs of a real Prometheus are shown with history, and nothing is written to it", async (context) => {
  const program = toolOrSkip(context, "prometheus");
  const prometheus = await startPrometheus({
    path: program,
    config: scrapeConfigs(),
    receiver: false,
  });
  closes.push(() => prometheus.stop());
  await expect.poll(async () => (await prometheus.query("DCGM_FI_DEV_POWER_USAGE")).length).toBe(4);
  const before = await prometheus.query("count({__name__=~'.+'})");
  const hub = await openHub(`--prometheus=${prometheus.url}`);
  await expectFleet(hub);
  // Raw samples with the timestamps of their scrapes, instead of one per poll.
  await expect
    .poll(
      async () =>
        Number((await valuesByUuid(hub, "count_over_time(gpu_power_watts[1m])"))["GPU-a0"]),
      {
        timeout: 60_000,
      },
    )
    .toBeGreaterThan(10);
  const after = await prometheus.query("count({__name__=~'.+'})");
  expect(Number(after[0]?.value[1])).toBeLessThanOrEqual(Number(before[0]?.value[1]) + 20);
  const names = await prometheus.query("count({__name__=~'gpu_.+'})");
  expect(names).toEqual([]);
});

test("what a real Prometheus remote-writes in parts and over several shards is GPUs too", async (context) => {
  const program = toolOrSkip(context, "prometheus");
  const hub = await openHub();
  const queue = { max_samples_per_send: 3, min_shards: 4, max_shards: 4 };
  const prometheus = await startPrometheus({
    path: program,
    config: {
      ...scrapeConfigs(),
      remote_write: [{ url: `${hub.url}/api/v1/write`, queue_config: queue }],
    },
    receiver: false,
  });
  closes.push(() => prometheus.stop());
  await expectFleet(hub);
  // Each scrape is complete and stored once: as many readings under our names as under the exporter's.
  const count = (name: string) => valuesByUuid(hub, `sum by (uuid) (count_over_time(${name}[1m]))`);
  const theirs = async () => Number(Object.values(await count("DCGM_FI_DEV_GPU_UTIL"))[0]);
  await expect.poll(theirs, { timeout: 60_000 }).toBeGreaterThan(40);
  const [ours, own] = [await count('gpu_utilization_ratio{uuid="GPU-a0"}'), await theirs()];
  expect(Number(ours["GPU-a0"]) * 4).toBeGreaterThan(own - 4 * 8);
});

test("GPUs of a real VictoriaMetrics are shown with history", async (context) => {
  const program = toolOrSkip(context, "victoria-metrics");
  const victoria = await startVictoriaMetrics(program);
  closes.push(() => victoria.stop());
  await importHistory(victoria.url);
  const hub = await openHub(`--prometheus=${victoria.url}`);
  await expect.poll(() => valuesByUuid(hub, "gpu_power_watts")).toEqual({ "GPU-v": "142" });
  await expect
    .poll(async () => (await valuesByUuid(hub, "count_over_time(gpu_power_watts[1h])"))["GPU-v"], {
      timeout: 60_000,
    })
    .toMatch(/^[3-6]\d$/);
  // History is read in steps of a minute: the sample of half an hour ago, or the previous one.
  const before = await valuesByUuid(hub, "gpu_power_watts offset 30m");
  expect(["111", "112"]).toContain(before["GPU-v"]);
  expect(await fleetUuids(hub)).toEqual(["GPU-v"]);
});

/** Power increases by one watt per minute, to 142 W now. */
async function importHistory(url: string): Promise<void> {
  const nowMs = Math.floor(Date.now() / 1_000) * 1_000;
  const labels =
    'gpu="0",UUID="GPU-v",modelName="NVIDIA L4",Hostname="node-v",job="d",instance="v"';
  const lines = Array.from({ length: 60 }, (_, at) => {
    const ago = 59 - at;
    return `DCGM_FI_DEV_POWER_USAGE{${labels}} ${142 - ago} ${nowMs - ago * 60_000}\n`;
  });
  const path = "/api/v1/import/prometheus";
  const response = await fetch(`${url}${path}`, { method: "POST", body: lines.join("") });
  expect(response.status).toBe(204);
}

test("a Prometheus without GPU exporters is a problem that the hub reports", async (context) => {
  const program = toolOrSkip(context, "prometheus");
  const prometheus = await startPrometheus({ path: program, config: {}, receiver: false });
  closes.push(() => prometheus.stop());
  const hub = await openHub(`--prometheus=${prometheus.url}`);
  await expect
    .poll(async () => (await fetch(`${hub.url}/-/ready`)).text())
    .toContain("no series of a GPU exporter");
});
