// Hostile exporters: each is bounded and reported, and the GPUs of other exporters stay unaffected.

import { expect, test } from "vitest";
import { scrapeConfig } from "../fixtures/sources/scrape.ts";
import { silentLog } from "../../src/base/log.ts";
import { BatchBuilder } from "../../src/formats/samples/builder.ts";
import type { SampleBatch } from "../../src/formats/samples/batch.ts";
import { UuidConflicts } from "../../src/hub/agents/uuid-conflicts.ts";
import { ExporterGpus } from "../../src/hub/exporters/exporters.ts";
import { PushedGpus } from "../../src/hub/exporters/pushed.ts";
import { gpu, type MetricEntry, self } from "../../src/model/catalogue/index.ts";
import { labelSet, labelValue } from "../../src/model/labels.ts";
import { presence, presenceNames } from "../../src/model/presence.ts";
import type { Delivery } from "../../src/pipeline/sink.ts";
import { ScrapeCache } from "../../src/sources/scrape/loop/scrape-cache.ts";

const startMs = 1_700_000_000_000;
const stored = {
  stored: 1,
  late: 0,
  duplicates: 0,
  refusedConflicts: 0,
  refusedTooOld: 0,
  refusedByLimit: 0,
  refusals: [],
};

function openLab() {
  const latest = new Map<string, Delivery>();
  const written: Delivery[] = [];
  let nowMs = startMs;
  const gpus = new ExporterGpus({
    writer: {
      write: async () => stored,
      writeFrame: async (origin) => {
        written.push(origin as Delivery);
        return stored;
      },
      endSource: async () => {},
    },
    show: (delivery) => latest.set(delivery.source, delivery),
    nowMs: () => nowMs,
  });
  const caches = new Map<string, ScrapeCache>();
  const scrape = async (instance: string, page: string): Promise<void> => {
    const cache = caches.get(instance) ?? new ScrapeCache(labelSet({ job: "gpu", instance }));
    caches.set(instance, cache);
    const { error } = cache.takePage(Buffer.from(page), "text/plain", nowMs, nowMs, scrapeConfig());
    expect(error).toBeUndefined();
    await gpus.observe(cache.finish());
  };
  const selfMetric = (metric: MetricEntry, labels: Readonly<Record<string, string>>): number => {
    let found = NaN;
    gpus.selfMetrics((one, value, given = {}) => {
      if (one === metric && Object.entries(labels).every(([name, text]) => given[name] === text))
        found = value ?? NaN;
    });
    return found;
  };
  return { gpus, latest, written, scrape, selfMetric, advance: (ms: number) => (nowMs += ms) };
}

const dcgmLine = (name: string, value: number, uuid: string, host = "n1"): string =>
  `${name}{gpu="0",UUID="${uuid}",modelName="NVIDIA L4",Hostname="${host}"} ${value}\n`;

function reading(delivery: Delivery | undefined, metric: MetricEntry, uuid: string) {
  const {
    layout,
    values,
    presence: states,
  } = delivery?.frame ?? {
    layout: { series: [] },
    values: new Float64Array(),
    presence: new Uint8Array(),
  };
  const slot = layout.series.findIndex(
    (series) => series.metric === metric && labelValue(series.labels, "uuid") === uuid,
  );
  const state = states[slot] ?? presence.failed;
  return state === presence.present ? values[slot] : presenceNames[state];
}

test("a target that changes its exporter goes on under the new names, and ends what only the old one had", async () => {
  const { scrape, latest, written, advance, selfMetric } = openLab();
  await scrape(
    "n1:9400",
    dcgmLine("DCGM_FI_DEV_POWER_USAGE", 100, "GPU-a") +
      dcgmLine("DCGM_FI_DEV_FAN_SPEED", 40, "GPU-a"),
  );
  advance(15_000);
  await scrape(
    "n1:9400",
    'gpu_power_usage_W{hostname="n1",index="0",devicename="NVIDIA L4",uuid="GPU-a"} 222\n',
  );
  const [old, next] = ["dcgm", "nvitop"].map((name) =>
    latest.get(`exporter:${name}/gpu/n1:9400/n1`),
  );
  expect(reading(next, gpu.power, "GPU-a")).toBe(222);
  // The old exporter's staleness marker for the same series would end the new one's reading.
  expect(reading(old, gpu.power, "GPU-a")).toBe("failed");
  expect(old).toMatchObject({ tier: "fast", freshForMs: -1 });
  const metricsOf = (delivery: Delivery | undefined) =>
    delivery?.frame.layout.series.map(({ metric }) => metric) ?? [];
  const lastPower = written.findLast((delivery) => metricsOf(delivery).includes(gpu.power));
  expect(lastPower).toMatchObject({ source: "exporter:nvitop/gpu/n1:9400/n1", tier: "fast" });
  expect(metricsOf(written.findLast(({ tier }) => tier === "stream"))).toEqual([gpu.fanSpeed]);
  advance(60_000);
  await scrape(
    "n1:9400",
    'gpu_power_usage_W{hostname="n1",index="0",devicename="NVIDIA L4",uuid="GPU-a"} 230\n',
  );
  expect(selfMetric(self.exporterGpus, { exporter: "nvitop" })).toBe(1);
  expect(selfMetric(self.exporterGpus, { exporter: "dcgm" })).toBeNaN();
});

