// Unmodified client libraries against the built hub: OpenTelemetry's SDK, Influx's own library, and lines that a real
// VictoriaMetrics receives too.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { InfluxDB, Point } from "@influxdata/influxdb-client";
import {
  AggregationTemporalityPreference,
  OTLPMetricExporter as JsonExporter,
} from "@opentelemetry/exporter-metrics-otlp-http";
import { OTLPMetricExporter as ProtobufExporter } from "@opentelemetry/exporter-metrics-otlp-proto";
import {
  MeterProvider,
  PeriodicExportingMetricReader,
  type PushMetricExporter,
} from "@opentelemetry/sdk-metrics";
import { afterAll, beforeAll, expect, test } from "vitest";

import { type RunningHub, startHub } from "../../engines/hub.ts";
import { findTool, toolOrSkip } from "../../engines/tools.ts";
import {
  type RunningVictoriaMetrics,
  startVictoriaMetrics,
} from "../../engines/victoria-metrics.ts";
import { waitUntil } from "../../engines/wait.ts";

const stops: (() => Promise<void>)[] = [];
let hub: RunningHub;
let peer: RunningVictoriaMetrics;

beforeAll(async () => {
  const folder = await mkdtemp(path.join(tmpdir(), "gpulse-receivers-"));
  stops.push(() => rm(folder, { recursive: true, force: true }));
  hub = await startHub({ dataDir: path.join(folder, "data") });
  stops.unshift(() => hub.stop());
  const found = findTool("victoria-metrics");
  if (!("path" in found)) return;
  peer = await startVictoriaMetrics(found.path);
  stops.unshift(() => peer.stop());
});

afterAll(async () => {
  for (const stop of stops) await stop();
});

type Labels = Readonly<Record<string, string>>;

async function query(
  url: string,
  expression: string,
): Promise<{ metric: Labels; value: string }[]> {
  const route = `/api/v1/query?query=${encodeURIComponent(expression)}`;
  const said = (await (await fetch(url + route)).json()) as {
    data: { result: { metric: Labels; value: [number, string] }[] };
  };
  return said.data.result
    .map(({ metric, value }) => ({ metric, value: value[1] }))
    .sort((a, b) => (JSON.stringify(a.metric) < JSON.stringify(b.metric) ? -1 : 1));
}

/** The hub's own count on its metrics page. */
async function counted(way: string, outcome: string): Promise<number> {
  const page = await (await fetch(`${hub.url}/metrics`)).text();
  const name = "gpulse_received_samples_total";
  const line = page
    .split("\n")
    .find((each) => each.startsWith(`${name}{outcome="${outcome}",way="${way}"}`));
  return Number(line?.split(" ")[1]);
}

async function exportOnce(exporter: PushMetricExporter, prefix: string): Promise<void> {
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 });
  const meter = new MeterProvider({ readers: [reader] }).getMeter("bench");
  meter.createCounter(`${prefix}.tokens`, { unit: "{token}" }).add(42, { model: "llm" });
  meter.createUpDownCounter(`${prefix}.queue`).add(-3);
  const latency = meter.createHistogram(`${prefix}.latency`, {
    unit: "s",
    description: "How long.",
    advice: { explicitBucketBoundaries: [0.5, 1] },
  });
  for (const seconds of [0.25, 0.75, 4]) latency.record(seconds);
  meter
    .createObservableGauge(`${prefix}.load`, { unit: "1" })
    .addCallback((result) => result.observe(0.5, { "gpu.index": 0 }));
  await reader.forceFlush();
  await reader.shutdown();
}

const url = (route: string): string => `${hub.url}${route}`;
const exporters: [string, string, () => PushMetricExporter][] = [
  ["protobuf", "proto", () => new ProtobufExporter({ url: url("/v1/metrics") })],
  ["JSON", "json", () => new JsonExporter({ url: url("/api/v1/otlp/v1/metrics") })],
];

test.each(exporters)(
  "OpenTelemetry's SDK exports in %s, with gzip and without",
  async (_name, prefix, make) => {
    for (const compression of ["none", "gzip"]) {
      process.env["OTEL_EXPORTER_OTLP_COMPRESSION"] = compression;
      const name = `${prefix}.${compression}`;
      await exportOnce(make(), name);
      const under = name.replace(".", "_");
      const found = await query(hub.url, `{__name__=~"${under}_.+"}`);
      const job = found[0]?.metric["job"] ?? "";
      expect(job).toMatch(/^unknown_service/);
      expect(
        found.map(({ metric: { __name__, job: _job, ...rest }, value }) => [__name__, rest, value]),
      ).toEqual([
        [`${under}_latency_seconds_bucket`, { le: "+Inf" }, "3"],
        [`${under}_latency_seconds_bucket`, { le: "0.5" }, "1"],
        [`${under}_latency_seconds_bucket`, { le: "1" }, "2"],
        [`${under}_latency_seconds_count`, {}, "3"],
        [`${under}_latency_seconds_sum`, {}, "5"],
        [`${under}_load_ratio`, { gpu_index: "0" }, "0.5"],
        [`${under}_queue`, {}, "-3"],
        [`${under}_tokens_total`, { model: "llm" }, "42"],
      ]);
      const [info] = await query(hub.url, `target_info{job="${job}"}`);
      expect(info).toMatchObject({ metric: { telemetry_sdk_language: "nodejs" }, value: "1" });
      expect(
        await query(hub.url, `histogram_quantile(0.5, ${under}_latency_seconds_bucket)`),
      ).toHaveLength(1);
    }
    delete process.env["OTEL_EXPORTER_OTLP_COMPRESSION"];
  },
);

