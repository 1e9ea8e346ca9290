// GPUs that other exporters report: scraped by a hub, and read from a real Prometheus that scrapes them.

import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type RunningHub, startHub } from "../../engines/hub.ts";
import { startPrometheus } from "../../engines/prometheus.ts";
import { toolOrSkip } from "../../engines/tools.ts";

const closes: (() => Promise<unknown>)[] = [];
let exporter: Server;
let target: string;

/** Two hosts' worth of dcgm-exporter: the host is a parameter of the target. */
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
      ];
    });
    response.setHeader("content-type", "text/plain; version=0.0.4");
    response.end(`${lines.join("\n")}\n`);
  }).listen(0, "127.0.0.1");
  await once(exporter, "listening");
  target = `127.0.0.1:${(exporter.address() as AddressInfo).port}`;
});

afterAll(async () => {
  for (const close of closes.reverse()) await close();
  exporter.close();
});

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

async function openHub(...args: string[]): Promise<RunningHub> {
  const dataDir = await mkdtemp(path.join(tmpdir(), "gpulse-exporters-"));
  closes.push(() => rm(dataDir, { recursive: true, force: true }));
  const hub = await startHub({ dataDir, args });
  closes.push(() => hub.stop());
  return hub;
}

async function vector(hub: RunningHub, query: string): Promise<Record<string, string>> {
  const response = await fetch(`${hub.url}/api/v1/query?query=${encodeURIComponent(query)}`);
  const { data } = (await response.json()) as {
    data: { result: { metric: Record<string, string>; value: [number, string] }[] };
  };
  return Object.fromEntries(
    data.result.map(({ metric, value }) => [metric["uuid"] ?? "", value[1]] as const),
  );
}

const power = { "GPU-a0": "100", "GPU-a1": "101", "GPU-b0": "100", "GPU-b1": "101" };

/** What every part of the hub sees of the four GPUs. */
async function expectFleet(hub: RunningHub): Promise<void> {
  await expect.poll(() => vector(hub, "gpu_power_watts")).toEqual(power);
  expect(await vector(hub, "gpu_memory_total_bytes")).toEqual(
    Object.fromEntries(Object.keys(power).map((uuid) => [uuid, String(4_000 * 2 ** 20)])),
  );
  expect(await vector(hub, 'gpu_temperature_celsius{sensor="memory"}')).toEqual({});
  expect(await vector(hub, 'gpu_owner_info{pod="train-b",host="node-b",job="dcgm"}')).toEqual({
    "GPU-b0": "1",
    "GPU-b1": "1",
  });
  const fleet: unknown = await (await fetch(`${hub.url}/api/fleet`)).json();
  for (const uuid of Object.keys(power)) expect(JSON.stringify(fleet)).toContain(uuid);
}

test("a hub that scrapes dcgm-exporter shows its GPUs under gpulse's names", async () => {
  const folder = await mkdtemp(path.join(tmpdir(), "gpulse-exporters-"));
  closes.push(() => rm(folder, { recursive: true, force: true }));
  const file = path.join(folder, "prometheus.yml");

  await writeFile(file, JSON.stringify(scrapeConfigs()));
  await expectFleet(await openHub(`--prometheus-config=${file}`));
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
  // Raw samples with the instants of their scrapes, not one for each poll.
  await expect
    .poll(
      async () => Number((await vector(hub, "count_over_time(gpu_power_watts[1m])"))["GPU-a0"]),
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

test("a Prometheus without GPU exporters is a problem that the hub reports", async (context) => {
  const program = toolOrSkip(context, "prometheus");
  const prometheus = await startPrometheus({ path: program, config: {}, receiver: false });
  closes.push(() => prometheus.stop());
  const hub = await openHub(`--prometheus=${prometheus.url}`);
  await expect
    .poll(async () => (await fetch(`${hub.url}/-/ready`)).text())
    .toContain("no series of a GPU exporter");
});