test("a UUID on two hosts is two GPUs, and a reported conflict", async () => {
  const { scrape, latest } = openLab();
  for (const host of ["n1", "n2"])
    await scrape(`${host}:9400`, dcgmLine("DCGM_FI_DEV_POWER_USAGE", 100, "GPU-a", host));
  const events: string[] = [];
  const conflicts = new UuidConflicts({
    latest: { at: () => [...latest.values()] },
    hostName: "hub",
    events: { add: ({ title }) => void events.push(title) },
    log: silentLog,
    nowMs: () => startMs,
    manual: true,
  });
  conflicts.check();
  expect(conflicts.current).toEqual([{ uuid: "GPU-a", hosts: ["n1", "n2"] }]);
  expect(events).toHaveLength(1);
  expect(conflicts.problems()[0]).toContain("n1, n2");
  expect([...latest.values()].map(({ host }) => host)).toEqual(["n1", "n2"]);
});

test("two exporters of one host that both report a GPU are a reported conflict", async () => {
  const { scrape, latest } = openLab();
  await scrape("n1:9400", dcgmLine("DCGM_FI_DEV_POWER_USAGE", 100, "GPU-a"));
  await scrape(
    "n1:8000",
    'gpu_power_usage_W{hostname="n1",index="0",devicename="NVIDIA L4",uuid="GPU-a"} 99\n',
  );
  const conflicts = new UuidConflicts({
    latest: { at: () => [...latest.values()] },
    hostName: "hub",
    events: { add: () => undefined },
    log: silentLog,
    nowMs: () => startMs,
    manual: true,
  });
  conflicts.check();
  expect(conflicts.problems()[0]).toContain("n1");
});

test("a scraped target with 50,000 GPUs gets 1,024 of them, and the next target all of its own", async () => {
  const { scrape, latest, selfMetric } = openLab();
  const count = 50_000;
  const page = Array.from({ length: count }, (_, at) =>
    dcgmLine("DCGM_FI_DEV_POWER_USAGE", 100, `GPU-${at}`, "bad"),
  );
  await scrape("bad:9400", page.join(""));
  expect(latest.get("exporter:dcgm/gpu/bad:9400/bad")?.devices).toHaveLength(1_024);
  expect(selfMetric(self.exporterIgnored, { path: "scrape" })).toBe(count - 1_024);
  await scrape("n1:9400", dcgmLine("DCGM_FI_DEV_POWER_USAGE", 100, "GPU-a"));
  expect(latest.get("exporter:dcgm/gpu/n1:9400/n1")?.devices).toHaveLength(1);
  expect(selfMetric(self.exporterGpus, { exporter: "dcgm" })).toBe(1_025);
});

/** A request of GPUs, each on its own host, so that no per-target limit applies. */
function inventedGpus(from: number, count: number): SampleBatch {
  const builder = new BatchBuilder();
  for (let at = from; at < from + count; at++) {
    const labels = labelSet({
      __name__: "DCGM_FI_DEV_POWER_USAGE",
      UUID: `GPU-${at}`,
      Hostname: `h${at}`,
      instance: `h${at}`,
    });
    builder.add(builder.series(labels), startMs, 100);
  }
  return builder.finish();
}

test("a million remote-written GPUs on as many hosts are held to the limit of all, and counted", async () => {
  const { gpus } = openLab();
  const limits = { gpus: 2_000, series: 50_000, waitingSamples: 10_000 };
  const pushed = new PushedGpus({ gpus, log: silentLog, nowMs: () => startMs, limits });
  const request = 200_000;
  let ignored = 0;
  for (let from = 0; from < 1_000_000; from += request) pushed.take(inventedGpus(from, request));
  pushed.selfMetrics((_, value = NaN) => (ignored = value));
  expect(ignored).toBeGreaterThan(900_000);
  await pushed.close();
});

test("a value in another unit than the name says is absent, and the others are read", async () => {
  const { scrape, latest } = openLab();
  await scrape(
    "n1:9400",
    // Milliwatts, kelvin times ten and bytes instead of watts, degrees and MiB.
    dcgmLine("DCGM_FI_DEV_POWER_USAGE", 412_000, "GPU-a") +
      dcgmLine("DCGM_FI_DEV_GPU_TEMP", 3_431, "GPU-a") +
      dcgmLine("DCGM_FI_DEV_FB_USED", 80e9, "GPU-a") +
      dcgmLine("DCGM_FI_DEV_GPU_UTIL", 97, "GPU-a"),
  );
  const found = latest.get("exporter:dcgm/gpu/n1:9400/n1");
  for (const metric of [gpu.power, gpu.temperature, gpu.memoryUsed])
    expect([metric.name, reading(found, metric, "GPU-a")]).toEqual([metric.name, "failed"]);
  expect(reading(found, gpu.utilization, "GPU-a")).toBe(0.97);
});