test("what OpenTelemetry's SDK counts from one export to the next is stored as totals", async () => {
  const exporter = new ProtobufExporter({
    url: url("/v1/metrics"),
    temporalityPreference: AggregationTemporalityPreference.DELTA,
  });
  for (const _export of [1, 2]) await exportOnce(exporter, "delta");
  const found = await query(hub.url, '{__name__=~"delta_(tokens_total|latency_seconds_.+)"}');
  expect(found.map(({ metric: { __name__, le }, value }) => [__name__, le, value])).toEqual([
    ["delta_latency_seconds_bucket", "+Inf", "6"],
    ["delta_latency_seconds_bucket", "0.5", "2"],
    ["delta_latency_seconds_bucket", "1", "4"],
    ["delta_latency_seconds_count", undefined, "6"],
    ["delta_latency_seconds_sum", undefined, "10"],
    ["delta_tokens_total", undefined, "84"],
  ]);
  for (const outcome of ["temporality", "delta_out_of_order", "delta_limit"])
    expect(await counted("otlp", outcome)).toBe(0);
});

test("Influx's own library writes, packed and not", async () => {
  const client = new InfluxDB({ url: hub.url, token: "any" });
  const writer = client.getWriteApi("org", "gpus", "ms", {
    gzipThreshold: 300,
    maxRetries: 0,
    flushInterval: 0,
  });
  const at = Date.now();
  for (let gpu = 0; gpu < 20; gpu++) {
    writer.writePoint(
      new Point("card")
        .tag("gpu", String(gpu))
        .tag("site", "a b,c=d")
        .floatField("watts", 93.5 + gpu)
        .intField("fan", 40)
        .booleanField("hot", false)
        .stringField("state", 'P0 "quoted"')
        .timestamp(at),
    );
    if (gpu === 0) await writer.flush();
  }
  await writer.close();
  const found = await query(hub.url, 'card_watts{db="gpus",site="a b,c=d"}');
  expect(found.map(({ metric, value }) => `${metric["gpu"]} ${value}`).sort()).toEqual(
    Array.from({ length: 20 }, (_, gpu) => `${gpu} ${93.5 + gpu}`).sort(),
  );
  expect(await query(hub.url, "sum(card_fan) + sum(card_hot)")).toEqual([
    { metric: {}, value: "800" },
  ]);
});

test("Influx's library gets the line that was refused", async () => {
  const client = new InfluxDB({ url: hub.url, token: "any" });
  const writer = client.getWriteApi("org", "gpus", "ms", { maxRetries: 0 });
  writer.writeRecord("good f=1");
  writer.writeRecord("bad");
  await expect(writer.close()).rejects.toThrow(
    "partial write: unable to parse line 2: it has no fields",
  );
  expect(await query(hub.url, "good_f")).toHaveLength(1);
});

test("the same lines are the same series as in VictoriaMetrics", async (context) => {
  toolOrSkip(context, "victoria-metrics");
  const seconds = Math.floor(Date.now() / 1_000) - 5;
  const lines = [
    `vm_cpu,host=a,Region=eu load1=0.5,load5=1i,up=t,down=false,note="text, here=not" ${seconds}`,
    `vm_cpu,host=b,Region=eu load1=1.5e-3,load5=-7i ${seconds}`,
    String.raw`vm_disk,path=/a\ b\,c\=d used=1844674407370u ${seconds}`,
    `vm_none v=1`,
    "# a remark",
    "",
    `vm_utf,tag=grün f=-0.25 ${seconds}`,
  ].join("\n");
  for (const target of [hub.url, peer.url]) {
    const answer = await fetch(`${target}/write?db=both&precision=s`, {
      method: "POST",
      body: lines,
    });
    expect(answer.status).toBe(204);
  }
  await fetch(`${peer.url}/internal/force_flush`);
  const ask = (target: string) => query(target, '{db="both"}');
  const theirs = await waitUntil({ what: "their series", timeoutMs: 20_000 }, async () => {
    const found = await ask(peer.url);
    return found.length === 10 ? found : undefined;
  });
  // A string field is 0 in VictoriaMetrics, and skipped in gpulse.
  const numbers = (all: Awaited<ReturnType<typeof ask>>): unknown[] =>
    all
      .filter(({ metric }) => !metric["__name__"]?.endsWith("_note"))
      .map(({ metric, value }) => [metric, Number(value)]);
  expect(numbers(await ask(hub.url))).toEqual(numbers(theirs));
});

test("ten lines of a script are enough, and what comes in is counted by its way", async () => {
  const before = await counted("json", "stored");
  const answer = await fetch(`${hub.url}/push`, {
    method: "POST",
    body: JSON.stringify({ job: "bench", instance: "box1", metrics: { step: 7 } }),
  });
  expect(answer.status).toBe(204);
  expect(await query(hub.url, "step")).toEqual([
    { metric: { __name__: "step", job: "bench", instance: "box1" }, value: "7" },
  ]);
  await waitUntil({ what: "the count of it", timeoutMs: 20_000 }, async () =>
    (await counted("json", "stored")) === before + 1 ? true : undefined,
  );
});
